//! The pod of a process group.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::digest::digest;
use super::{annotations, asked_for, containers, labels, metadata, placement, pod_name, volumes};
use crate::{Desired, ProcessGroup, ProcessGroupId};

/// The pod of a process group: what its template says, completed. Where each pod has a service, its address is the public one, so the
/// service comes first.
pub fn pod(desired: &Desired, group: &ProcessGroupId, of: &ProcessGroup, service_address: Option<&str>) -> Pod {
    pod_asked_for(desired, group, of, service_address, asked_for(desired, of.class, group))
}

/// The same, where the digest of what was asked for is known.
pub(crate) fn pod_asked_for(
    desired: &Desired,
    group: &ProcessGroupId,
    of: &ProcessGroup,
    service_address: Option<&str>,
    asked_for: String,
) -> Pod {
    let (class, domain) = (of.class, of.domain_key());
    let template = desired.templates.get(&class).map(|template| template.pod.clone()).unwrap_or_default();
    let name = pod_name(desired, class, group);
    let mut metadata = metadata::group_metadata(desired, name.clone(), template.metadata.as_ref(), class, group);
    metadata.owner_references = Some(vec![metadata::owner(desired)]);
    annotate(&mut metadata, desired, service_address);
    if let Some(domain) = domain {
        metadata.labels.get_or_insert_default().insert(labels::DISTRIBUTION_KEY.to_owned(), domain.to_owned());
    }

    let mut spec = template.spec.unwrap_or_default();
    containers::complete(&mut spec, desired, class, group, domain);
    match domain {
        Some(domain) => placement::keep_domains_apart(&mut spec, desired, class, domain),
        None => placement::keep_apart(&mut spec, desired, class),
    }
    volumes::add_volumes(&mut spec, desired, of, &name);
    placement::keep_from_nodes(&mut spec, desired, group);
    if desired.routing.headless_service {
        spec.hostname = Some(name);
        spec.subdomain = Some(desired.name.clone());
    }
    let mut pod = Pod { metadata, spec: Some(spec), status: None };
    let digests = [(annotations::RENDERING.to_owned(), digest(&json!(pod.spec))), (annotations::ASKED_FOR.to_owned(), asked_for)];
    pod.metadata.annotations.get_or_insert_default().extend(digests);
    pod
}

fn annotate(metadata: &mut ObjectMeta, desired: &Desired, service_address: Option<&str>) {
    let ours = metadata.annotations.get_or_insert_default();
    let mut put = |name: &str, value: &str| ours.insert(name.to_owned(), value.to_owned());
    put(annotations::IMAGE_TYPE, "unified");
    put(annotations::IP_FAMILY, &desired.routing.family.unwrap_or(0).to_string());
    if desired.routing.service_per_pod {
        put(annotations::PUBLIC_IP_SOURCE, "service");
        if let Some(address) = service_address {
            put(annotations::PUBLIC_IP, address);
        }
    } else {
        put(annotations::PUBLIC_IP_SOURCE, "pod");
    }
}
