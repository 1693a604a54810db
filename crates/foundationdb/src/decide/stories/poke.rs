//! Kubelets take their time to bring a new ConfigMap, and are poked where somebody waits for it.

use quorate_quorum::Effect;

use super::cluster::{Cluster, told};
use crate::ClassTemplate;
use crate::ProcessClass::{self, Log, Stateless, Storage};
use crate::decide::Adds;
use crate::objects::annotations;

/// No kubelet brings anything new from now on.
fn with_slow_kubelets(mut cluster: Cluster) -> Cluster {
    cluster.out_of_date = cluster.kube.pods.keys().cloned().collect();
    cluster
}

fn set_knob(cluster: &mut Cluster, class: ProcessClass, value: &str) {
    let parameters = vec![("knob_max_trace_lines".to_owned(), value.to_owned())];
    cluster.desired.templates.insert(class, ClassTemplate { parameters, ..ClassTemplate::default() });
}

fn poked(done: &[String]) -> Vec<&str> {
    done.iter().filter_map(|step| step.strip_prefix("poke pod ")).collect()
}

/// A cluster whose pods run, with the connection string in the ConfigMap and in no pod.
fn about_to_be_born(counts: &[(ProcessClass, u32)]) -> Cluster {
    let mut cluster = Cluster::new(counts);
    cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("create pod")));
    cluster.pass(1);
    let mut cluster = with_slow_kubelets(cluster);
    cluster.until(|decision| told(decision).contains(&"write the ConfigMap".to_owned()));
    cluster
}

#[test]
fn a_birth_does_not_wait_for_kubelets_to_come_by() {
    let mut cluster = about_to_be_born(&[(Storage, 3), (Log, 2)]);
    let done = cluster.rounds(3);
    assert_eq!(done, ["log-1", "log-2", "storage-3", "storage-4", "storage-5"].map(|id| format!("poke pod sample-{id}")));
    // The kubelets come, and there is nothing more to write on pods.
    cluster.out_of_date.clear();
    assert!(poked(&cluster.rounds(20)).is_empty());
    assert!(cluster.kube.recorded.configured);
}

#[test]
fn a_large_birth_costs_no_write_per_pod() {
    let mut cluster = about_to_be_born(&[(Storage, 40), (Log, 8), (Stateless, 3)]);
    assert!(poked(&cluster.rounds(3)).is_empty());
}

#[test]
fn a_restart_is_hastened_once_for_each_content() {
    let mut cluster = with_slow_kubelets(Cluster::usual());
    set_knob(&mut cluster, Storage, "1");
    let done = cluster.rounds(10);
    let storage: Vec<String> = (8..12).map(|number| format!("sample-storage-{number}")).collect();
    let mut expected: Vec<&str> = storage.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(poked(&done), expected, "those whose configuration differs, and each of them once");
    // What is written into the ConfigMap besides is of no interest to them.
    cluster.kube.config_map.as_mut().unwrap().data.insert("of-somebody-else".to_owned(), "changed".to_owned());
    assert!(poked(&cluster.rounds(5)).is_empty());
    set_knob(&mut cluster, Storage, "2");
    assert_eq!(poked(&cluster.rounds(5)).len(), 4, "for something new they are poked again");
}

#[test]
fn nobody_is_poked_for_whom_nobody_waits() {
    let knob = |change: fn(&mut Cluster)| {
        let mut cluster = with_slow_kubelets(Cluster::usual());
        set_knob(&mut cluster, Stateless, "1");
        change(&mut cluster);
        poked(&cluster.rounds(3)).len()
    };
    assert_eq!(knob(|_| {}), 3);
    assert_eq!(knob(|cluster| cluster.desired.automation.kill_processes = false), 0);
    // Pods that are to be made again get their files then.
    assert_eq!(knob(|cluster| cluster.desired.image = "fdb:another".to_owned()), 0);
    assert_eq!(knob(|cluster| cluster.desired.remove.extend(["stateless-5".to_owned()])), 2);
    assert_eq!(knob(|cluster| cluster.pod("stateless-5").deleted_since = Some(cluster.now)), 2);
    assert_eq!(knob(|cluster| cluster.pod("stateless-6").owner = Some("somebody else".to_owned())), 2);
}

#[test]
fn a_poke_is_for_the_pod_that_was_seen() {
    let mut cluster = with_slow_kubelets(Cluster::usual());
    set_knob(&mut cluster, Stateless, "1");
    cluster.round(5);
    let decision = cluster.decided();
    let uid = &cluster.kube.pods["sample-stateless-5"].uid;
    let poke = decision.steps.iter().find(|step| step.guard.object.as_ref().is_some_and(|object| object.uid == *uid)).unwrap();
    // Monitors read it as a number, and complain of anything else.
    let Effect::Adds(Adds::PodTags { tags, .. }) = &poke.effect else { panic!("{poke:?}") };
    assert_eq!(tags.annotations[annotations::OUTDATED_SEEN], Some(cluster.now.as_second().to_string()));
    assert_eq!(tags.annotations[annotations::CURRENT_NODE], cluster.kube.pods["sample-stateless-5"].node);
}
