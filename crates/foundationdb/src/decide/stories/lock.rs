//! Several operators share a database by its lock.

use foundationdb_tuple::pack;
use jiff::SignedDuration;

use super::cluster::{Cluster, codes, told};
use crate::{LockWish, lock};

/// A cluster whose operator is called dc1 there, and whose storage-8 is to go.
pub(super) fn locking() -> Cluster {
    let mut cluster = Cluster::usual();
    cluster.desired.lock = Some(wish());
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster
}

fn wish() -> LockWish {
    let prefix = b"\xff\x02/org.foundationdb.kubernetes-operator".to_vec();
    LockWish { prefix, owner: "dc1".to_owned(), duration: SignedDuration::from_mins(10), deny: [].into() }
}

pub(super) fn somebody_else_has_it(cluster: &mut Cluster) {
    let end = (cluster.now + SignedDuration::from_hours(9)).as_second();
    cluster.database.lock.value = Some(pack(&("dc2", 0_i64, end)));
}

#[test]
fn the_lock_is_taken_first_and_everything_under_it_is_fenced_by_what_it_says() {
    let mut cluster = locking();
    let decision = cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("exclude")));
    let done = told(&decision);
    assert_eq!(done[0], "take the lock");
    let fences: Vec<_> = decision.steps.iter().filter_map(|step| step.guard.fence.as_ref()).collect();
    assert_eq!(fences.len(), 1);
    assert_eq!(fences[0].key, lock::key(&wish()));
    assert_eq!(Some(&fences[0].value), cluster.database.lock.value.as_ref());
}

#[test]
fn the_lock_is_given_back_at_rest() {
    let mut cluster = locking();
    let done = cluster.rounds(400);
    assert!(done.contains(&"give the lock back".to_owned()), "{done:?}");
    assert_eq!(cluster.database.lock.value, None);
    assert!(told(&cluster.round(30)).is_empty());
}

#[test]
fn while_another_has_it_nothing_is_done_to_the_database_and_the_rest_goes_on() {
    let mut cluster = locking();
    somebody_else_has_it(&mut cluster);
    let done = cluster.rounds(100);
    assert!(done.iter().any(|step| step.starts_with("create pod")), "{done:?}");
    assert!(!done.iter().any(|step| step.starts_with("exclude")), "{done:?}");
    assert_eq!(codes(&cluster.decided()), ["Locked"]);
}

#[test]
fn one_who_is_denied_does_not_take_a_free_lock() {
    let mut cluster = locking();
    cluster.database.lock.denied.insert("dc1".to_owned());
    assert!(!cluster.rounds(100).contains(&"take the lock".to_owned()));
    assert_eq!(codes(&cluster.decided()), ["LockDenied"]);
}

#[test]
fn the_deny_list_is_as_the_object_says() {
    let mut cluster = locking();
    cluster.desired.remove.clear();
    cluster.database.lock.denied = ["dc3".to_owned(), "dc9".to_owned()].into();
    cluster.desired.lock.as_mut().unwrap().deny = [("dc2".to_owned(), true), ("dc3".to_owned(), false)].into();
    cluster.rounds(3);
    assert_eq!(cluster.database.lock.denied, ["dc2".to_owned(), "dc9".to_owned()].into(), "nobody else's entries are touched");
}
