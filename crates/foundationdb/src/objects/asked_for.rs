//! What the user asked of an object, as a digest.
//!
//! An object is out of date when this changes, not when a newer Quorate would render the same wish otherwise. So nothing of our own
//! rendering is in it, and nothing that is changed in place, such as a user's labels and annotations; and a wish that is at its default leaves no trace, so that a wish that Quorate learns to understand later does not
//! change the digest of objects whose users never spoke of it.

use k8s_openapi::api::core::v1::PodSpec;
use serde_json::{Map, Value, json};

use super::digest::digest;
use crate::{Desired, Labels, ProcessClass, ProcessGroupId, Routing, Topology, Zone};

/// The digest of everything that was asked for and that the pod of a process group depends on.
pub fn asked_for(desired: &Desired, class: ProcessClass, group: &ProcessGroupId) -> String {
    let mut asked = Asked::default();
    asked.always("version", json!(desired.version.to_string()));
    asked.always("image", json!(desired.image));
    asked.always("sidecarImage", json!(desired.sidecar_image));
    asked.always("logGroup", json!(desired.log_group));
    let template = desired.templates.get(&class).and_then(|template| template.pod.spec.as_ref());
    asked.unless_default("template", &template.unwrap_or(&PodSpec::default()), &&PodSpec::default());
    asked.unless_default("serversPerPod", &desired.servers_per_pod(class), &1);
    asked.unless_default("trustedCAs", &!desired.trusted_cas.is_empty(), &false);
    asked.topology(&desired.topology);
    asked.routing(&desired.routing);
    asked.labels(&desired.labels);
    asked.unless_default("noSchedule", &Desired::names(&desired.buggify.no_schedule, group), &false);
    let crashing = desired.buggify.crash_loop.iter().filter(|(_, groups)| Desired::names(groups, group));
    let crashing: Vec<&String> = crashing.map(|(container, _)| container).collect();
    asked.unless_default("crashLoop", &crashing, &Vec::new());
    asked.digest()
}

/// The digest of what was asked for in the volume claim of a class, without its size: a volume that shall grow grows in place, but a
/// volume of another kind is another volume. Labels and annotations say nothing about the volume either.
pub fn claim_asked_for(desired: &Desired, class: ProcessClass) -> String {
    let template = desired.templates.get(&class).and_then(|template| template.claim.as_ref());
    let mut spec = template.and_then(|claim| claim.spec.clone()).unwrap_or_default();
    let is_default = |modes: &Vec<String>| modes.is_empty() || *modes == [super::claim::DEFAULT_ACCESS_MODE];
    spec.access_modes.take_if(|modes| is_default(modes));
    if let Some(resources) = &mut spec.resources {
        if let Some(requests) = &mut resources.requests {
            requests.remove("storage");
        }
        resources.requests.take_if(|requests| requests.is_empty());
    }
    spec.resources.take_if(|resources| resources.requests.is_none() && resources.limits.is_none());
    digest(&json!(spec))
}

/// Wishes by name, those at their defaults left out.
#[derive(Default)]
struct Asked(Map<String, Value>);

impl Asked {
    fn always(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    fn unless_default<T: PartialEq + serde::Serialize>(&mut self, name: &str, value: &T, default: &T) {
        if value != default {
            self.always(name, json!(value));
        }
    }

    fn topology(&mut self, topology: &Topology) {
        // A datacenter, a hall and a zone by another name reach the processes by the monitor's configuration, not by the pod.
        let Topology { zone, zone_variable: _, datacenter: _, hall: _ } = topology;
        match zone {
            Zone::Node { label, value_from } => {
                self.unless_default("zoneLabel", label, &super::placement::HOSTNAME.to_owned());
                self.unless_default("zoneFrom", value_from, &None);
            }
            Zone::Pod => self.always("zone", json!("pod")),
            Zone::Cluster(zone) => self.always("zone", json!({"cluster": zone})),
        }
    }

    fn routing(&mut self, routing: &Routing) {
        let Routing {
            headless_service,
            dns_in_cluster_file: _,
            dns_locality,
            dns_domain,
            service_per_pod,
            family,
            // The ports are in the monitor's configuration alone.
            tls: _,
            explicit_listen_address,
        } = routing;
        self.unless_default("headlessService", headless_service, &true);
        let name = dns_locality.then_some(dns_domain.as_str());
        self.unless_default("dnsDomain", &name, &Some(crate::desired::DEFAULT_DNS_DOMAIN));
        self.unless_default("servicePerPod", service_per_pod, &false);
        self.unless_default("family", family, &None);
        self.unless_default("listenAddress", &(*explicit_listen_address || *service_per_pod), &true);
    }

    fn labels(&mut self, labels: &Labels) {
        let Labels { matching, resource: _, group, class } = labels;
        self.always("labels", json!({"matching": matching, "group": group, "class": class}));
    }

    fn digest(self) -> String {
        digest(&Value::Object(self.0))
    }
}
