//! Pods, volumes and parameters of each class.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::PodSpec;
use quorate_api::foundationdb::{FoundationDBClusterSpec, ProcessSettings};
use quorate_foundationdb::objects::{MAIN_CONTAINER, SIDECAR_CONTAINER};
use quorate_foundationdb::{ClassTemplate, ProcessClass};

use super::problems::Problems;

const GENERAL: &str = "general";

/// Parameters that Quorate sets itself, and those of the program that the monitor takes the place of.
const NOT_THEIRS: [&str; 17] = [
    "datadir",
    "class",
    "public_address",
    "listen_address",
    "seed_cluster_file",
    "cluster_file",
    "locality_instance_id",
    "locality_process_id",
    "delete_envvars",
    "kill_on_configuration_change",
    "disable_lifecycle_logging",
    "restart_delay",
    "initial_restart_delay",
    "restart_backoff",
    "restart_delay_reset_interval",
    "user",
    "group",
];

/// What a class sets replaces what `general` sets, field by field.
pub(super) fn template(spec: &FoundationDBClusterSpec, class: ProcessClass) -> ClassTemplate {
    let settings = |name: &str| spec.processes.as_ref().and_then(|processes| processes.get(name));
    let both = [settings(class.name()), settings(GENERAL)];
    let in_order = || both.into_iter().flatten();
    let parameters = in_order().find_map(|settings| settings.custom_parameters.as_deref()).unwrap_or_default();
    ClassTemplate {
        pod: in_order().find_map(|settings| settings.pod_template.clone()).unwrap_or_default(),
        claim: in_order().find_map(|settings| settings.volume_claim_template.clone()),
        parameters: parameters.iter().filter_map(|parameter| parsed(parameter)).collect(),
    }
}

/// Looks through all settings once, whichever classes use them.
pub(super) fn check(spec: &FoundationDBClusterSpec, problems: &mut Problems) {
    for (class, settings) in spec.processes.iter().flatten() {
        let at = format!("spec.processes.{class}");
        if class != GENERAL
            && let Err(unknown) = class.parse::<ProcessClass>()
        {
            problems.add(&at, unknown.to_string(), "a class such as storage, or general");
        }
        check_parameters(&at, settings, problems);
        let pod = settings.pod_template.as_ref().and_then(|template| template.spec.as_ref());
        if let Some(pod) = pod {
            check_pod(&format!("{at}.podTemplate.spec"), pod, problems);
        }
    }
}

/// `name=value`; the value may have further equals signs.
pub(super) fn parsed(parameter: &str) -> Option<(String, String)> {
    let (name, value) = parameter.split_once('=')?;
    let name = name.trim().trim_start_matches("--");
    (!name.is_empty()).then(|| (name.to_owned(), value.trim().to_owned()))
}

fn check_parameters(at: &str, settings: &ProcessSettings, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (index, parameter) in settings.custom_parameters.iter().flatten().enumerate() {
        let field = format!("{at}.customParameters[{index}]");
        let Some((name, _)) = parsed(parameter) else {
            problems.add(field, format!("{parameter:?} has no name or no value"), "name=value, such as knob_x=1");
            continue;
        };
        // fdbserver takes either spelling.
        let name = name.replace('-', "_");
        if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            problems.add(&field, format!("{name:?} is no name of a parameter"), "letters, digits and underscores");
        }
        if NOT_THEIRS.contains(&name.as_str()) {
            problems.add(
                &field,
                format!("{name} is not for custom parameters: Quorate sets it, or nothing reads it"),
                "without it",
            );
        }
        if !seen.insert(name.clone()) {
            problems.add(field, format!("{name} is there twice"), "one of them");
        }
    }
}

fn check_pod(at: &str, pod: &PodSpec, problems: &mut Problems) {
    let init = pod.init_containers.iter().flatten().enumerate().map(|(index, one)| ("initContainers", index, one));
    let containers = pod.containers.iter().enumerate().map(|(index, one)| ("containers", index, one));
    let containers: Vec<_> = init.chain(containers).collect();
    let names = containers.iter().map(|(list, index, one)| (format!("{at}.{list}[{index}].name"), one.name.as_str()));
    check_names("container", names, problems);
    let volumes = pod.volumes.iter().flatten().enumerate();
    check_names("volume", volumes.map(|(index, one)| (format!("{at}.volumes[{index}].name"), one.name.as_str())), problems);
    for (list, index, container) in containers {
        let image = container.image.as_deref().unwrap_or_default();
        let ours = list == "containers" && [MAIN_CONTAINER, SIDECAR_CONTAINER].contains(&container.name.as_str());
        if ours && has_tag(image) {
            let problem = format!("{image:?} has a tag, and the tag follows from spec.version");
            problems.add(
                format!("{at}.{list}[{index}].image"),
                problem,
                "the image without its tag, or spec.mainContainer.imageConfigs",
            );
        }
    }
}

fn check_names<'a>(what: &str, names: impl Iterator<Item = (String, &'a str)>, problems: &mut Problems) {
    let mut seen: BTreeMap<&str, String> = BTreeMap::new();
    for (field, name) in names {
        if name.is_empty() {
            problems.add(field, format!("a {what} has no name"), "a name");
        } else if let Some(first) = seen.get(name) {
            problems.add(field, format!("{name} is also the name of {first}"), "another name");
        } else {
            seen.insert(name, field);
        }
    }
}

/// A colon before the last slash is a port.
fn has_tag(image: &str) -> bool {
    image.rsplit('/').next().is_some_and(|name| name.contains([':', '@']))
}
