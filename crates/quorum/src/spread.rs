//! Choosing members that don't fail together: coordinators, voters.
//!
//! Each candidate lives in a domain on every level (datacenter, hall, zone), widest first. A level has a limit of how many of the chosen
//! may share one of its domains. Within the limits the spread is as even as can be: a domain gets its second member only when no other
//! domain could have taken it.

use std::collections::BTreeMap;

/// Somebody who may be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate<Id> {
    /// Who it is.
    pub id: Id,
    /// Higher is better, within what the spread allows.
    pub priority: i64,
    /// Its domain on each level, in the order of the limits.
    pub domains: Vec<String>,
}

/// The members chosen, in the order of their ids; fewer than wanted if the limits allow no more. The order in which candidates are given
/// does not matter.
pub fn spread<Id: Clone + Ord>(candidates: &[Candidate<Id>], wanted: usize, limits: &[usize]) -> Vec<Id> {
    // Of one whose domains are not all known nobody can say whom it would fail with.
    let mut left: Vec<&Candidate<Id>> = candidates.iter().filter(|one| one.domains.len() >= limits.len()).collect();
    left.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.id.cmp(&b.id)));
    let mut taken: Vec<BTreeMap<&str, usize>> = vec![BTreeMap::new(); limits.len()];
    let mut chosen = Vec::new();
    while chosen.len() < wanted {
        let crowding = |candidate: &Candidate<Id>| -> Option<Vec<usize>> {
            let levels = limits.iter().zip(&taken).zip(&candidate.domains);
            // Widest level first: an empty hall beats an empty zone in a hall that has one already.
            levels
                .map(|((limit, taken), domain)| taken.get(domain.as_str()).copied().or(Some(0)).filter(|used| used < limit))
                .collect()
        };
        // The first of the least crowded; they are sorted by priority.
        let best = left.iter().enumerate().filter_map(|(at, one)| Some((crowding(one)?, at))).min();
        let Some((_, at)) = best else { break };
        let candidate = left.remove(at);
        for (taken, domain) in taken.iter_mut().zip(&candidate.domains) {
            *taken.entry(domain.as_str()).or_default() += 1;
        }
        chosen.push(candidate.id.clone());
    }
    chosen.sort();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: usize, priority: i64, domains: &[&str]) -> Candidate<usize> {
        Candidate { id, priority, domains: domains.iter().map(|&domain| domain.to_owned()).collect() }
    }

    #[test]
    fn never_two_in_one_zone() {
        let candidates: Vec<_> = (0..6).map(|id| candidate(id, 0, &[["a", "b"][id % 2]])).collect();
        assert_eq!(spread(&candidates, 3, &[1]), [0, 1]);
    }

    #[test]
    fn one_whose_domains_are_not_known_is_not_taken() {
        assert_eq!(spread(&[candidate(1, 9, &["hall"]), candidate(2, 0, &["hall", "zone"])], 2, &[3, 1]), [2]);
    }

    #[test]
    fn priority_counts_only_within_the_spread() {
        let candidates = [candidate(1, 9, &["a"]), candidate(2, 9, &["a"]), candidate(3, 0, &["b"]), candidate(4, 1, &["b"])];
        assert_eq!(spread(&candidates, 2, &[1]), [1, 4]);
    }

    #[test]
    fn nine_over_three_halls_with_three_zones_each() {
        let candidates: Vec<_> =
            (0..18).map(|id| candidate(id, 0, &[["x", "y", "z"][id % 3], &format!("zone-{}", id % 9)])).collect();
        let chosen = spread(&candidates, 9, &[3, 1]);
        assert_eq!(chosen.len(), 9);
        for hall in 0..3 {
            assert_eq!(chosen.iter().filter(|id| *id % 3 == hall).count(), 3);
        }
    }

    #[test]
    fn five_over_three_halls_with_two_zones_each_is_two_two_one() {
        let candidates: Vec<_> = (0..6).map(|id| candidate(id, 0, &[["x", "y", "z"][id % 3], &format!("zone-{id}")])).collect();
        let chosen = spread(&candidates, 5, &[2, 1]);
        let mut per_hall: Vec<_> = (0..3).map(|hall| chosen.iter().filter(|id| *id % 3 == hall).count()).collect();
        per_hall.sort_unstable();
        assert_eq!(per_hall, [1, 2, 2]);
    }

    proptest::proptest! {
        #[test]
        fn limits_hold_order_does_not_matter_and_nobody_is_left_out_who_fits(
            zones in proptest::collection::vec((0_usize..4, 0_usize..3, 0_i64..3), 0..20), wanted in 0_usize..12, per_hall in 1_usize..4
        ) {
            let candidates: Vec<_> = zones
                .iter()
                .enumerate()
                .map(|(id, (zone, hall, priority))| candidate(id, *priority, &[&format!("hall-{hall}"), &format!("hall-{hall}-zone-{zone}")]))
                .collect();
            let chosen = spread(&candidates, wanted, &[per_hall, 1]);
            let mut shuffled = candidates.clone();
            shuffled.reverse();
            proptest::prop_assert_eq!(&chosen, &spread(&shuffled, wanted, &[per_hall, 1]));
            let count = |level: usize| {
                let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
                for id in &chosen {
                    *counts.entry(candidates[*id].domains[level].as_str()).or_default() += 1;
                }
                counts
            };
            let (halls, zones) = (count(0), count(1));
            proptest::prop_assert!(halls.values().all(|used| *used <= per_hall) && zones.values().all(|used| *used <= 1));
            if chosen.len() < wanted {
                for one in candidates.iter().filter(|one| !chosen.contains(&one.id)) {
                    let full = halls.get(one.domains[0].as_str()) == Some(&per_hall) || zones.contains_key(one.domains[1].as_str());
                    proptest::prop_assert!(full, "{:?} would have fitted", one);
                }
            }
        }
    }
}
