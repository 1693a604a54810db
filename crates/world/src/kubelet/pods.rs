//! The life of a pod on its node: seen, started, ready, stopped, gone.

use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{HostIP, Node, Pod, PodIP, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::addresses::{self, Addresses};
use super::changes::Change;
use super::outlook::{Outlook, earliest};
use super::settings::KubeletSettings;
use super::{conditions, containers, eviction};
use crate::scheduler::volumes::is_bound;
use crate::view::{ClusterView, is_finished, name, node_of};

/// What a pod has before it.
pub(super) fn outlook(
    now: Timestamp,
    pod: &Pod,
    addresses: &mut Addresses,
    view: &ClusterView<'_>,
    settings: &KubeletSettings,
) -> Outlook {
    let Some(on) = node_of(pod) else { return eviction::of_unplaced(pod) };
    let Some(node) = view.nodes.get(on).copied() else { return eviction::of_orphan(pod) };
    let evicted = eviction::outlook(now, pod, node, settings);
    if evicted.change.is_some() {
        return evicted;
    }
    let life = if !settings.is_reachable(on, now) {
        unheard_of(now, pod, node)
    } else if pod.metadata.deletion_timestamp.is_some() {
        stop(now, pod, settings)
    } else if is_finished(pod) {
        Outlook::rest()
    } else {
        live(now, pod, node, addresses, view, settings)
    };
    life.no_later_than(evicted.wake)
}

fn live(
    now: Timestamp,
    pod: &Pod,
    node: &Node,
    addresses: &mut Addresses,
    view: &ClusterView<'_>,
    settings: &KubeletSettings,
) -> Outlook {
    let status = pod.status.clone().unwrap_or_default();
    let Some(seen) = status.start_time.as_ref().map(|time| time.0) else { return written(pod, see(now, pod, node, status)) };
    if status.pod_ip.is_none() {
        let has_volumes = view.claims_of(pod).all(|(_, claim)| claim.is_some_and(is_bound));
        return match seen + settings.start {
            _ if !has_volumes => Outlook::rest(),
            due if now < due => Outlook::at(due),
            _ => written(pod, start(now, pod, status, addresses, settings)),
        };
    }
    run(now, pod, status, settings)
}

/// The kubelet sees the pod and begins to prepare it.
fn see(now: Timestamp, pod: &Pod, node: &Node, mut status: PodStatus) -> PodStatus {
    let Some(spec) = &pod.spec else { return status };
    let init = spec.init_containers.as_deref().unwrap_or_default();
    let waits_for = if init.is_empty() { "ContainerCreating" } else { "PodInitializing" };
    status.phase = Some("Pending".to_owned());
    status.start_time = Some(Time(now));
    let host = host_address(node);
    status.host_ips = Some(vec![HostIP { ip: host.clone() }]);
    status.host_ip = Some(host);
    status.container_statuses = Some(spec.containers.iter().map(|container| containers::waiting(container, waits_for)).collect());
    if !init.is_empty() {
        status.init_container_statuses = Some(init.iter().map(|container| containers::waiting(container, waits_for)).collect());
    }
    conditions::set(&mut status, now, "PodScheduled", true, None);
    conditions::set(&mut status, now, "Initialized", init.is_empty(), (!init.is_empty()).then_some("ContainersNotInitialized"));
    conditions::set(&mut status, now, "ContainersReady", false, Some("ContainersNotReady"));
    conditions::set(&mut status, now, "Ready", false, Some("ContainersNotReady"));
    status
}

/// All containers start, and the pod gets its address.
fn start(now: Timestamp, pod: &Pod, mut status: PodStatus, addresses: &mut Addresses, settings: &KubeletSettings) -> PodStatus {
    let on_host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or_default();
    let host = status.host_ip.clone().filter(|_| on_host);
    let address = host.unwrap_or_else(|| addresses.take(pod.metadata.uid.as_deref().unwrap_or(name(&pod.metadata))));
    let second = settings.dual_stack.then(|| address.parse().ok().map(of_the_other_family)).flatten();
    status.pod_ips = Some([address.clone()].into_iter().chain(second).map(|ip| PodIP { ip }).collect());
    status.pod_ip = Some(address);
    status.phase = Some("Running".to_owned());
    let specs = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    for (init, spec) in status.init_container_statuses.iter_mut().flatten().zip(specs) {
        if spec.restart_policy.as_deref() == Some("Always") {
            containers::start(init, now);
        } else {
            containers::complete(init, now);
        }
    }
    status.container_statuses.iter_mut().flatten().for_each(|container| containers::start(container, now));
    conditions::set(&mut status, now, "Initialized", true, None);
    status
}

fn of_the_other_family(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets().map(u16::from);
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, a << 8 | b, c << 8 | d).to_string()
}

/// The containers run, become ready, crash and start again.
fn run(now: Timestamp, pod: &Pod, mut status: PodStatus, settings: &KubeletSettings) -> Outlook {
    let mut wake = None;
    for container in status.container_statuses.iter_mut().flatten() {
        wake = earliest(wake, containers::advance(container, now, pod, settings));
    }
    let containers = status.container_statuses.as_deref().unwrap_or_default();
    let ready = containers.iter().all(|container| container.ready);
    let ended: Vec<_> = containers.iter().map_while(containers::terminated).collect();
    if ended.len() == containers.len() {
        let failed = ended.iter().any(|end| end.exit_code != 0);
        status.phase = Some(if failed { "Failed" } else { "Succeeded" }.to_owned());
    }
    let reason = (!ready).then_some("ContainersNotReady");
    conditions::set(&mut status, now, "ContainersReady", ready, reason);
    conditions::set(&mut status, now, "Ready", ready, reason);
    if pod.status.as_ref() == Some(&status) { Outlook::rest() } else { written(pod, status) }.no_later_than(wake)
}

/// The pod is asked to go: its containers stop in their own time, at the latest when the grace period ends.
fn stop(now: Timestamp, pod: &Pod, settings: &KubeletSettings) -> Outlook {
    let Some(deadline) = pod.metadata.deletion_timestamp.as_ref().map(|time| time.0) else { return Outlook::rest() };
    let mut status = pod.status.clone().unwrap_or_default();
    let grace = SignedDuration::from_secs(pod.metadata.deletion_grace_period_seconds.unwrap_or_default());
    let runs =
        status.pod_ip.is_some() && status.container_statuses.iter().flatten().any(|one| containers::terminated(one).is_none());
    if !runs {
        return eviction::at_once(pod);
    }
    let stopped = (deadline - grace) + settings.stop;
    let due = stopped.min(deadline);
    if now < due {
        return Outlook::at(due);
    }
    let killed = stopped > deadline;
    status.container_statuses.iter_mut().flatten().for_each(|container| containers::stop(container, now, killed));
    status.phase = Some(if killed { "Failed" } else { "Succeeded" }.to_owned());
    conditions::set(&mut status, now, "ContainersReady", false, Some("PodCompleted"));
    conditions::set(&mut status, now, "Ready", false, Some("PodCompleted"));
    written(pod, status)
}

/// The node is lost: once that is known, its pods are not ready. Nothing else is known of them.
fn unheard_of(now: Timestamp, pod: &Pod, node: &Node) -> Outlook {
    if conditions::node_is_ready(node) || !conditions::is_true(pod, "Ready") {
        return Outlook::rest();
    }
    let mut status = pod.status.clone().unwrap_or_default();
    conditions::set(&mut status, now, "Ready", false, Some("NodeStatusUnknown"));
    written(pod, status)
}

fn host_address(node: &Node) -> String {
    let listed = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    let internal = listed.iter().find(|address| address.type_ == "InternalIP").map(|address| address.address.clone());
    internal.unwrap_or_else(|| addresses::of_node(name(&node.metadata)))
}

fn written(pod: &Pod, status: PodStatus) -> Outlook {
    Outlook::now(Change::PodStatus(Box::new(Pod { status: Some(status), ..pod.clone() })))
}
