//! Room: what pods ask for, what a node has, and what is left.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::messages::Reason;
use crate::quantity::Amount;
use crate::view::{ClusterView, name};

/// How much of each resource, in the unit the scheduler counts it in: thousandths of a CPU, whole bytes, whole devices.
type Counts = BTreeMap<String, i64>;

/// What a container without a request counts for when nodes are compared, so that such pods still spread.
const ASSUMED: [(&str, Amount); 2] = [("cpu", Amount::thousandths(100)), ("memory", Amount::units(200 << 20))];

/// Which resources the scheduler compares nodes by.
const COMPARED: [&str; 2] = ["cpu", "memory"];

/// Why a pod does not fit on a node; there may be several reasons.
pub(super) fn reject(pod: &Pod, node: &Node, view: &ClusterView<'_>) -> Vec<Reason> {
    let room = allocatable(node);
    let (mut used, mut pods) = (Counts::new(), 0);
    for placed in view.pods_on(name(&node.metadata)) {
        add(&mut used, &requests(placed, Missing::Nothing));
        pods += 1;
    }
    let full = (pods >= room.get("pods").copied().unwrap_or_default()).then_some(Reason::TooManyPods);
    let short = requests(pod, Missing::Nothing).into_iter().filter_map(|(resource, asked)| {
        let has = room.get(&resource).copied().unwrap_or_default();
        let left = has - used.get(&resource).copied().unwrap_or_default();
        (asked > 0 && asked > left).then_some(Reason::Insufficient { resource, never: asked > has })
    });
    full.into_iter().chain(short).collect()
}

/// How much of a node stays free with the pod on it, out of 100.
pub(super) fn room_left(pod: &Pod, node: &Node, view: &ClusterView<'_>) -> i64 {
    let shares = shares(pod, node, view, Missing::Assumed);
    let scores = shares.iter().map(|(used, has)| if used > has { 0 } else { (has - used) * 100 / has });
    let compared = i64::try_from(shares.len()).unwrap_or(i64::MAX);
    scores.sum::<i64>().checked_div(compared).unwrap_or_default()
}

/// How evenly the pod would leave CPU and memory of a node used, out of 100. Nothing to say of a pod that asks for neither.
pub(super) fn balance(pod: &Pod, node: &Node, view: &ClusterView<'_>) -> i64 {
    let asked = requests(pod, Missing::Nothing);
    if COMPARED.iter().all(|resource| asked.get(*resource).copied().unwrap_or_default() == 0) {
        return 0;
    }
    let shares = shares(pod, node, view, Missing::Nothing);
    let [(cpu_used, cpu), (memory_used, memory)] = shares.as_slice() else { return 100 };
    let deviation = (fraction(*cpu_used, *cpu) - fraction(*memory_used, *memory)).abs() / 2.0;
    truncate((1.0 - deviation) * 100.0)
}

/// What would be used with the pod on the node, and what the node has, for each compared resource the node has any of.
fn shares(pod: &Pod, node: &Node, view: &ClusterView<'_>, missing: Missing) -> Vec<(i64, i64)> {
    let room = allocatable(node);
    let mut used = requests(pod, missing);
    for placed in view.pods_on(name(&node.metadata)) {
        add(&mut used, &requests(placed, missing));
    }
    let of = |counts: &Counts, resource: &str| counts.get(resource).copied().unwrap_or_default();
    COMPARED.iter().map(|resource| (of(&used, resource), of(&room, resource))).filter(|(_, has)| *has != 0).collect()
}

#[allow(clippy::cast_precision_loss, reason = "the real scheduler computes these shares as floating point numbers too")]
fn fraction(used: i64, has: i64) -> f64 {
    (used as f64 / has as f64).min(1.0)
}

#[allow(clippy::cast_possible_truncation, reason = "a score between 0 and 100")]
fn truncate(score: f64) -> i64 {
    score as i64
}

/// What a container without a request counts for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Nothing,
    Assumed,
}

fn allocatable(node: &Node) -> Counts {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    allocatable
        .into_iter()
        .flatten()
        .map(|(resource, quantity)| (resource.clone(), count(resource, Amount::of(quantity))))
        .collect()
}

/// What a pod asks for: the sum of its containers, or what its init containers need at one time if that is more, and its overhead.
fn requests(pod: &Pod, missing: Missing) -> Counts {
    let Some(spec) = &pod.spec else { return Counts::new() };
    let mut running = Amounts::default();
    for container in &spec.containers {
        running.add(&container_requests(container, missing));
    }
    let (mut sidecars, mut starting) = (Amounts::default(), Amounts::default());
    for container in spec.init_containers.iter().flatten() {
        let own = container_requests(container, missing);
        if container.restart_policy.as_deref() == Some("Always") {
            running.add(&own);
            sidecars.add(&own);
            starting.raise_to(&sidecars);
        } else {
            let mut at_once = own;
            at_once.add(&sidecars);
            starting.raise_to(&at_once);
        }
    }
    running.raise_to(&starting);
    let for_the_pod = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    for (resource, quantity) in for_the_pod.into_iter().flatten() {
        running.0.insert(resource.clone(), Amount::of(quantity));
    }
    running.add(&Amounts::of(spec.overhead.as_ref()));
    running.0.into_iter().map(|(resource, amount)| (resource.clone(), count(&resource, amount))).collect()
}

fn container_requests(container: &Container, missing: Missing) -> Amounts {
    let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let mut amounts = Amounts::of(requests);
    if missing == Missing::Assumed {
        for (resource, amount) in ASSUMED {
            amounts.0.entry(resource.to_owned()).or_insert(amount);
        }
    }
    amounts
}

#[derive(Default)]
struct Amounts(BTreeMap<String, Amount>);

impl Amounts {
    fn of(quantities: Option<&BTreeMap<String, Quantity>>) -> Self {
        Self(quantities.into_iter().flatten().map(|(resource, quantity)| (resource.clone(), Amount::of(quantity))).collect())
    }

    fn add(&mut self, other: &Self) {
        for (resource, amount) in &other.0 {
            *self.0.entry(resource.clone()).or_default() += *amount;
        }
    }

    fn raise_to(&mut self, other: &Self) {
        for (resource, amount) in &other.0 {
            let own = self.0.entry(resource.clone()).or_default();
            *own = (*own).max(*amount);
        }
    }
}

fn count(resource: &str, amount: Amount) -> i64 {
    if resource == "cpu" { amount.in_thousandths() } else { amount.in_units() }
}

fn add(counts: &mut Counts, more: &Counts) {
    for (resource, count) in more {
        *counts.entry(resource.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{PodSpec, ResourceRequirements};

    use super::*;

    fn container(cpu: &str, sidecar: bool) -> Container {
        Container {
            resources: Some(ResourceRequirements {
                requests: Some(BTreeMap::from([("cpu".to_owned(), Quantity(cpu.to_owned()))])),
                ..ResourceRequirements::default()
            }),
            restart_policy: sidecar.then(|| "Always".to_owned()),
            ..Container::default()
        }
    }

    fn cpu(init: Vec<Container>, containers: Vec<Container>) -> i64 {
        let spec = PodSpec { init_containers: Some(init), containers, ..PodSpec::default() };
        requests(&Pod { spec: Some(spec), ..Pod::default() }, Missing::Nothing)["cpu"]
    }

    #[test]
    fn containers_add_up_and_init_containers_do_not() {
        assert_eq!(cpu(vec![], vec![container("1", false), container("500m", false)]), 1500);
        assert_eq!(cpu(vec![container("1", false), container("3", false)], vec![container("2", false)]), 3000);
    }

    #[test]
    fn a_sidecar_runs_beside_the_containers_and_beside_later_init_containers() {
        assert_eq!(cpu(vec![container("1", true)], vec![container("2", false)]), 3000);
        assert_eq!(cpu(vec![container("1", true), container("4", false)], vec![container("2", false)]), 5000);
        assert_eq!(cpu(vec![container("4", false), container("1", true)], vec![container("2", false)]), 4000);
    }
}
