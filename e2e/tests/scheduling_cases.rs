//! The scheduling cases: the model and the real kube-scheduler place the same pods on the same nodes, and refuse in the same words.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scheduling;

use std::path::Path;
use std::time::Instant;

use quorate_e2e::ControlPlane;
use scheduling::case::{Case, Outcome};
use scheduling::{model, real};

fn cases() -> Vec<Case> {
    let cases = Case::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scheduling-cases"));
    assert!(cases.len() >= 25, "only {} cases were found", cases.len());
    cases
}

/// Every step of a case whose outcome is not the expected one.
fn surprises(case: &Case, outcomes: &[Outcome]) -> Vec<String> {
    let steps = case.place.iter().zip(outcomes);
    let wrong = steps.filter(|(step, outcome)| step.expected() != **outcome);
    wrong
        .map(|(step, outcome)| {
            format!(
                "{}: {}\n  pod {}\n  expected {:?}\n  seen     {outcome:?}",
                case.name,
                case.about,
                step.pod.name,
                step.expected()
            )
        })
        .collect()
}

#[test]
fn the_model_places_every_pod_as_expected() {
    let surprises: Vec<_> = cases().iter().flat_map(|case| surprises(case, &model::run(case))).collect();
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

/// `QUORATE_CASE=volume` runs only the cases with that in their name.
#[tokio::test]
async fn the_real_scheduler_places_every_pod_as_expected() {
    let asked_for = std::env::var("QUORATE_CASE").unwrap_or_default();
    let mut all = Vec::new();
    for case in cases().into_iter().filter(|case| case.name.contains(&asked_for)) {
        let on = ControlPlane::shared().case(&case.name).await.unwrap();
        let start = Instant::now();
        let surprises = surprises(&case, &real::run(&on.client, &case, &on.namespace).await);
        eprintln!("{} took {} ms; {} surprises", case.name, start.elapsed().as_millis(), surprises.len());
        all.extend(surprises);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
