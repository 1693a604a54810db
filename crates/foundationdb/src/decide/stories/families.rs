//! Another family of addresses in a living cluster.

use super::cluster::{Cluster, told};
use crate::objects::has_names;

fn is_named(cluster: &Cluster) -> bool {
    has_names(&cluster.database.connection)
}

#[test]
fn coordinators_are_written_by_address_before_names_lead_elsewhere() {
    let mut cluster = Cluster::usual();
    cluster.desired.routing.family = Some(6);
    let pods = cluster.kube.pods.clone();
    let decision = cluster.round(5);
    let done = told(&decision);
    assert!(done.iter().any(|step| step.starts_with("coordinators ")), "{done:?}");
    assert!(!is_named(&cluster) && cluster.marked().is_empty() && cluster.kube.pods == pods);
    assert_eq!(cluster.kube.services["sample"].families, ["IPv4"]);

    // Nobody is known by a name any more, so the service may go; it can't change.
    let deleted = cluster.until(|decision| told(decision).contains(&"delete service sample".to_owned()));
    assert!(deleted.steps.iter().any(|step| step.guard.object.as_ref().is_some_and(|object| object.uid == "uid-sample")));
    assert!(told(&cluster.round(5)).contains(&"create service sample".to_owned()));
    assert_eq!(cluster.kube.services["sample"].families, ["IPv6"]);
    // Some still listen where names do not lead any more.
    cluster.rounds(3);
    assert!(!is_named(&cluster));
}

#[test]
fn the_family_that_is_used_already_may_be_asked_for_by_its_name() {
    let mut cluster = Cluster::usual();
    cluster.desired.routing.family = Some(4);
    let done = cluster.rounds(200);
    assert!(!done.iter().any(|step| step.contains("service")), "{done:?}");
    assert!(is_named(&cluster));
    assert!(cluster.kube.pods.values().all(|pod| pod.family == Some(4)));
}

#[test]
fn while_a_coordinator_is_known_by_its_name_that_leads_to_it() {
    let mut cluster = Cluster::usual();
    cluster.desired.routing.family = Some(6);
    // A change of coordinators is not to be had now.
    cluster.spoil(|report| report.recovery.as_mut().unwrap().active_generations = Some(100));
    let pods = cluster.kube.pods.clone();
    let done = cluster.rounds(60);
    assert!(is_named(&cluster) && cluster.kube.pods == pods, "{done:?}");
    assert!(cluster.kube.services["sample"].families == ["IPv4"] && cluster.marked().is_empty());
}

#[test]
fn who_is_known_by_the_address_of_a_service_is_replaced_with_it() {
    let mut cluster = Cluster::new(&[(crate::ProcessClass::Storage, 4), (crate::ProcessClass::Log, 4)]);
    cluster.desired.routing.service_per_pod = true;
    cluster.desired.routing.dns_in_cluster_file = false;
    cluster.desired.automation.pod_update = crate::PodUpdate::Delete;
    let mut cluster = cluster.settled();
    cluster.desired.routing.family = Some(6);
    let done = told(&cluster.round(5));
    assert!(done.iter().all(|step| !step.starts_with("delete service sample-") && !step.starts_with("delete pod")), "{done:?}");
    assert_eq!(cluster.marked().len(), 8);
}
