//! Packing process groups into fault domains: moves against the fewest possible, time, and how that grows.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use quorate_quorum::placement::{Placed, fewest_moves, place};

use super::Measured;
use super::growth::exponent;

#[expect(clippy::cast_precision_loss, reason = "counts far below what a float holds")]
fn float(count: usize) -> f64 {
    count as f64
}

const CLASSES: usize = 5;
const DOMAINS: u32 = 64;
/// Process groups in all.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// Changes of one churn: domains more or fewer, process groups more or fewer, some lost.
const CHANGES: usize = 40;
const TURNS: usize = 5;

/// Moves over the fewest possible, summed over a random churn of 10,000 process groups.
pub(super) fn measure() -> Result<Measured> {
    let churn = churned(SIZES[1]);
    anyhow::ensure!(churn.fewest > 0, "nothing had to move");
    let literal = float(churn.literal) / float(churn.fewest);
    Ok(Measured {
        value: Some(float(churn.moves) / float(churn.fewest)),
        baseline: Some(float(churn.greedy) / float(churn.fewest)),
        note: format!(
            "{} moves for {} needed in {CHANGES} changes, {:.1} ms per plan; greedy: {} moves; the literal rule: {literal:.3} of them, and \
             outside the band after {} of {} plans",
            churn.moves,
            churn.fewest,
            churn.fastest.as_secs_f64() * 1e3,
            churn.greedy,
            churn.literal_outside,
            CHANGES * CLASSES
        ),
    })
}

/// The exponent of the number of process groups in what a plan costs.
pub(super) fn measure_growth() -> Result<Measured> {
    let plans = churned(SIZES[0]);
    anyhow::ensure!(plans.moves == plans.fewest, "a plan moves more than is needed");
    let mut fastest = [Duration::MAX; SIZES.len()];
    for _ in 0..TURNS {
        for (size, fastest) in SIZES.iter().zip(&mut fastest) {
            *fastest = (*fastest).min(churned(*size).fastest);
        }
    }
    let milliseconds = fastest.map(|time| time.as_secs_f64() * 1e3);
    Ok(Measured {
        value: Some(exponent(&SIZES, &milliseconds)),
        baseline: Some(1.0),
        note: format!(
            "{:.2}, {:.2} and {:.1} ms with {SIZES:?} process groups",
            milliseconds[0], milliseconds[1], milliseconds[2]
        ),
    })
}

/// What a churn came to.
#[derive(Default)]
struct Churn {
    moves: usize,
    fewest: usize,
    greedy: usize,
    literal: usize,
    /// How often the literal rule stops outside the band.
    literal_outside: usize,
    /// The fastest plan for all classes.
    fastest: Duration,
}

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }
}

fn churned(size: usize) -> Churn {
    let mut chance = Chance(7);
    let wanted = size / CLASSES;
    let (mut next, mut domains) = (0, DOMAINS);
    let mut classes: Vec<Vec<Placed<usize>>> = (0..CLASSES).map(|_| born(wanted, domains, &mut next)).collect();
    let mut churn = Churn { fastest: Duration::MAX, ..Churn::default() };
    for _ in 0..CHANGES {
        // Some are lost for good, and nobody chose which.
        for members in &mut classes {
            for _ in 0..chance.below(wanted / 10 + 2) {
                let at = chance.below(members.len());
                members.swap_remove(at);
            }
        }
        domains = DOMAINS - 8 + u32::try_from(chance.below(17)).unwrap_or(0);
        let all: Vec<u32> = (0..domains).collect();
        let begins = Instant::now();
        let plans: Vec<_> = classes.iter().map(|members| black_box(place(members, &all, wanted))).collect();
        churn.fastest = churn.fastest.min(begins.elapsed());
        for (members, plan) in classes.iter_mut().zip(plans) {
            let counts = counts(members, domains);
            let retired = members.len() - counts.iter().sum::<usize>();
            // Those that are missing come in any case; a move is whatever happens beyond that.
            let missing = wanted - members.len();
            churn.fewest += fewest_moves(&counts, retired, wanted).saturating_sub(missing).max(retired + above(&counts, wanted));
            churn.moves += plan.leave.len();
            churn.greedy += greedy(&counts, retired, wanted);
            let (literal, outside) = literal(&counts, retired, wanted);
            churn.literal += literal;
            churn.literal_outside += usize::from(outside);
            let leaving: std::collections::BTreeSet<usize> = plan.leave.into_iter().collect();
            members.retain(|member| !leaving.contains(&member.id));
            members.extend(plan.join.into_iter().map(|domain| placed(domain, &mut next)));
        }
    }
    churn
}

fn placed(domain: u32, next: &mut usize) -> Placed<usize> {
    *next += 1;
    Placed { id: *next, domain: Some(domain), rank: 0 }
}

fn born(wanted: usize, domains: u32, next: &mut usize) -> Vec<Placed<usize>> {
    let all: Vec<u32> = (0..domains).collect();
    place::<usize>(&[], &all, wanted).join.into_iter().map(|domain| placed(domain, next)).collect()
}

fn counts(members: &[Placed<usize>], domains: u32) -> Vec<usize> {
    let mut counts: BTreeMap<u32, usize> = (0..domains).map(|domain| (domain, 0)).collect();
    for domain in members.iter().filter_map(|member| member.domain) {
        if let Some(count) = counts.get_mut(&domain) {
            *count += 1;
        }
    }
    counts.into_values().collect()
}

fn above(counts: &[usize], wanted: usize) -> usize {
    let most = wanted.div_ceil(counts.len());
    counts.iter().map(|count| count.saturating_sub(most)).sum()
}

/// Whoever exceeds the ceiling goes, new ones go to the least full; nothing else ever moves.
fn literal(counts: &[usize], retired: usize, wanted: usize) -> (usize, bool) {
    let most = wanted.div_ceil(counts.len());
    let goes = retired + above(counts, wanted);
    let mut after: Vec<usize> = counts.iter().map(|count| (*count).min(most)).collect();
    let mut missing = wanted - after.iter().sum::<usize>();
    while missing > 0
        && let Some(least) = after.iter_mut().min()
    {
        *least += 1;
        missing -= 1;
    }
    let least = wanted / counts.len();
    (goes, after.iter().any(|count| *count < least || *count > most))
}

/// From the fullest to the least full, one at a time, until they differ by one at most, after those that are missing came wherever they
/// were asked for first.
fn greedy(counts: &[usize], retired: usize, wanted: usize) -> usize {
    let mut after = counts.to_vec();
    let missing = wanted - after.iter().sum::<usize>();
    let domains = after.len();
    for turn in 0..missing {
        after[turn % domains] += 1;
    }
    let mut moves = retired;
    loop {
        let (Some(most), Some(least)) = (after.iter().max().copied(), after.iter().min().copied()) else { return moves };
        if most - least <= 1 {
            return moves;
        }
        let change = |after: &mut [usize], from: usize, to: usize| {
            if let Some(count) = after.iter_mut().find(|count| **count == from) {
                *count = to;
            }
        };
        change(&mut after, most, most - 1);
        change(&mut after, least, least + 1);
        moves += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_plan_moves_more_than_is_needed_and_other_rules_do() {
        let churn = churned(SIZES[0]);
        assert_eq!(churn.moves, churn.fewest);
        assert!(churn.greedy > churn.fewest);
        assert!(churn.literal_outside > 0);
    }
}
