//! From YAML to an available database.

use anyhow::Result;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use quorate_fdb_client::{Call, Change, Commit, Management};
use quorate_world::scenery::NAMESPACE;

use crate::tour::cast::{CLUSTER, Cast};
use crate::tour::narrated::times;
use crate::tour::telling::{A_WHILE, Telling};

pub(crate) const ABOUT: &str = "A user writes down which database is wanted. Pods, volumes and the configuration of the servers are made, \
    coordinators are chosen in different zones, and once every server has found them the database is created, exactly once.";

pub(crate) async fn play(telling: &mut Telling) -> Result<()> {
    telling.apply(CLUSTER)?;
    let why = "Coordinators are named by the addresses of their pods, so the servers hear of them only when the kubelets bring the \
        changed config map. That takes a minute or so, and is at once where the pod itself changes: each is annotated.";
    if !telling
        .await_that("the database is available and the cluster at rest", A_WHILE, |cast: Cast<'_>| cast.is_at_rest(), why)
        .await
    {
        return Ok(());
    }
    let created = times(&telling.stage().ledger.since(0), |call| {
        matches!(call, Call::Commit(Commit { manage: Some(Management::Configure(Change { new: Some(_), .. })), .. }))
    });
    let why = "A second `configure new` on a database with data would be the end of it; this one is fenced by an id of its own.";
    telling.expect(
        "the database is created exactly once",
        if created == 1 { "once".to_owned() } else { format!("{created} times") },
        created == 1,
        why,
    );

    let pods = telling.cast().pods().len();
    let claims = telling.stage().kubernetes().list::<PersistentVolumeClaim>(NAMESPACE).map_or(0, |claims| claims.len());
    let why =
        "Logs and storage servers keep what must outlive their pods. Stateless processes keep nothing, so they have no volumes.";
    let groups = telling.cast().groups();
    let keep = groups.values().filter(|group| matches!(group.process_class.as_deref(), Some("storage" | "log"))).count();
    let seen = format!("{pods} pods and {claims} claims for {} process groups", groups.len());
    telling.expect("a pod per process group, a claim per one that keeps data", seen, pods == groups.len() && claims == keep, why);

    let (all, running) = telling.cast().database(|database| database.coordinators()).unwrap_or_default();
    let why = "With two copies one zone may be lost; three coordinators survive the loss of one.";
    telling.expect("three coordinators, all of them there", format!("{running} of {all}"), (all, running) == (3, 3), why);
    let status = telling.cast().status();
    let health = status.health.unwrap_or_default();
    let said = |yes: Option<bool>| yes.map_or("not said", |yes| if yes { "yes" } else { "no" });
    let seen = format!("available: {}, configured: {}", said(health.available), said(status.configured));
    let well = health.available == Some(true) && status.configured == Some(true);
    telling.expect("the status says so", seen, well, "What kubectl shows is what was decided on, and nothing else.");
    Ok(())
}
