//! Changes bytes at random, the same ones for the same seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Values that readers stumble over.
const AWKWARD: [&[u8]; 16] = [
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"0.1",
    b"null",
    b"true",
    b"\"\"",
    b"[]",
    b"{}",
    b"[[[[[[[[",
    b"\\ud800",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\0\0\0\0",
    b":tls",
    b"[::1]:",
    b",",
];

pub struct Mutator(ChaCha8Rng);

impl Mutator {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A few changes, now and then with a piece of something else.
    pub fn change(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        for _ in 0..=self.below(2) {
            self.change_once(&mut changed, other);
        }
        changed
    }

    fn change_once(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        match self.below(16) {
            8.. => self.replace_a_letter(bytes, at),
            0 => bytes.truncate(at),
            1 => bytes.insert(at, self.byte()),
            2 if at < bytes.len() => bytes[at] = self.byte(),
            3 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            4 => drop(bytes.drain(self.piece(bytes.len(), at))),
            5 => {
                let copy = bytes[self.piece(bytes.len(), at)].to_vec();
                bytes.splice(at..at, copy);
            }
            6 => {
                let from = self.below(other.len() + 1);
                let copy = other[self.piece(other.len(), from)].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => self.replace_a_value(bytes, at),
        }
    }

    /// A letter or digit by another, which most formats survive and most meanings do not.
    fn replace_a_letter(&mut self, bytes: &mut [u8], at: usize) {
        const OTHERS: &[u8] = b"0123456789abcxyzAZ-_.";
        if let Some(letter) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_alphanumeric()) {
            *letter = OTHERS[self.below(OTHERS.len())];
        }
    }

    /// In place of whatever stands between two separators.
    fn replace_a_value(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let ends = |byte: &u8| b":,@[]{}".contains(byte);
        let from = bytes[..at].iter().rposition(ends).map_or(0, |place| place + 1);
        let to = bytes[from..].iter().position(ends).map_or(bytes.len(), |place| from + place);
        let value = AWKWARD[self.below(AWKWARD.len())];
        bytes.splice(from..to, value.iter().copied());
    }

    /// A short piece from here on.
    fn piece(&mut self, length: usize, from: usize) -> std::ops::Range<usize> {
        from..(from + self.below(64)).min(length)
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap_or_default()
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.next_u64() % u64::try_from(limit.max(1)).unwrap_or(1)).unwrap_or_default()
    }
}
