//! Which fdbserver a monitor takes for a version.

use k8s_openapi::api::core::v1::{Container, Pod};
use quorate_foundationdb::Version;

use super::{SIDECAR, container};

/// The folder of the container's own fdbserver.
const OWN: &str = "/usr/bin";
/// The folder with those of other versions, one folder for each.
const SHARED: &str = "/var/fdb/shared-binaries/bin";

/// An fdbserver that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// Its folder.
    pub folder: String,
    /// Its version.
    pub version: Version,
}

impl Binary {
    /// The fdbserver for a version: the container's own if it speaks the same protocol, even if it is of another patch version;
    /// otherwise the one that the sidecar has put there. None if it has not.
    pub fn find(pod: &Pod, main: &Container, wanted: Version) -> Option<Self> {
        let own = version_of(main).unwrap_or(wanted);
        if own.speaks_with(wanted) {
            return Some(Self { folder: OWN.to_owned(), version: own });
        }
        let offered = container(pod, SIDECAR).and_then(version_of);
        offered.filter(|offered| *offered == wanted).map(|version| Self { folder: format!("{SHARED}/{version}"), version })
    }

    /// Its whole path.
    pub fn path(&self) -> String {
        format!("{}/fdbserver", self.folder)
    }
}

/// The version in the tag of an image.
fn version_of(container: &Container) -> Option<Version> {
    let (_, tag) = container.image.as_ref()?.rsplit_once(':')?;
    tag.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(sidecar: &str, wanted: &str) -> Option<(String, String)> {
        let image = |version: &str| format!("foundationdb/fdb-kubernetes-monitor:{version}");
        let pod: Pod = serde_json::from_value(json!({"spec": {"containers": [
            {"name": "foundationdb", "image": image("7.1.57")},
            {"name": "foundationdb-kubernetes-sidecar", "image": image(sidecar)},
        ]}}))
        .unwrap();
        let main = super::super::main_container(&pod).unwrap();
        let binary = Binary::find(&pod, main, wanted.parse().unwrap())?;
        Some((binary.path(), binary.version.to_string()))
    }

    #[test]
    fn the_own_one_is_taken_within_a_protocol_and_the_sidecars_beyond() {
        let own = Some(("/usr/bin/fdbserver".to_owned(), "7.1.57".to_owned()));
        assert_eq!(found("7.1.57", "7.1.57"), own);
        assert_eq!(found("7.1.61", "7.1.61"), own);
        assert_eq!(found("7.1.57", "7.3.69"), None);
        assert_eq!(
            found("7.3.69", "7.3.69"),
            Some(("/var/fdb/shared-binaries/bin/7.3.69/fdbserver".to_owned(), "7.3.69".to_owned()))
        );
    }
}
