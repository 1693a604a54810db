//! What a commit leaves behind, as keys that can be read to see whether it happened.

use std::collections::BTreeMap;
use std::str::FromStr;

use quorate_fdb_library::{Error, Transaction};

use super::keys;
use crate::connection::{ConnectionString, Coordinator};
use crate::contract::{Commit, Management, Range, Write};

/// One thing that is so once the commit has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A key has this value, or none.
    Key(Vec<u8>, Option<Vec<u8>>),
    /// A key has whatever value.
    Present(Vec<u8>),
    /// A range is empty.
    Empty(Vec<u8>, Vec<u8>),
    /// This zone is under maintenance, or none.
    Maintenance(Option<String>),
    /// These are the coordinators.
    Coordinators(Vec<Coordinator>),
}

/// What a commit leaves behind, and whether that is all of it. A process's class is kept under a key that only the process knows.
pub(crate) fn effects(commit: &Commit) -> (Vec<Effect>, bool) {
    let mut effects = writes(&commit.writes);
    let mut complete = true;
    match &commit.manage {
        None => {}
        Some(Management::Exclude(who)) => {
            effects.extend(who.iter().map(|one| Effect::Present(keys::stored_exclusion(one))));
        }
        Some(Management::Include(who) | Management::IncludeBlindly(who)) => {
            effects.extend(who.iter().map(|one| Effect::Key(keys::stored_exclusion(one), None)));
        }
        Some(Management::Coordinators(addresses)) => {
            let parsed = addresses.iter().filter_map(|address| Coordinator::from_str(address).ok()).collect();
            effects = vec![Effect::Coordinators(parsed)];
        }
        Some(Management::Configure(change)) => {
            let set = change.keys.iter().map(|(key, value)| Effect::Key(keys::configuration(key), Some(value.0.clone())));
            effects.extend(set);
        }
        Some(Management::Maintain { zone, .. }) => effects.push(Effect::Maintenance(Some(zone.clone()))),
        Some(Management::EndMaintenance) => effects.push(Effect::Maintenance(None)),
        Some(Management::ProcessClass { .. }) => complete = false,
    }
    (effects, complete)
}

/// The last word on each key counts.
fn writes(writes: &[Write]) -> Vec<Effect> {
    let mut last: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
    let mut cleared: Vec<&Range> = Vec::new();
    for write in writes {
        match write {
            Write::Set(key, value) => {
                last.insert(key.0.clone(), Some(value.0.clone()));
            }
            Write::Clear(key) => {
                last.insert(key.0.clone(), None);
            }
            Write::ClearRange(range) => {
                last.retain(|key, _| key < &range.begin.0 || key >= &range.end.0);
                cleared.push(range);
            }
        }
    }
    // A range into which something was set afterwards is not empty; what was set tells as much.
    cleared.retain(|range| !last.iter().any(|(key, value)| value.is_some() && *key >= range.begin.0 && *key < range.end.0));
    let empty = cleared.into_iter().map(|range| Effect::Empty(range.begin.0.clone(), range.end.0.clone()));
    last.into_iter().map(|(key, value)| Effect::Key(key, value)).chain(empty).collect()
}

/// Whether each of them is so. Snapshot reads: having looked must not make the commit conflict.
pub(crate) async fn observe(transaction: &Transaction, effects: &[Effect]) -> Result<Vec<bool>, Error> {
    let mut seen = Vec::new();
    for effect in effects {
        seen.push(match effect {
            Effect::Key(key, value) => transaction.get(key, true).await? == *value,
            Effect::Present(key) => transaction.get(key, true).await?.is_some(),
            Effect::Empty(begin, end) => transaction.range(begin, end, true, usize::MAX).await?.is_empty(),
            Effect::Maintenance(zone) => {
                let stored = transaction.get(keys::HEALTHY_ZONE, true).await?;
                stored.as_deref().and_then(keys::healthy_zone) == zone.as_deref().map(str::as_bytes)
            }
            Effect::Coordinators(wanted) => {
                let stored = transaction.get(keys::COORDINATORS, true).await?.unwrap_or_default();
                ConnectionString::from_bytes(&stored).is_ok_and(|stored| stored.same_coordinators(wanted))
            }
        });
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Change;

    fn set(key: &str, value: &str) -> Write {
        Write::Set(key.into(), value.into())
    }

    fn has(key: &str, value: Option<&str>) -> Effect {
        Effect::Key(key.into(), value.map(Into::into))
    }

    #[test]
    fn the_last_write_of_a_key_is_what_is_left() {
        let range = |begin: &str, end: &str| Write::ClearRange(Range { begin: begin.into(), end: end.into() });
        let left = |list: &[Write]| writes(list);
        assert_eq!(left(&[set("a", "1"), set("a", "2")]), [has("a", Some("2"))]);
        assert_eq!(left(&[set("a", "1"), Write::Clear("a".into())]), [has("a", None)]);
        assert_eq!(left(&[set("b", "1"), range("a", "c")]), [Effect::Empty("a".into(), "c".into())]);
        assert_eq!(left(&[range("a", "c"), set("b", "1")]), [has("b", Some("1"))]);
    }

    #[test]
    fn a_change_of_coordinators_is_known_by_the_coordinators_alone() {
        let manage = Some(Management::Coordinators(vec!["10.0.0.1:4501".into()]));
        let (effects, complete) = effects(&Commit { manage, ..Commit::default() });
        assert!(complete && matches!(&effects[..], [Effect::Coordinators(list)] if list.len() == 1));
    }

    #[test]
    fn a_class_leaves_nothing_that_could_be_read() {
        let manage = Some(Management::ProcessClass { address: "10.0.0.1:1".into(), class: "log".into() });
        assert_eq!(
            effects(&Commit { manage, writes: vec![set("a", "1")], ..Commit::default() }),
            (vec![has("a", Some("1"))], false)
        );
    }

    #[test]
    fn exclusions_and_configuration_are_stored_below_conf() {
        let manage = |manage| effects(&Commit { manage: Some(manage), ..Commit::default() }).0;
        let who = vec!["10.0.0.1".to_owned(), "locality_instance_id:a".to_owned()];
        let (address, locality) =
            (b"\xff/conf/excluded/10.0.0.1".to_vec(), b"\xff/conf/excluded_locality/locality_instance_id:a".to_vec());
        assert_eq!(
            manage(Management::Exclude(who.clone())),
            [Effect::Present(address.clone()), Effect::Present(locality.clone())]
        );
        assert_eq!(manage(Management::Include(who)), [Effect::Key(address, None), Effect::Key(locality, None)]);
        let keys = [("logs".to_owned(), "4".into())].into();
        assert_eq!(
            manage(Management::Configure(Change { new: None, keys })),
            [Effect::Key(b"\xff/conf/logs".to_vec(), Some(b"4".to_vec()))]
        );
    }
}
