//! The addresses of pods and nodes.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::view::ClusterView;

/// 198.18.0.0/16 is set aside for tests of networks: it is no loopback, and nobody is there.
const PODS: u32 = u32::from_be_bytes([198, 18, 0, 0]);
/// 198.19.0.0/16, for the same reason.
const NODES: u32 = u32::from_be_bytes([198, 19, 0, 0]);
/// The first and the last address of a network belong to nobody.
const USABLE: u32 = (1 << 16) - 2;

/// The addresses of the pods in the API.
pub(super) struct Addresses(BTreeSet<String>);

impl Addresses {
    pub(super) fn in_use(view: &ClusterView<'_>) -> Self {
        let statuses = view.pods.values().filter_map(|pod| pod.status.as_ref());
        Self(statuses.filter_map(|status| status.pod_ip.clone()).collect())
    }

    /// A free address for a pod: where its uid points to, or the next free one.
    pub(super) fn take(&mut self, uid: &str) -> String {
        let start = digest(uid) % USABLE;
        let candidates = (0..USABLE).map(|step| address(PODS, (start + step) % USABLE));
        let free = candidates.into_iter().find(|address| !self.0.contains(address));
        let taken = free.unwrap_or_else(|| address(PODS, start));
        self.0.insert(taken.clone());
        taken
    }
}

/// The address of a node, by its name.
pub(super) fn of_node(name: &str) -> String {
    address(NODES, digest(name) % USABLE)
}

fn address(network: u32, host: u32) -> String {
    Ipv4Addr::from(network + 1 + host).to_string()
}

/// FNV-1a: the same on every machine and in every version, which the standard library's hashes do not promise.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_use_is_not_given_again() {
        let mut addresses = Addresses(BTreeSet::new());
        let given: BTreeSet<_> = (0..2000).map(|number| addresses.take(&format!("uid-{}", number % 7))).collect();
        assert_eq!(given.len(), 2000);
        assert!(given.iter().all(|address| address.starts_with("198.18.")));
    }

    #[test]
    fn a_pod_gets_the_same_address_in_every_run() {
        let take = || Addresses(BTreeSet::new()).take("0d5b6c1e");
        assert_eq!(take(), take());
    }
}
