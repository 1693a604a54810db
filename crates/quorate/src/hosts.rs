//! The hosts that a forecast may use: those that pods of a cluster can go to, by what the nodes of a live Kubernetes say.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use quorate_foundationdb::forecast::Hosts;
use quorate_foundationdb::{Desired, ProcessGroup, ProcessGroupId, Zone, objects};
use quorate_world::scheduler;

/// What is known of the nodes there are.
#[derive(Debug)]
pub(crate) enum Nodes {
    /// Nobody was asked.
    Unasked,
    /// They may not be listed.
    Forbidden,
    /// These.
    Listed(Vec<Node>),
}

impl Nodes {
    /// The hosts for a cluster: one for each value of the label that keeps its pods apart.
    pub(crate) fn hosts_for(&self, wish: &Desired) -> Hosts {
        let (Self::Listed(nodes), Zone::Node { label, value_from }) = (self, &wish.topology.zone) else { return Hosts::Enough };
        let mut zones: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for node in nodes.iter().filter(|node| is_ready(node) && takes_pods_of(node, wish)) {
            let name = node.name_any();
            let value =
                node.labels().get(label).map_or_else(|| node.metadata.name.as_deref().unwrap_or_default(), String::as_str);
            zones.entry(value).or_default().insert(name);
        }
        // The database knows a zone by the name of a node, unless the pods are told another.
        let named = value_from.as_ref().is_some_and(|from| from.starts_with('$'));
        let name = |(value, nodes): (&str, BTreeSet<String>)| {
            nodes.into_iter().next().filter(|_| !named).unwrap_or_else(|| value.to_owned())
        };
        Hosts::Known(zones.into_iter().map(name).collect())
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Whether the pods of some class may go to a node.
fn takes_pods_of(node: &Node, wish: &Desired) -> bool {
    wish.counts.keys().any(|class| {
        let id = ProcessGroupId::new(wish.prefix.as_deref(), *class, 0);
        scheduler::takes(&objects::pod(wish, &id, &ProcessGroup::new(*class), None), node)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_operator::checked_wish;
    use serde_json::{Value, json};

    fn wish(spec: &Value) -> Desired {
        let object = json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
            "metadata": {"name": "sample", "namespace": "default", "uid": "6f1c"}, "spec": spec,
        });
        checked_wish(&serde_json::from_value(object).unwrap())
    }

    fn node(name: &str, zone: &str, ready: &str, spec: &Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}},
            "spec": spec, "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    fn nodes() -> Nodes {
        let tainted = json!({"taints": [{"key": "dedicated", "value": "fdb", "effect": "NoSchedule"}]});
        Nodes::Listed(vec![
            node("a1", "a", "True", &json!({})),
            node("a2", "a", "True", &json!({})),
            node("b1", "b", "True", &tainted),
            node("c1", "c", "True", &json!({"unschedulable": true})),
            node("d1", "d", "Unknown", &json!({})),
        ])
    }

    fn known(hosts: &[&str]) -> Hosts {
        Hosts::Known(hosts.iter().map(|host| (*host).to_owned()).collect())
    }

    #[test]
    fn hosts_are_nodes_that_are_ready_and_take_the_pods() {
        assert_eq!(nodes().hosts_for(&wish(&json!({"version": "7.3.69"}))), known(&["a1", "a2"]));
        let tolerant = json!({"spec": {"containers": [], "tolerations": [{"key": "dedicated", "operator": "Exists"}]}});
        let tolerant = json!({"version": "7.3.69", "processes": {"general": {"podTemplate": tolerant}}});
        assert_eq!(nodes().hosts_for(&wish(&tolerant)), known(&["a1", "a2", "b1"]));
    }

    #[test]
    fn nodes_of_one_zone_are_one_host() {
        let by_zone = |more: Value| {
            let mut domain = json!({"key": "topology.kubernetes.io/zone"});
            domain.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            wish(&json!({"version": "7.3.69", "faultDomain": domain}))
        };
        assert_eq!(nodes().hosts_for(&by_zone(json!({}))), known(&["a1"]));
        let named = json!({"valueFrom": "$NODE_LABEL_TOPOLOGY_KUBERNETES_IO_ZONE"});
        assert_eq!(nodes().hosts_for(&by_zone(named)), known(&["a"]));
    }

    #[test]
    fn where_nodes_are_not_known_or_are_no_zones_there_are_enough() {
        let wish_of_pods = wish(&json!({"version": "7.3.69", "faultDomain": {"key": "foundationdb.org/none"}}));
        assert_eq!(nodes().hosts_for(&wish_of_pods), Hosts::Enough);
        for nodes in [Nodes::Unasked, Nodes::Forbidden] {
            assert_eq!(nodes.hosts_for(&wish(&json!({"version": "7.3.69"}))), Hosts::Enough);
        }
    }
}
