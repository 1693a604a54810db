//! Logical fault domains of a real database: three, then four, then two of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quorate_e2e::life::Ground;
use quorate_quorum::placement::fewest_moves;
use serde_json::{Value, json};

use super::Real;

const STORAGE: usize = 12;
/// With three log and two stateless pods.
const PODS: usize = STORAGE + 5;
/// For each of four domains of storage, and some to spare.
const NODES: usize = 6;

pub async fn a_real_database_is_packed_into_three_then_four_then_two_domains(ground: Arc<Ground>) {
    let mut real = Real::begin_on(&ground, "real-domains", NODES).await;
    let mut wish = domains(3);
    wish["routing"] = json!({"useDNSInClusterFile": false});
    wish["processCounts"] = json!({"storage": STORAGE, "log": 3, "stateless": 2, "cluster_controller": -1});
    real.stage.create(&wish).await;
    real.is_available().await;
    real.write_everything().await;
    real.rests(PODS, "born in three domains").await;
    assert_eq!(held(&storage(&real).await, 3), [4, 4, 4]);
    zones_are_domains(&real).await;
    assert_eq!(repacked(&mut real, 4).await, 3, "one from each of three for the fourth");
    assert_eq!(repacked(&mut real, 2).await, 6, "exactly those of the third and the fourth");
    real.has_every_copy().await;
    real.end().await;
}

fn domains(count: usize) -> Value {
    json!({"distribution": {"enabled": true, "desiredFaultDomains": count}})
}

/// Asks for so many domains; gives how many storage process groups moved for it, which are the fewest there can be.
async fn repacked(real: &mut Real<'_>, count: usize) -> usize {
    let before = storage(real).await;
    let kept = held(&before, count);
    let fewest = fewest_moves(&kept, STORAGE - kept.iter().sum::<usize>(), STORAGE);
    real.stage.change(&domains(count)).await;
    let evenly = async || held(&storage(real).await, count) == vec![STORAGE / count; count];
    real.stage.until(&format!("twelve in {count} domains"), evenly).await;
    real.say(&format!("all in {count} domains have been chosen"));
    real.rests(PODS, &format!("packed into {count} domains")).await;
    zones_are_domains(real).await;
    let after = storage(real).await;
    for (group, domain) in before.iter().filter(|(group, _)| after.contains_key(*group)) {
        assert_eq!(after[group], *domain, "{group} never leaves its domain");
    }
    let moved = before.keys().filter(|group| !after.contains_key(*group)).count();
    real.say(&format!("{moved} storage servers moved, {fewest} had to"));
    assert_eq!(moved, fewest);
    moved
}

/// The live storage process groups and their domains.
async fn storage(real: &Real<'_>) -> BTreeMap<String, String> {
    let cluster = real.stage.cluster().await;
    let groups = cluster["status"]["processGroups"].as_array().into_iter().flatten();
    let live = groups.filter(|group| group["processClass"] == "storage" && group["removalTimestamp"].is_null());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    live.map(|group| (text(&group["processGroupID"]), text(&group["faultDomain"]))).collect()
}

/// How many are in each of the first so many domains.
fn held(storage: &BTreeMap<String, String>, domains: usize) -> Vec<usize> {
    let in_domain = |domain: usize| storage.values().filter(|of| **of == format!("storage-{domain}")).count();
    (0..domains).map(in_domain).collect()
}

/// What the database says of its storage servers is what the status says; each says where it really is, and no host has two domains.
async fn zones_are_domains(real: &Real<'_>) {
    let status = real.stage.database().await.status().await.unwrap();
    let storage = storage(real).await;
    let mut on_host: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for process in status["cluster"]["processes"].as_object().unwrap().values() {
        let locality = &process["locality"];
        let Some((group, domain)) = locality["instance_id"].as_str().and_then(|group| storage.get_key_value(group)) else {
            continue;
        };
        assert_eq!(locality["zoneid"], domain.as_str(), "{group}");
        let pod = real.stage.get("pod", &format!("sample-{group}")).await.unwrap();
        assert_eq!(locality["physical_zone"], pod["spec"]["nodeName"], "{group}");
        on_host.entry(pod["spec"]["nodeName"].to_string()).or_default().insert(domain);
    }
    assert!(on_host.values().all(|domains| domains.len() == 1), "{on_host:?}");
    real.say(&format!("zones by host: {on_host:?}"));
}
