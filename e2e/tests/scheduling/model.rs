//! What the model makes of a case.

use k8s_openapi::api::core::v1::Pod;
use quorate_world::ClusterView;
use quorate_world::scheduler::{self, Binding, Placement, SELECTED_NODE};

use super::case::{Case, Objects, Outcome};

/// The outcome of each step.
pub fn run(case: &Case) -> Vec<Outcome> {
    let mut objects = case.objects("case");
    let steps = case.place.iter().map(|step| {
        let mut pod = step.pod.object("case");
        let (placement, bindings) = decide(&pod, &objects);
        let outcome = match placement {
            Placement::On(node) => {
                bind(&mut objects, &bindings, &node);
                pod.spec.get_or_insert_default().node_name = Some(node.clone());
                Outcome::On(node)
            }
            Placement::Unschedulable { message, .. } => Outcome::Refused(message),
        };
        objects.pods.push(pod);
        outcome
    });
    steps.collect()
}

fn decide(pod: &Pod, objects: &Objects) -> (Placement, Vec<Binding>) {
    let view = ClusterView::default()
        .with_namespaces(&objects.namespaces)
        .with_nodes(&objects.nodes)
        .with_classes(&objects.classes)
        .with_volumes(&objects.volumes)
        .with_claims(&objects.claims)
        .with_services(&objects.services)
        .with_pods(&objects.pods);
    let placement = scheduler::place(pod, &view);
    assert_no_dice(pod, &view);
    let bindings = match &placement {
        Placement::On(node) => scheduler::bindings(pod, node, &view),
        Placement::Unschedulable { .. } => Vec::new(),
    };
    (placement, bindings)
}

/// Among equally good nodes the real scheduler throws dice, so a case with a tie would prove nothing.
fn assert_no_dice(pod: &Pod, view: &ClusterView<'_>) {
    let scores = scheduler::scores(pod, view);
    let best = scores.values().max();
    let tied: Vec<_> = scores.iter().filter(|(_, score)| Some(*score) == best).collect();
    assert!(tied.len() <= 1, "pod {:?} could go to any of {tied:?}", pod.metadata.name);
}

/// What the scheduler and the volume controller write before the pod is bound.
fn bind(objects: &mut Objects, bindings: &[Binding], node: &str) {
    for binding in bindings {
        let (Binding::Existing { claim: name, .. } | Binding::Provision { claim: name }) = binding;
        let claim = objects.claims.iter_mut().find(|claim| claim.metadata.name.as_ref() == Some(name)).unwrap();
        let annotations = claim.metadata.annotations.get_or_insert_default();
        match binding {
            Binding::Provision { .. } => {
                annotations.insert(SELECTED_NODE.to_owned(), node.to_owned());
            }
            Binding::Existing { volume: name, .. } => {
                annotations.insert(scheduler::BIND_COMPLETED.to_owned(), "yes".to_owned());
                claim.spec.get_or_insert_default().volume_name = Some(name.clone());
                let volume = objects.volumes.iter_mut().find(|volume| volume.metadata.name.as_ref() == Some(name)).unwrap();
                volume.status.get_or_insert_default().phase = Some("Bound".to_owned());
            }
        }
    }
}
