//! Servers get new arguments.

use jiff::SignedDuration;

use super::cluster::{Cluster, codes, told};
use crate::ClassTemplate;
use crate::ProcessClass::{Log, Stateless, Storage};

fn with_a_new_knob(mut cluster: Cluster) -> Cluster {
    for class in [Storage, Log, Stateless] {
        let parameters = vec![("knob_max_trace_lines".to_owned(), "a=b=c".to_owned())];
        cluster.desired.templates.insert(class, ClassTemplate { parameters, ..ClassTemplate::default() });
    }
    cluster
}

fn restarts(done: &[String]) -> usize {
    done.iter().filter(|step| step.starts_with("restart")).count()
}

#[test]
fn all_servers_are_restarted_together_and_once() {
    let mut cluster = with_a_new_knob(Cluster::usual());
    let done = cluster.rounds(200);
    assert_eq!(done[0], "write the ConfigMap");
    assert_eq!(restarts(&done), 1, "{done:?}");
    assert!(done.contains(&"restart 11 servers".to_owned()));
    assert!(cluster.database.servers.values().all(|server| server.arguments.contains("--knob_max_trace_lines=a=b=c")));
}

#[test]
fn a_restart_waits_for_the_last_monitor() {
    let mut cluster = with_a_new_knob(Cluster::usual());
    cluster.out_of_date.insert("sample-storage-9".to_owned());
    assert_eq!(restarts(&cluster.rounds(30)), 0);
    let hold = &cluster.decided().holds[0];
    assert_eq!(hold.reason.0, "RestartHeld");
    assert!(hold.sentence.contains("1 of 11 monitors have not seen the new configuration, such as storage-9"), "{hold}");
    cluster.out_of_date.clear();
    assert_eq!(restarts(&cluster.rounds(5)), 1);
}

#[test]
fn whoever_is_dead_anyway_is_not_waited_for() {
    let mut cluster = with_a_new_knob(Cluster::usual());
    cluster.out_of_date.insert("sample-storage-9".to_owned());
    cluster.kill("storage-9");
    assert_eq!(restarts(&cluster.rounds(6)), 0);
    assert_eq!(restarts(&cluster.rounds(10)), 1);
}

#[test]
fn servers_that_just_started_are_left_to_run() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-9");
    cluster.dead.clear();
    let mut cluster = with_a_new_knob(cluster);
    cluster.rounds(10);
    assert_eq!(codes(&cluster.decided()), ["RestartHeld"]);
    cluster.pass(600);
    assert_eq!(restarts(&cluster.rounds(2)), 1);
}

#[test]
fn nobody_is_restarted_who_is_not_to_be() {
    let mut cluster = with_a_new_knob(Cluster::usual());
    cluster.desired.automation.kill_processes = false;
    assert_eq!(restarts(&cluster.rounds(30)), 0);
    assert_eq!(codes(&cluster.decided()), ["RestartHeld"]);
    cluster.desired.automation.kill_processes = true;
    cluster.desired.buggify.ignore_during_restart.insert("log-1".to_owned());
    assert!(cluster.rounds(5).contains(&"restart 10 servers".to_owned()));
}

#[test]
fn a_group_whose_pod_is_gone_is_not_restarted() {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.kill_processes = false;
    let mut cluster = with_a_new_knob(cluster);
    cluster.rounds(5);
    cluster.desired.automation.kill_processes = true;
    cluster.desired.automation.uptime_before_bounce = SignedDuration::ZERO;
    cluster.desired.buggify.ignore_during_restart =
        cluster.kube.recorded.groups.keys().map(|id| id.0.clone()).filter(|id| id != "stateless-5").collect();
    cluster.kube.pods.remove("sample-stateless-5");
    cluster.kill("stateless-5");
    cluster.pass(10);
    let decision = cluster.round(5);
    assert_eq!(told(&decision), ["create pod sample-stateless-5", "keep 11 pods"]);
}

#[test]
fn a_restart_that_was_begun_is_not_begun_again_while_nothing_is_seen_of_it() {
    let mut cluster = with_a_new_knob(Cluster::usual());
    let decision = cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("restart")));
    // The servers are restarted, and nobody was told: the report is the old one.
    let mut seen = with_a_new_knob(Cluster::usual()).seen();
    seen.now = cluster.now;
    seen.journal = decision.status.journal.clone();
    seen.kube.recorded.groups = decision.status.groups.clone();
    assert!(!told(&crate::decide(&seen)).iter().any(|step| step.starts_with("restart")));
}
