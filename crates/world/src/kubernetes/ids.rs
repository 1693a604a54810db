//! Identifiers that look random and are not: a run can be repeated.

/// Makes uids, name suffixes and addresses from a counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    count: u64,
    services: u16,
}

/// The letters of generated names: no vowels, so that no word comes out.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

impl Ids {
    fn next(&mut self) -> u64 {
        self.count += 1;
        scrambled(self.count)
    }

    pub(crate) fn uid(&mut self) -> String {
        let (high, low) = (self.next(), scrambled(self.count ^ u64::MAX));
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 50),
            low & 0xffff_ffff_ffff
        )
    }

    pub(crate) fn suffix(&mut self) -> String {
        let mut number = self.next();
        let mut letters = String::new();
        for _ in 0..5 {
            letters.push(char::from(LETTERS[usize::try_from(number % 27).unwrap_or_default()]));
            number /= 27;
        }
        letters
    }

    /// The next address of a service, in 10.96.0.0/16 or in fd00:10:96::/112; .1 is the API's own.
    pub(crate) fn service_address(&mut self, family: &str) -> String {
        self.services = self.services.wrapping_add(1);
        let number = self.services.max(1).saturating_add(9);
        if family == "IPv6" {
            return format!("fd00:10:96::{number:x}");
        }
        format!("10.96.{}.{}", number >> 8, number & 0xff)
    }
}

/// A one-to-one scramble of 64 bits (the finaliser of splitmix64).
fn scrambled(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_shaped_like_uids_and_differ() {
        let mut ids = Ids::default();
        let uids: std::collections::BTreeSet<_> = (0..1000).map(|_| ids.uid()).collect();
        assert_eq!(uids.len(), 1000);
        let shape =
            regex::Regex::new("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$").expect("a pattern");
        assert!(uids.iter().all(|uid| shape.is_match(uid)), "{uids:?}");
    }
}
