//! The two containers: the main one runs fdbserver under the monitor, the sidecar brings fdbserver of another version when one is needed.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::volumes::{BINARIES, CONFIG_MAP, DATA, LOGS, mount};
use super::{INIT_CONTAINER, MAIN_CONTAINER, SIDECAR_CONTAINER, environment};
use crate::{Desired, ProcessClass, ProcessGroupId};

/// Followed by how many servers the monitor runs.
pub(super) const PROCESS_COUNT: &str = "--process-count";
const MONITOR_LOG: &str = "/var/log/fdb-trace-logs/monitor.log";
/// No program has this name, so that a container told to run it never starts.
const CRASH_LOOP: &str = "crash-loop";

/// Completes the template's containers: the main one comes first and the sidecar last, unless the template places them itself.
pub(super) fn complete(spec: &mut PodSpec, desired: &Desired, class: ProcessClass, group: &ProcessGroupId, domain: Option<&str>) {
    if let Some(containers) = &mut spec.init_containers {
        containers.retain(|container| container.name != INIT_CONTAINER);
    }
    let containers = &mut spec.containers;
    let has = |containers: &[Container], name: &str| containers.iter().any(|container| container.name == name);
    if !has(containers, MAIN_CONTAINER) {
        containers.insert(0, named(MAIN_CONTAINER));
    }
    if !has(containers, SIDECAR_CONTAINER) {
        containers.push(named(SIDECAR_CONTAINER));
    }
    for container in containers {
        match container.name.as_str() {
            MAIN_CONTAINER => complete_main(container, desired, class, group, domain),
            SIDECAR_CONTAINER => complete_sidecar(container, desired),
            _ => {}
        }
        let crashes = desired.buggify.crash_loop.get(&container.name);
        if crashes.is_some_and(|groups| Desired::names(groups, group)) {
            container.command = Some(vec![CRASH_LOOP.to_owned()]);
            container.args = Some(vec![CRASH_LOOP.to_owned()]);
        }
    }
}

fn complete_main(
    container: &mut Container,
    desired: &Desired,
    class: ProcessClass,
    group: &ProcessGroupId,
    domain: Option<&str>,
) {
    container.image = Some(image(container.image.as_deref(), &desired.image));
    let mut args = texts(&["--input-dir", CONFIG_MAP.1, "--log-path", MONITOR_LOG]);
    let servers = desired.servers_per_pod(class);
    if servers > 1 {
        args.extend([PROCESS_COUNT.to_owned(), servers.to_string()]);
    }
    container.args = Some(args);
    environment::extend(container, environment::environment(desired, class, group, domain));
    mount(container, &[DATA, CONFIG_MAP, BINARIES, LOGS]);
    protect(container);
    require(container, "1", "8Gi");
}

fn complete_sidecar(container: &mut Container, desired: &Desired) {
    container.image = Some(image(container.image.as_deref(), &desired.sidecar_image));
    let version = desired.version.to_string();
    container.args = Some(texts(&[
        "--mode",
        "sidecar",
        "--output-dir",
        BINARIES.1,
        "--main-container-version",
        &version,
        "--copy-binary",
        "fdbserver",
        "--copy-binary",
        "fdbcli",
        "--log-path",
        MONITOR_LOG,
    ]));
    mount(container, &[BINARIES, LOGS]);
    protect(container);
    require(container, "100m", "256Mi");
}

/// A template may name another image, without a tag: the version stays ours to choose.
fn image(template: Option<&str>, ours: &str) -> String {
    let Some(base) = template.filter(|image| !image.is_empty()) else { return ours.to_owned() };
    // A colon before the last slash is a port.
    let path = ours.rfind('/').map_or(0, |slash| slash + 1);
    let tag = ours[path..].find(':').map_or("", |colon| &ours[path + colon..]);
    format!("{base}{tag}")
}

fn protect(container: &mut Container) {
    container.security_context.get_or_insert_default().read_only_root_filesystem.get_or_insert(true);
}

/// What FoundationDB needs at least, if the template does not say.
fn require(container: &mut Container, cpu: &str, memory: &str) {
    let resources: &mut ResourceRequirements = container.resources.get_or_insert_default();
    let quantity = |name: &str, amount: &str| (name.to_owned(), Quantity(amount.to_owned()));
    let default = || BTreeMap::from([quantity("cpu", cpu), quantity("memory", memory)]);
    let requests = resources.requests.get_or_insert_with(default).clone();
    resources.limits.get_or_insert(requests);
}

fn named(name: &str) -> Container {
    Container { name: name.to_owned(), ..Container::default() }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::image;

    #[test]
    fn a_template_names_an_image_and_the_version_stays_ours() {
        assert_eq!(image(None, "foundationdb/fdb:7.3.69"), "foundationdb/fdb:7.3.69");
        assert_eq!(image(Some(""), "foundationdb/fdb:7.3.69"), "foundationdb/fdb:7.3.69");
        assert_eq!(image(Some("mirror:5000/fdb"), "elsewhere:443/fdb:7.3.69-1"), "mirror:5000/fdb:7.3.69-1");
    }
}
