//! The names by which pods know each other.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::Pod;

/// Every name of every pod that has a host name and a subdomain, as a cluster's name service gives them.
pub(super) fn names<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> BTreeMap<String, Ipv4Addr> {
    pods.into_iter().flat_map(|pod| names_of(pod).unwrap_or_default()).collect()
}

/// The address of a pod.
pub(super) fn address(pod: &Pod) -> Option<Ipv4Addr> {
    pod.status.as_ref()?.pod_ip.as_ref()?.parse().ok()
}

fn names_of(pod: &Pod) -> Option<Vec<(String, Ipv4Addr)>> {
    let spec = pod.spec.as_ref()?;
    let (host, subdomain, namespace) = (spec.hostname.as_ref()?, spec.subdomain.as_ref()?, pod.metadata.namespace.as_ref()?);
    let address = address(pod)?;
    let full = format!("{host}.{subdomain}.{namespace}.svc");
    Some(vec![(format!("{full}.cluster.local"), address), (full, address), (format!("{host}.{subdomain}"), address)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_with_a_subdomain_is_known_by_its_names() {
        let pod: Pod = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "sample-log-1", "namespace": "tests"},
            "spec": {"hostname": "sample-log-1", "subdomain": "sample", "containers": []},
            "status": {"podIP": "198.18.0.7"},
        }))
        .unwrap();
        let names = names([&pod, &Pod::default()]);
        let known: Vec<&str> = names.keys().map(String::as_str).collect();
        assert_eq!(
            known,
            ["sample-log-1.sample", "sample-log-1.sample.tests.svc", "sample-log-1.sample.tests.svc.cluster.local"]
        );
        assert!(names.values().all(|address| *address == Ipv4Addr::new(198, 18, 0, 7)));
    }
}
