//! Looking many things up in a map, one after the other.

use std::collections::BTreeMap;
use std::collections::btree_map::Iter;
use std::iter::Peekable;

/// A map that is walked through beside another one whose keys are in the same order. What comes out of order is found as well, by searching
/// for it; in order, nothing is searched for.
pub(super) struct Alongside<'a, V> {
    map: &'a BTreeMap<String, V>,
    rest: Peekable<Iter<'a, String, V>>,
}

impl<'a, V> Alongside<'a, V> {
    pub(super) fn new(map: &'a BTreeMap<String, V>) -> Self {
        Self { map, rest: map.iter().peekable() }
    }

    pub(super) fn get(&mut self, key: &str) -> Option<&'a V> {
        while self.rest.next_if(|(next, _)| next.as_str() < key).is_some() {}
        match self.rest.next_if(|(next, _)| next.as_str() == key) {
            Some((_, value)) => Some(value),
            None => self.map.get(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_the_map_has_in_any_order(keys in prop::collection::btree_set("[ab]{0,3}", 0..8), asked in prop::collection::vec("[ab]{0,3}", 0..12)) {
            let map: BTreeMap<String, usize> = keys.into_iter().zip(0..).collect();
            let mut alongside = Alongside::new(&map);
            for key in &asked {
                prop_assert_eq!(alongside.get(key), map.get(key));
            }
        }
    }
}
