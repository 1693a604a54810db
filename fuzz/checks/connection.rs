//! Connection strings, as cluster files and the database itself have them: what is read is written alike, and read again as the same.

use quorate_fdb_client::ConnectionString;

pub fn check(bytes: &[u8]) {
    if let Ok(parsed) = ConnectionString::from_bytes(bytes) {
        let written = parsed.to_string();
        assert_eq!(written.parse::<ConnectionString>().as_ref(), Ok(&parsed));
        assert!(parsed.same_coordinators(&parsed.coordinators));
    }
}
