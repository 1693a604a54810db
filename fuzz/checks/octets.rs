//! Keys and values as people write them: what is read is printed as something that is read as the same.

use quorate_fdb_client::Octets;

pub fn check(bytes: &[u8]) {
    let octets = Octets::from(bytes);
    assert_eq!(Octets::parse(&octets.to_string()), Ok(octets));
    if let Some(parsed) = std::str::from_utf8(bytes).ok().and_then(|text| Octets::parse(text).ok()) {
        assert!(parsed.0.len() <= bytes.len());
        assert_eq!(Octets::parse(&parsed.to_string()), Ok(parsed));
    }
}
