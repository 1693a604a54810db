//! Properties of the scheduler: it never breaks a required rule, refuses only when every node breaks one, and does not depend on
//! the order of what it is shown.
//!
//! The checker below knows nothing of Kubernetes' objects: it works on the few words from which they are made.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use quorate_world::ClusterView;
use quorate_world::scheduler::{Placement, place};
use serde_json::{Value, json};

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

#[derive(Clone, Debug)]
struct Host {
    zone: Option<&'static str>,
    cordoned: bool,
    dedicated: bool,
    cpus: i64,
}

/// Who is meant by a rule, and how near is near.
#[derive(Clone, Copy, Debug)]
struct Rule {
    by: &'static str,
    class: &'static str,
}

#[derive(Clone, Debug)]
struct Process {
    class: &'static str,
    cpus: i64,
    tolerates: bool,
    zones: Vec<&'static str>,
    volume_in: Option<&'static str>,
    with: Option<Rule>,
    without: Option<Rule>,
    /// At most this many more of its class than in the emptiest zone.
    skew: Option<i64>,
}

#[derive(Clone, Debug)]
struct World {
    hosts: Vec<Host>,
    running: Vec<(usize, Process)>,
    new: Process,
}

fn host() -> impl Strategy<Value = Host> {
    (select(vec![None, Some("a"), Some("b"), Some("c")]), prop::bool::weighted(0.2), prop::bool::weighted(0.2), 1..4i64)
        .prop_map(|(zone, cordoned, dedicated, cpus)| Host { zone, cordoned, dedicated, cpus })
}

fn rule() -> impl Strategy<Value = Rule> {
    (select(vec![HOST, ZONE]), select(vec!["log", "storage"])).prop_map(|(by, class)| Rule { by, class })
}

fn process() -> impl Strategy<Value = Process> {
    (
        select(vec!["log", "storage"]),
        0..3i64,
        any::<bool>(),
        prop::collection::vec(select(vec!["a", "b", "c"]), 0..3),
        prop::option::weighted(0.3, select(vec!["a", "b", "c"])),
        prop::option::weighted(0.3, rule()),
        prop::option::weighted(0.6, rule()),
        prop::option::weighted(0.4, 1..3i64),
    )
        .prop_map(|(class, cpus, tolerates, zones, volume_in, with, without, skew)| Process {
            class,
            cpus,
            tolerates,
            zones,
            volume_in,
            with,
            without,
            skew,
        })
}

fn world() -> impl Strategy<Value = World> {
    (prop::collection::vec(host(), 1..6), prop::collection::vec((any::<Index>(), process()), 0..6), process()).prop_map(
        |(hosts, running, new)| {
            let running = running.into_iter().map(|(on, process)| (on.index(hosts.len()), process)).collect();
            World { hosts, running, new }
        },
    )
}

impl World {
    /// Where a host is, for a rule.
    fn place(&self, host: usize, by: &str) -> Option<String> {
        if by == HOST { Some(host.to_string()) } else { self.hosts[host].zone.map(str::to_owned) }
    }

    fn are_near(&self, one: usize, other: usize, by: &str) -> bool {
        self.place(one, by).is_some_and(|place| Some(place) == self.place(other, by))
    }

    /// Whether a host breaks no required rule: the definition, word by word.
    fn admits(&self, host: usize) -> bool {
        let Host { zone, cordoned, dedicated, cpus } = self.hosts[host];
        let new = &self.new;
        let used: i64 = self.running.iter().filter(|(on, _)| *on == host).map(|(_, process)| process.cpus).sum();
        let room = new.cpus == 0 || used + new.cpus <= cpus;
        let asked_for = new.zones.is_empty() || zone.is_some_and(|zone| new.zones.contains(&zone));
        let reaches = new.volume_in.is_none_or(|volume| zone == Some(volume));
        let tolerated = !cordoned && (!dedicated || new.tolerates);
        let company = new.with.is_none_or(|rule| {
            let wanted: Vec<_> = self
                .running
                .iter()
                .filter(|(on, process)| process.class == rule.class && self.place(*on, rule.by).is_some())
                .collect();
            let first = wanted.is_empty() && new.class == rule.class;
            self.place(host, rule.by).is_some() && (first || wanted.iter().any(|(on, _)| self.are_near(*on, host, rule.by)))
        });
        let apart = self.running.iter().all(|(on, process)| {
            let unwanted = new.without.is_some_and(|rule| process.class == rule.class && self.are_near(*on, host, rule.by));
            let closed = process.without.is_some_and(|rule| new.class == rule.class && self.are_near(*on, host, rule.by));
            !unwanted && !closed
        });
        tolerated && room && asked_for && reaches && company && apart && self.is_even(host)
    }

    /// Only zones the new process may be in are compared.
    fn is_even(&self, host: usize) -> bool {
        let Some(skew) = self.new.skew else { return true };
        let Some(zone) = self.hosts[host].zone else { return false };
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        for (index, other) in self.hosts.iter().enumerate() {
            let Some(zone) = other.zone.filter(|zone| self.new.zones.is_empty() || self.new.zones.contains(zone)) else {
                continue;
            };
            let here = self.running.iter().filter(|(on, process)| *on == index && process.class == self.new.class).count();
            *counts.entry(zone).or_default() += i64::try_from(here).unwrap();
        }
        counts[zone] + 1 - counts.values().min().unwrap() <= skew
    }

    fn nodes(&self) -> Vec<Node> {
        let node = |(index, host): (usize, &Host)| {
            let mut labels = BTreeMap::from([(HOST, index.to_string())]);
            labels.extend(host.zone.map(|zone| (ZONE, zone.to_owned())));
            let taints = if host.dedicated { json!([{"key": "dedicated", "effect": "NoSchedule"}]) } else { json!([]) };
            object(json!({
                "metadata": {"name": format!("node-{index}"), "labels": labels},
                "spec": {"unschedulable": host.cordoned, "taints": taints},
                "status": {"allocatable": {"cpu": host.cpus.to_string(), "memory": "16Gi", "pods": "100"}},
            }))
        };
        self.hosts.iter().enumerate().map(node).collect()
    }

    fn pods(&self) -> Vec<Pod> {
        let bound = |(number, (on, process)): (usize, &(usize, Process))| {
            let mut pod = process.pod(&format!("running-{number}"));
            pod.spec.as_mut().unwrap().node_name = Some(format!("node-{on}"));
            pod
        };
        self.running.iter().enumerate().map(bound).collect()
    }

    fn volumes(&self) -> (Vec<PersistentVolumeClaim>, Vec<PersistentVolume>) {
        let Some(zone) = self.new.volume_in else { return (Vec::new(), Vec::new()) };
        let claim = object(json!({
            "metadata": {"namespace": "test", "name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": "volume"},
        }));
        let expression = json!({"key": ZONE, "operator": "In", "values": [zone]});
        let volume = object(json!({
            "metadata": {"name": "volume"},
            "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}},
        }));
        (vec![claim], vec![volume])
    }
}

impl Rule {
    fn term(self) -> Value {
        json!({"topologyKey": self.by, "labelSelector": {"matchLabels": {"class": self.class}}})
    }
}

impl Process {
    fn pod(&self, name: &str) -> Pod {
        let required = |rule: Option<Rule>| json!({"requiredDuringSchedulingIgnoredDuringExecution": rule.iter().map(|rule| rule.term()).collect::<Vec<_>>()});
        let expression = json!({"key": ZONE, "operator": "In", "values": self.zones});
        let zones = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}});
        let spread = self.skew.map(|skew| {
            json!({"topologyKey": ZONE, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"class": self.class}}})
        });
        object(json!({
            "metadata": {"namespace": "test", "name": name, "labels": {"class": self.class}},
            "spec": {
                "containers": [{"name": "main", "resources": {"requests": {"cpu": self.cpus.to_string()}}}],
                "tolerations": if self.tolerates { json!([{"key": "dedicated", "operator": "Exists"}]) } else { json!([]) },
                "volumes": self.volume_in.iter().map(|_| json!({"name": "data", "persistentVolumeClaim": {"claimName": "data"}})).collect::<Vec<_>>(),
                "topologySpreadConstraints": spread.into_iter().collect::<Vec<_>>(),
                "affinity": {
                    "podAffinity": required(self.with),
                    "podAntiAffinity": required(self.without),
                    "nodeAffinity": if self.zones.is_empty() { json!({}) } else { zones },
                },
            },
        }))
    }
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pod_goes_only_where_every_rule_holds_and_waits_only_when_there_is_no_such_place(world in world()) {
        let (nodes, pods, (claims, volumes)) = (world.nodes(), world.pods(), world.volumes());
        let view = ClusterView::default().with_nodes(&nodes).with_pods(&pods).with_claims(&claims).with_volumes(&volumes);
        let admitting: Vec<_> = (0..world.hosts.len()).filter(|host| world.admits(*host)).map(|host| format!("node-{host}")).collect();
        match place(&world.new.pod("new"), &view) {
            Placement::On(node) => prop_assert!(admitting.contains(&node), "{node} breaks a rule; these do not: {admitting:?}"),
            Placement::Unschedulable { message, .. } => prop_assert!(admitting.is_empty(), "{admitting:?} would do, but: {message}"),
        }
    }

    #[test]
    fn the_order_of_what_is_listed_does_not_matter(world in world(), seed in any::<Index>()) {
        let (mut nodes, mut pods, (claims, volumes)) = (world.nodes(), world.pods(), world.volumes());
        let new = world.new.pod("new");
        let placement = |nodes: &[Node], pods: &[Pod]| {
            place(&new, &ClusterView::default().with_nodes(nodes).with_pods(pods).with_claims(&claims).with_volumes(&volumes))
        };
        let first = placement(&nodes, &pods);
        let (by_nodes, by_pods) = (seed.index(nodes.len()), seed.index(pods.len() + 1));
        nodes.rotate_left(by_nodes);
        pods.rotate_left(by_pods);
        nodes.reverse();
        prop_assert_eq!(placement(&nodes, &pods), first);
    }
}
