//! Exclusions: by address or by locality, as they were written.

use super::policy::Localities;

/// How an exclusion by locality begins.
const LOCALITY: &str = "locality_";

/// What is excluded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exclusion {
    /// `ip` or `ip:port`.
    Address(String),
    /// `locality_<key>:<value>`, with the place of the colon: every process is held against it again and again.
    Locality { target: String, colon: Option<usize> },
}

impl Exclusion {
    /// By address.
    pub(super) fn address(target: &str) -> Self {
        Self::Address(target.to_owned())
    }

    /// By locality.
    pub(super) fn locality(target: &str) -> Self {
        let colon = target.strip_prefix(LOCALITY).and_then(|rest| rest.find(':')).map(|place| LOCALITY.len() + place);
        Self::Locality { target: target.to_owned(), colon }
    }

    /// What a caller wrote, if it can be an exclusion at all.
    pub(super) fn parse(target: &str) -> Option<Self> {
        if let Some(rest) = target.strip_prefix(LOCALITY) {
            return rest.contains(':').then(|| Self::locality(target));
        }
        is_address(target).then(|| Self::address(target))
    }

    /// The key below `\xff/conf/`.
    pub(super) fn key(&self) -> Vec<u8> {
        match self {
            Self::Address(target) => format!("excluded/{target}"),
            Self::Locality { target, .. } => format!("excluded_locality/{target}"),
        }
        .into_bytes()
    }

    /// Whether a process at this address (without `:tls`) with these localities is meant.
    pub(super) fn covers(&self, address: &str, localities: &Localities) -> bool {
        match self {
            Self::Address(target) => target == address || target == host(address),
            Self::Locality { target, colon: Some(colon) } => {
                localities.get(&target[LOCALITY.len()..*colon]).is_some_and(|here| *here == target[colon + 1..])
            }
            Self::Locality { colon: None, .. } => false,
        }
    }
}

/// The address without `:tls`.
pub(super) fn bare(address: &str) -> &str {
    address.strip_suffix(":tls").unwrap_or(address)
}

/// The host of `host:port`.
pub(super) fn host(address: &str) -> &str {
    let host = bare(address).rsplit_once(':').map_or(address, |(host, _)| host);
    // The brackets of an address of version 6 belong to its port.
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Whether this is `ip` or `ip:port`.
pub(super) fn is_address(text: &str) -> bool {
    text.parse::<std::net::SocketAddr>().is_ok() || text.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ip_covers_every_port_and_a_locality_every_address() {
        let localities = [("instance_id".to_owned(), "storage-1".to_owned())].into();
        assert!(Exclusion::address("10.0.0.1").covers("10.0.0.1:4501", &localities));
        assert!(!Exclusion::address("10.0.0.1:4500").covers("10.0.0.1:4501", &localities));
        assert!(!Exclusion::address("10.0.0.1").covers("10.0.0.11:4501", &localities));
        assert!(Exclusion::locality("locality_instance_id:storage-1").covers("10.0.0.1:4501", &localities));
        assert!(!Exclusion::locality("locality_instance_id:storage-11").covers("10.0.0.1:4501", &localities));
    }

    #[test]
    fn what_is_no_address_is_no_exclusion() {
        assert_eq!(Exclusion::parse("foo"), None);
        assert_eq!(Exclusion::parse("locality_x"), None);
        assert!(Exclusion::parse("10.0.0.1:4501").is_some());
    }
}
