//! Replacement buckets: how many automatic replacements may be in flight, per kind of process, so that a slow one never delays a quick
//! one.
//!
//! In flight is what is marked for removal and not yet excluded. With buckets turned off there is one counter for all, which is exactly
//! what the existing operator does. A limit of zero for all stops every automatic replacement, whatever the buckets say.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{Hold, Reason};

/// No more replacements fit into the bucket.
pub const REPLACEMENTS_IN_FLIGHT: Reason = Reason("ReplacementsInFlight");
/// Automatic replacements are turned off by a limit of zero.
pub const REPLACEMENTS_STOPPED: Reason = Reason("ReplacementsStopped");

/// The name under which the limit for all is shown where it counts fault domains.
pub const FAULT_DOMAINS: &str = "fault domains";

/// Limits as the user set them. What is negative counts as zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limits<Bucket> {
    /// One counter for all.
    Together(i64),
    /// One for each bucket; a bucket that is not named has no room. The first number is for all of them, and only zero matters.
    PerBucket(i64, BTreeMap<Bucket, i64>),
}

/// The buckets of one cluster: how much room there is, and who takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets<Bucket> {
    limits: Limits<Bucket>,
    in_flight: BTreeMap<Bucket, BTreeSet<String>>,
    /// Where everybody is, if fault domains are counted.
    domains: Option<BTreeMap<String, String>>,
}

/// One bucket as the plan and the status show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// Its name.
    pub bucket: String,
    /// How many are in flight; of [`FAULT_DOMAINS`], in how many fault domains they are.
    pub used: usize,
    /// How many may be.
    pub limit: usize,
    /// Who they are.
    pub held_by: Vec<String>,
}

impl<Bucket: Copy + Ord + std::fmt::Display> Buckets<Bucket> {
    /// Buckets with these limits, and what is in flight already.
    pub fn new(limits: Limits<Bucket>, in_flight: impl IntoIterator<Item = (Bucket, String)>) -> Self {
        let mut buckets = Self { limits, in_flight: BTreeMap::new(), domains: None };
        for (bucket, who) in in_flight {
            buckets.in_flight.entry(bucket).or_default().insert(who);
        }
        buckets
    }

    /// From now on the limit for all counts the fault domains of what is in flight, and no longer its number. Limits per bucket hold
    /// besides.
    pub fn count_domains(&mut self, domains: impl IntoIterator<Item = (String, String)>) {
        self.domains = Some(domains.into_iter().collect());
    }

    /// Takes room for a replacement, or says why there is none.
    pub fn take(&mut self, bucket: Bucket, who: &str) -> Result<(), Box<Hold>> {
        if self.is_stopped() {
            let sentence = format!("{who} is not replaced, because the limit of automatic replacements is 0");
            let hold = Hold::new(REPLACEMENTS_STOPPED, who, sentence, "a maxConcurrentReplacements above 0");
            return Err(Box::new(hold.compared(0, "at least 1")));
        }
        if let Some(hold) = self.another_domain(who) {
            return Err(Box::new(hold));
        }
        let limit = self.limit(bucket);
        let counts = self.domains.is_none() || matches!(self.limits, Limits::PerBucket(..));
        if counts && self.count(bucket) >= limit {
            if limit == 0 {
                let sentence = format!("{who} is not replaced, because the limit of replacements of kind {bucket} is 0");
                let hold = Hold::new(REPLACEMENTS_STOPPED, who, sentence, format!("a limit above 0 for {bucket}"));
                return Err(Box::new(hold.compared(0, "at least 1")));
            }
            let used = self.used(bucket);
            let which = match self.limits {
                Limits::Together(_) => "all replacements".to_owned(),
                Limits::PerBucket(..) => format!("replacements of kind {bucket}"),
            };
            let sentence = format!("{who} is not replaced yet, because {which} together may be {limit}");
            let hold = Hold::new(REPLACEMENTS_IN_FLIGHT, who, sentence, format!("{} being excluded", some_of(&used)));
            return Err(Box::new(hold.compared(format!("{} in flight", used.len()), format!("fewer than {limit}"))));
        }
        self.in_flight.entry(bucket).or_default().insert(who.to_owned());
        Ok(())
    }

    /// Who takes the room that a bucket has, or that all share where there is one counter.
    pub fn holders(&self, bucket: Bucket) -> Vec<String> {
        let shared = self.domains.is_some() || matches!(self.limits, Limits::Together(_));
        if shared { self.in_flight.values().flatten().cloned().collect() } else { self.used(bucket) }
    }

    /// Every limit that counts, as it is shown: each bucket of these or the one for all, and the one of fault domains.
    pub fn shown(&self, all: &[Bucket]) -> Vec<Shown> {
        let everybody: Vec<String> = self.in_flight.values().flatten().cloned().collect();
        let domains = self.domains_in_flight().map(|domains| Shown {
            bucket: FAULT_DOMAINS.to_owned(),
            used: domains.len(),
            limit: self.limit_for_all(),
            held_by: everybody.clone(),
        });
        let show = |bucket: String, limit: usize, held_by: Vec<String>| Shown { bucket, used: held_by.len(), limit, held_by };
        // Nothing has room while all is stopped.
        let limit = |bucket: Bucket| if self.is_stopped() { 0 } else { self.limit(bucket) };
        let counted = match self.limits {
            Limits::Together(_) if domains.is_some() => Vec::new(),
            Limits::Together(_) => vec![show("all".to_owned(), self.limit_for_all(), everybody)],
            Limits::PerBucket(..) => {
                all.iter().map(|bucket| show(bucket.to_string(), limit(*bucket), self.used(*bucket))).collect()
            }
        };
        counted.into_iter().chain(domains).collect()
    }

    /// Within the domains that are in flight more may follow; a new domain needs room.
    fn another_domain(&self, who: &str) -> Option<Hold> {
        let domains = self.domains.as_ref()?;
        let (in_flight, limit) = (self.domains_in_flight()?, self.limit_for_all());
        let fits = in_flight.len() < limit || (in_flight.len() == limit && in_flight.contains(domain_of(domains, who)));
        (!fits).then(|| {
            let names = some_of(&in_flight.iter().copied().collect::<Vec<_>>());
            let sentence = format!("{who} is not replaced yet, because replacements may span {limit} fault domains");
            let hold = Hold::new(REPLACEMENTS_IN_FLIGHT, who, sentence, format!("what is in flight in {names} being excluded"));
            hold.compared(format!("{} fault domains in flight", in_flight.len()), format!("at most {limit}"))
        })
    }

    /// The fault domains of what is in flight, if they are counted.
    fn domains_in_flight(&self) -> Option<BTreeSet<&str>> {
        let domains = self.domains.as_ref()?;
        Some(self.in_flight.values().flatten().map(|who| domain_of(domains, who)).collect())
    }

    fn is_stopped(&self) -> bool {
        self.limit_for_all() == 0
    }

    fn limit_for_all(&self) -> usize {
        match self.limits {
            Limits::Together(limit) | Limits::PerBucket(limit, _) => room(limit),
        }
    }

    fn limit(&self, bucket: Bucket) -> usize {
        match &self.limits {
            Limits::Together(limit) => room(*limit),
            Limits::PerBucket(_, limits) => limits.get(&bucket).copied().map_or(0, room),
        }
    }

    fn count(&self, bucket: Bucket) -> usize {
        match self.limits {
            Limits::Together(_) => self.in_flight.values().map(BTreeSet::len).sum(),
            Limits::PerBucket(..) => self.in_flight.get(&bucket).map_or(0, BTreeSet::len),
        }
    }

    fn used(&self, bucket: Bucket) -> Vec<String> {
        match self.limits {
            Limits::Together(_) => self.in_flight.values().flatten().cloned().collect(),
            Limits::PerBucket(..) => self.in_flight.get(&bucket).into_iter().flatten().cloned().collect(),
        }
    }
}

/// Whoever is nowhere yet is a domain of its own.
fn domain_of<'a>(domains: &'a BTreeMap<String, String>, who: &'a str) -> &'a str {
    domains.get(who).map_or(who, String::as_str)
}

/// The first of many, for one sentence.
fn some_of(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} others", names.len() - SHOWN) } else { shown }
}

fn room(limit: i64) -> usize {
    usize::try_from(limit).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Kind {
        Slow,
        Quick,
    }

    impl std::fmt::Display for Kind {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(if *self == Self::Slow { "slow" } else { "quick" })
        }
    }

    fn per_bucket(slow: i64, quick: i64, in_flight: &[(Kind, &str)]) -> Buckets<Kind> {
        let limits = Limits::PerBucket(1, BTreeMap::from([(Kind::Slow, slow), (Kind::Quick, quick)]));
        Buckets::new(limits, in_flight.iter().map(|(kind, who)| (*kind, (*who).to_owned())))
    }

    #[test]
    fn a_full_bucket_never_delays_another() {
        let mut buckets = per_bucket(1, 1, &[(Kind::Slow, "storage-1")]);
        let hold = buckets.take(Kind::Slow, "storage-2").unwrap_err();
        assert_eq!(
            hold.to_string(),
            "ReplacementsInFlight (storage-2)\n  storage-2 is not replaced yet, because replacements of kind slow together may be 1\n  \
             measured: 1 in flight, needed: fewer than 1\n  released by: storage-1 being excluded"
        );
        assert_eq!(buckets.take(Kind::Quick, "stateless-1"), Ok(()));
        assert!(buckets.take(Kind::Quick, "stateless-2").is_err());
    }

    #[test]
    fn turned_off_is_one_counter_for_all() {
        let mut buckets = Buckets::new(Limits::Together(2), [(Kind::Slow, "storage-1".to_owned())]);
        assert_eq!(buckets.take(Kind::Quick, "stateless-1"), Ok(()));
        assert!(buckets.take(Kind::Quick, "stateless-2").is_err());
        assert!(buckets.take(Kind::Slow, "storage-2").is_err());
    }

    #[test]
    fn domains_are_counted_instead_and_buckets_hold_besides() {
        let domains = || ["a1", "a2", "b1"].map(|who| (who.to_owned(), who[..1].to_owned()));
        let mut together = Buckets::new(Limits::Together(1), [(Kind::Slow, "a1".to_owned())]);
        together.count_domains(domains());
        assert!(together.take(Kind::Slow, "b1").is_err());
        assert_eq!(together.take(Kind::Slow, "a2"), Ok(()));
        let mut both = per_bucket(1, 1, &[(Kind::Slow, "a1")]);
        both.count_domains(domains());
        assert!(both.take(Kind::Slow, "a2").is_err(), "its bucket is full");
        assert!(both.take(Kind::Quick, "b1").is_err(), "another domain");
        assert_eq!(both.take(Kind::Quick, "a2"), Ok(()));
    }

    #[test]
    fn zero_for_all_stops_all_and_negative_is_zero() {
        for limit in [0, -3] {
            let limits = Limits::PerBucket(limit, BTreeMap::from([(Kind::Quick, 5)]));
            let hold = Buckets::new(limits, []).take(Kind::Quick, "stateless-1").unwrap_err();
            assert_eq!(hold.reason, REPLACEMENTS_STOPPED);
        }
        assert_eq!(per_bucket(-1, 1, &[]).take(Kind::Slow, "storage-1").unwrap_err().reason, REPLACEMENTS_STOPPED);
    }

    #[test]
    fn each_bucket_is_shown_with_who_takes_its_room() {
        let buckets = per_bucket(1, 2, &[(Kind::Slow, "storage-1")]);
        let shown = buckets.shown(&[Kind::Slow, Kind::Quick]);
        assert_eq!((shown[0].used, shown[0].limit, shown[0].held_by.as_slice()), (1, 1, ["storage-1".to_owned()].as_slice()));
        assert_eq!((shown[1].used, shown[1].limit, shown[1].held_by.len()), (0, 2, 0));
        assert_eq!(Buckets::new(Limits::Together(3), [(Kind::Slow, "a".to_owned())]).shown(&[Kind::Slow]).len(), 1);
    }

    /// What is shown, as bucket, used and limit.
    fn numbers(buckets: &Buckets<Kind>) -> Vec<(String, usize, usize)> {
        let shown = buckets.shown(&[Kind::Slow, Kind::Quick]);
        shown.into_iter().map(|shown| (shown.bucket, shown.used, shown.limit)).collect()
    }

    #[test]
    fn where_domains_are_counted_domains_are_shown() {
        let domains = || ["a1", "a2", "b1"].map(|who| (who.to_owned(), who[..1].to_owned()));
        let named = |name: &str, used, limit| (name.to_owned(), used, limit);
        let mut together = Buckets::new(Limits::Together(1), ["a1", "a2"].map(|who| (Kind::Slow, who.to_owned())));
        together.count_domains(domains());
        assert_eq!(numbers(&together), [named("fault domains", 1, 1)]);
        assert_eq!(together.shown(&[])[0].held_by, ["a1", "a2"]);
        let mut both = per_bucket(3, 1, &[(Kind::Slow, "a1"), (Kind::Slow, "a2"), (Kind::Quick, "c1")]);
        both.count_domains(domains());
        assert_eq!(numbers(&both), [named("slow", 2, 3), named("quick", 1, 1), named("fault domains", 2, 1)]);
    }

    #[test]
    fn where_all_is_stopped_no_limit_shows_room() {
        let limits = Limits::PerBucket(0, BTreeMap::from([(Kind::Slow, 5), (Kind::Quick, 5)]));
        let mut stopped = Buckets::new(limits, [(Kind::Slow, "a1".to_owned())]);
        let named = |name: &str, used| (name.to_owned(), used, 0);
        assert_eq!(numbers(&stopped), [named("slow", 1), named("quick", 0)]);
        stopped.count_domains([]);
        assert_eq!(numbers(&stopped), [named("slow", 1), named("quick", 0), named("fault domains", 1)]);
    }
}
