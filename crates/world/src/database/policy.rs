//! Replication policies: which processes together may hold all copies of something.

use std::collections::BTreeMap;

/// The localities of a process.
pub(super) type Localities = BTreeMap<String, String>;

/// What FoundationDB writes before a policy: its protocol version.
const PREFIX: [u8; 8] = [0x01, 0x00, 0x01, 0x62, 0xb0, 0x00, 0xdb, 0x0f];

/// A replication policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Anywhere, once.
    One,
    /// In so many different places of a kind, and in each of them as the inner policy says.
    Across {
        /// The locality that tells the places apart.
        attribute: String,
        /// How many.
        count: usize,
        /// What holds within one place.
        inner: Box<Self>,
    },
}

impl Policy {
    /// In so many places of a kind, once in each.
    pub fn across(attribute: &str, count: usize, inner: Self) -> Self {
        Self::Across { attribute: attribute.to_owned(), count, inner: Box::new(inner) }
    }

    /// As many zones as copies: what holds when no policy was written.
    pub(super) fn zones(count: usize) -> Self {
        if count <= 1 { Self::One } else { Self::across("zoneid", count, Self::One) }
    }

    /// Chooses, among candidates in order of preference, the best that satisfy the policy: their positions, sorted. A candidate without the
    /// locality that matters is of no use.
    pub(super) fn select(&self, candidates: &[&Localities]) -> Option<Vec<usize>> {
        let all: Vec<usize> = (0..candidates.len()).collect();
        let mut chosen = self.select_among(candidates, &all)?;
        chosen.sort_unstable();
        Some(chosen)
    }

    fn select_among(&self, candidates: &[&Localities], among: &[usize]) -> Option<Vec<usize>> {
        match self {
            Self::One => among.first().map(|first| vec![*first]),
            Self::Across { attribute, count, inner } => {
                let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
                for &position in among {
                    if let Some(place) = candidates[position].get(attribute) {
                        places.entry(place).or_default().push(position);
                    }
                }
                let mut fitting: Vec<Vec<usize>> =
                    places.values().filter_map(|place| inner.select_among(candidates, place)).collect();
                fitting.sort_by_key(|chosen| (chosen.iter().sum::<usize>(), chosen.clone()));
                (fitting.len() >= *count).then(|| fitting.into_iter().take(*count).flatten().collect())
            }
        }
    }

    /// Whether these together satisfy the policy.
    pub(super) fn holds(&self, members: &[&Localities]) -> bool {
        self.select(members).is_some()
    }

    /// The policy from the bytes FoundationDB keeps below `\xff/conf/`.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (policy, rest) = Self::decode_from(bytes.strip_prefix(&PREFIX)?)?;
        rest.is_empty().then_some(policy)
    }

    fn decode_from(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (name, rest) = text(bytes)?;
        match name {
            "One" => Some((Self::One, rest)),
            "Across" => {
                let (attribute, rest) = text(rest)?;
                let (count, rest) = number(rest)?;
                let (inner, rest) = Self::decode_from(rest)?;
                Some((Self::across(attribute, count, inner), rest))
            }
            _ => None,
        }
    }

    /// The bytes FoundationDB keeps.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = PREFIX.to_vec();
        self.encode_into(&mut bytes);
        bytes
    }

    fn encode_into(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::One => put_text("One", bytes),
            Self::Across { attribute, count, inner } => {
                put_text("Across", bytes);
                put_text(attribute, bytes);
                bytes.extend(u32::try_from(*count).unwrap_or(u32::MAX).to_le_bytes());
                inner.encode_into(bytes);
            }
        }
    }
}

fn put_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_le_bytes(*number)).ok()?, rest))
}

fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = number(bytes)?;
    let (text, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hall: &str, zone: &str) -> Localities {
        [("data_hall", hall), ("zoneid", zone)].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn two_halls_with_two_zones_each_need_exactly_that() {
        let policy = Policy::across("data_hall", 2, Policy::zones(2));
        let all = [at("a", "a1"), at("a", "a2"), at("b", "b1"), at("c", "c1")];
        assert_eq!(policy.select(&all.iter().collect::<Vec<_>>()), None);
        let more = [at("a", "a1"), at("a", "a2"), at("b", "b1"), at("b", "b1"), at("b", "b2")];
        assert_eq!(policy.select(&more.iter().collect::<Vec<_>>()), Some(vec![0, 1, 2, 4]));
    }

    #[test]
    fn a_policy_survives_being_written() {
        let triple = Policy::zones(3);
        assert_eq!(
            triple.encode(),
            b"\x01\x00\x01\x62\xb0\x00\xdb\x0f\x06\x00\x00\x00Across\x06\x00\x00\x00zoneid\x03\x00\x00\x00\x03\x00\x00\x00One"
        );
        let halls = Policy::across("data_hall", 2, Policy::zones(2));
        assert_eq!(Policy::decode(&halls.encode()), Some(halls));
        assert_eq!(Policy::decode(b"nonsense"), None);
    }
}
