//! Packing members into a chosen number of domains, with the fewest possible moves.
//!
//! With n members in k domains the band is lo = ⌊n/k⌋ to hi = ⌈n/k⌉: at rest every domain in use holds between lo and hi. A member never
//! changes its domain, so a move is a member that goes and another that comes elsewhere. The fewest moves that lead into the band are
//!
//! ```text
//! max( Σ max(0, cᵢ - hi) + members in retired domains , Σ max(0, lo - cᵢ) )
//! ```
//!
//! where cᵢ is what domain i holds now. They are reached by letting the n mod k domains that hold most keep hi, and all others lo.

use std::collections::BTreeMap;

/// A member and the domain it is in; none if it was never given one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placed<Id> {
    /// Who.
    pub id: Id,
    /// Where.
    pub domain: Option<u32>,
    /// Of several that could go from one domain, those with the lower rank stay.
    pub rank: i64,
}

/// What leads into the band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement<Id> {
    /// Members that go, in the order in which they should.
    pub leave: Vec<Id>,
    /// The domains of new members, in the order in which they should come: the least full first.
    pub join: Vec<u32>,
}

/// How many members each domain shall hold, so that as many as possible stay where they are.
fn targets(counts: &BTreeMap<u32, usize>, wanted: usize) -> BTreeMap<u32, usize> {
    let domains = counts.len();
    let (lo, extra) = (wanted / domains.max(1), wanted % domains.max(1));
    let mut fullest: Vec<(&u32, &usize)> = counts.iter().collect();
    fullest.sort_by(|(a, x), (b, y)| y.cmp(x).then(a.cmp(b)));
    fullest.into_iter().enumerate().map(|(at, (domain, _))| (*domain, lo + usize::from(at < extra))).collect()
}

/// Who goes and where others come, so that `wanted` members are packed into these domains.
///
/// The result depends on the members alone, not on their order. Without domains nobody is placed and nobody goes.
pub fn place<Id: Clone + Ord>(members: &[Placed<Id>], domains: &[u32], wanted: usize) -> Placement<Id> {
    let mut inside: BTreeMap<u32, Vec<&Placed<Id>>> = domains.iter().map(|domain| (*domain, Vec::new())).collect();
    if inside.is_empty() {
        return Placement { leave: Vec::new(), join: Vec::new() };
    }
    let mut outside = Vec::new();
    for member in members {
        match member.domain.and_then(|domain| inside.get_mut(&domain)) {
            Some(held) => held.push(member),
            None => outside.push(member),
        }
    }
    let counts: BTreeMap<u32, usize> = inside.iter().map(|(domain, held)| (*domain, held.len())).collect();
    let targets = targets(&counts, wanted);
    outside.sort_by(|a, b| by_rank(a, b));
    let mut leave: Vec<Id> = outside.into_iter().map(|member| member.id.clone()).collect();
    let mut kept = counts;
    for (domain, held) in &mut inside {
        held.sort_by(|a, b| by_rank(a, b));
        while held.len() > targets[domain] {
            leave.extend(held.pop().map(|member| member.id.clone()));
        }
        kept.insert(*domain, held.len());
    }
    let missing: usize = kept.iter().map(|(domain, count)| targets[domain] - count).sum();
    let mut join = Vec::with_capacity(missing);
    let mut room: std::collections::BTreeSet<(usize, u32)> =
        kept.iter().filter(|(domain, count)| **count < targets[domain]).map(|(domain, count)| (*count, *domain)).collect();
    while let Some((count, domain)) = room.pop_first() {
        join.push(domain);
        if count + 1 < targets[&domain] {
            room.insert((count + 1, domain));
        }
    }
    Placement { leave, join }
}

/// The lower rank first; the last one goes first.
fn by_rank<Id: Ord>(a: &Placed<Id>, b: &Placed<Id>) -> std::cmp::Ordering {
    a.rank.cmp(&b.rank).then_with(|| a.id.cmp(&b.id))
}

/// The fewest moves into the band, in closed form.
pub fn fewest_moves(counts: &[usize], retired: usize, wanted: usize) -> usize {
    let domains = counts.len().max(1);
    let (lo, hi) = (wanted / domains, wanted.div_ceil(domains));
    let above: usize = counts.iter().map(|count| count.saturating_sub(hi)).sum();
    let below: usize = counts.iter().map(|count| lo.saturating_sub(*count)).sum();
    (above + retired).max(below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Members by how many each domain holds, numbered through.
    fn members(counts: &[usize]) -> Vec<Placed<usize>> {
        let domains = counts.iter().zip(0_u32..).flat_map(|(count, domain)| std::iter::repeat_n(domain, *count));
        domains.enumerate().map(|(id, domain)| Placed { id, domain: Some(domain), rank: 0 }).collect()
    }

    fn domains(count: u32) -> Vec<u32> {
        (0..count).collect()
    }

    fn counts_after(before: &[Placed<usize>], placement: &Placement<usize>, domains: &[u32]) -> Vec<usize> {
        let stays =
            |domain: u32| before.iter().filter(|one| one.domain == Some(domain) && !placement.leave.contains(&one.id)).count();
        domains.iter().map(|domain| stays(*domain) + placement.join.iter().filter(|join| *join == domain).count()).collect()
    }

    #[test]
    fn from_three_to_two_with_six_replaces_exactly_the_two_of_the_third() {
        let placement = place(&members(&[2, 2, 2]), &domains(2), 6);
        assert_eq!(placement, Placement { leave: vec![4, 5], join: vec![0, 1] });
    }

    #[test]
    fn from_three_to_four_with_six_replaces_exactly_one() {
        let placement = place(&members(&[2, 2, 2]), &domains(4), 6);
        assert_eq!((placement.leave.len(), placement.join), (1, vec![3]));
    }

    #[test]
    fn ten_in_four_leave_the_fixed_point_of_the_literal_rule() {
        // "Replace what exceeds ⌈n/k⌉" would leave [3, 3, 3, 1] as it is.
        let placement = place(&members(&[3, 3, 3, 1]), &domains(4), 10);
        assert_eq!((placement.leave.len(), placement.join), (1, vec![3]));
        assert_eq!(place(&members(&[4, 2, 2, 2]), &domains(4), 10).leave.len(), 1);
    }

    #[test]
    fn fewer_members_than_domains_use_as_many_domains_as_there_are_members() {
        let placement = place(&Vec::<Placed<usize>>::new(), &domains(5), 3);
        assert_eq!(placement.join, [0, 1, 2]);
    }

    #[test]
    fn whoever_was_never_placed_goes_and_rank_says_who_goes_first() {
        let mut all = members(&[2, 2]);
        all.push(Placed { id: 9, domain: None, rank: 0 });
        let placement = place(&all, &domains(2), 4);
        assert_eq!((placement.leave, placement.join), (vec![9], vec![]));
        let mut ranked = members(&[3, 1]);
        ranked[0].rank = 5;
        assert_eq!(place(&ranked, &domains(2), 4).leave, [0]);
    }

    #[test]
    fn without_domains_nothing_happens() {
        assert_eq!(place(&members(&[2]), &[], 2), Placement { leave: vec![], join: vec![] });
    }

    /// The fewest moves by trying every way to fill the domains.
    fn by_force(counts: &[usize], retired: usize, wanted: usize) -> usize {
        fn fill(counts: &[usize], left: usize, lo: usize, hi: usize) -> Option<usize> {
            let Some((first, rest)) = counts.split_first() else { return (left == 0).then_some(0) };
            (lo..=hi.min(left)).filter_map(|target| Some(first.saturating_sub(target) + fill(rest, left - target, lo, hi)?)).min()
        }
        let (lo, hi) = (wanted / counts.len(), wanted.div_ceil(counts.len()));
        fill(counts, wanted, lo, hi).unwrap_or(0) + retired
    }

    proptest! {
        #[test]
        fn the_band_is_reached_with_the_fewest_moves(
            counts in proptest::collection::vec(0_usize..6, 1..6), retired in 0_usize..4
        ) {
            let k = u32::try_from(counts.len()).unwrap_or(1);
            let mut before = members(&counts);
            let n = before.len() + retired;
            before.extend((0..retired).map(|at| Placed { id: 1000 + at, domain: Some(99), rank: 0 }));
            let placement = place(&before, &domains(k), n);
            prop_assert_eq!(placement.leave.len(), by_force(&counts, retired, n));
            prop_assert_eq!(placement.leave.len(), fewest_moves(&counts, retired, n));
            prop_assert_eq!(placement.leave.len(), placement.join.len());
            let (lo, hi) = (n / counts.len(), n.div_ceil(counts.len()));
            prop_assert!(counts_after(&before, &placement, &domains(k)).iter().all(|count| (lo..=hi).contains(count)));
        }

        #[test]
        fn growing_and_shrinking_let_as_few_go_as_possible(
            counts in proptest::collection::vec(0_usize..6, 1..6), retired in 0_usize..4, wanted in 0_usize..30
        ) {
            let k = u32::try_from(counts.len()).unwrap_or(1);
            let mut before = members(&counts);
            before.extend((0..retired).map(|at| Placed { id: 1000 + at, domain: Some(99), rank: 0 }));
            let placement = place(&before, &domains(k), wanted);
            prop_assert_eq!(placement.leave.len(), by_force(&counts, retired, wanted));
            prop_assert_eq!(before.len() - placement.leave.len() + placement.join.len(), wanted);
            let (lo, hi) = (wanted / counts.len(), wanted.div_ceil(counts.len()));
            prop_assert!(counts_after(&before, &placement, &domains(k)).iter().all(|count| (lo..=hi).contains(count)));
        }

        #[test]
        fn order_does_not_matter_and_what_is_placed_stays_placed(
            (before, shuffled) in proptest::collection::vec(0_usize..6, 1..6)
                .prop_flat_map(|counts| (Just(members(&counts)), Just(members(&counts)).prop_shuffle())),
            wanted in 0_usize..30, k in 1_u32..7
        ) {
            let placement = place(&before, &domains(k), wanted);
            prop_assert_eq!(&placement, &place(&shuffled, &domains(k), wanted));
            let mut after: Vec<_> = before.into_iter().filter(|one| !placement.leave.contains(&one.id)).collect();
            after.extend(placement.join.iter().enumerate().map(|(at, domain)| Placed { id: 1000 + at, domain: Some(*domain), rank: 0 }));
            prop_assert_eq!(after.len(), wanted);
            prop_assert_eq!(place(&after, &domains(k), wanted), Placement { leave: vec![], join: vec![] });
        }

        #[test]
        fn any_beginning_of_a_plan_keeps_the_rest_as_short_as_it_was(
            counts in proptest::collection::vec(0_usize..6, 2..6), k in 1_u32..6, done in 0_usize..5
        ) {
            let before = members(&counts);
            let n = before.len();
            let whole = place(&before, &domains(k), n);
            let done = done.min(whole.leave.len());
            let mut middle: Vec<_> = before.into_iter().filter(|one| !whole.leave[..done].contains(&one.id)).collect();
            middle.extend(whole.join.iter().take(done).enumerate().map(|(at, domain)| Placed { id: 1000 + at, domain: Some(*domain), rank: 0 }));
            prop_assert_eq!(place(&middle, &domains(k), n).leave.len(), whole.leave.len() - done);
        }
    }
}
