//! Logical fault domains, as a real scheduler places them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_e2e::life::{Ground, Stage};
use quorate_foundationdb::forecast::{Assumed, Forecast, Hosts, forecast};
use quorate_operator::{checked_wish, recorded_status};
use serde_json::{Value, json};

use super::{bear, born, born_on, nothing_is_lost, uids};

const KEY: &str = "foundationdb.org/distribution-key";

fn domains(count: u32) -> Value {
    json!({"distribution": {"enabled": true, "desiredFaultDomains": count}})
}

/// Storage and log pods by class and domain, with the hosts of those that have one.
async fn hosts(stage: &Stage<'_>) -> BTreeMap<(String, Option<String>), BTreeSet<String>> {
    let mut hosts: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for pod in stage.list("pod").await {
        let label = |key: &str| pod["metadata"]["labels"][key].as_str().map(str::to_owned);
        let class = label("foundationdb.org/fdb-process-class").unwrap_or_default();
        let host = pod["spec"]["nodeName"].as_str().map(str::to_owned);
        if class != "stateless" {
            hosts.entry((class, label(KEY))).or_default().extend(host);
        }
    }
    hosts
}

/// No host has two domains of a class, nor one beside a pod of no domain.
async fn domains_are_apart(stage: &Stage<'_>) {
    let hosts = hosts(stage).await;
    for ((class, domain), of_domain) in &hosts {
        let others = hosts.iter().filter(|((other, another), _)| other == class && another != domain);
        let shared: Vec<_> = others.filter(|(_, of_other)| !of_other.is_disjoint(of_domain)).collect();
        assert!(shared.is_empty(), "{domain:?} of class {class} is on {of_domain:?}, beside {shared:?}");
    }
}

/// The live process groups, with class and zone.
async fn groups(stage: &Stage<'_>) -> BTreeMap<String, (String, String)> {
    let cluster = stage.cluster().await;
    let all = cluster["status"]["processGroups"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let live = all.iter().filter(|group| group["removalTimestamp"].is_null());
    live.map(|group| (text(&group["processGroupID"]), (text(&group["processClass"]), text(&group["faultDomain"])))).collect()
}

/// How many storage process groups each domain has.
async fn storage(stage: &Stage<'_>) -> BTreeMap<String, usize> {
    let mut held = BTreeMap::new();
    for (_, zone) in groups(stage).await.into_values().filter(|(class, _)| class == "storage") {
        *held.entry(zone).or_default() += 1;
    }
    held
}

fn held<const N: usize>(held: [(&str, usize); N]) -> BTreeMap<String, usize> {
    held.map(|(domain, count)| (domain.to_owned(), count)).into()
}

/// What `quorate what-if` says of a change.
async fn foretold(stage: &Stage<'_>, nodes: usize, change: &Value) -> Forecast {
    let now: FoundationDBCluster = serde_json::from_value(stage.cluster().await).unwrap();
    let mut then = serde_json::to_value(&now).unwrap();
    then["spec"]["distribution"] = change["distribution"].clone();
    let then: FoundationDBCluster = serde_json::from_value(then).unwrap();
    let hosts = Hosts::Known((1..=nodes).map(|number| stage.node(number)).collect());
    let assumed = Assumed { now: Timestamp::now(), drain: SignedDuration::from_secs(5), hosts };
    forecast(&checked_wish(&now), &recorded_status(now.status.as_ref()), &checked_wish(&then), &assumed)
}

/// Changes the domains; the same go as was foretold, and as many come into each class; nobody goes before somebody else serves.
async fn moves_as_foretold(stage: &Stage<'_>, nodes: usize, change: &Value) -> Forecast {
    let foretold = foretold(stage, nodes, change).await;
    assert!(foretold.held.is_empty(), "{:?}", foretold.held);
    let before = groups(stage).await;
    stage.change(change).await;
    let goes: BTreeSet<String> = foretold.goes.iter().map(|id| id.0.clone()).collect();
    stage
        .until("those to be gone who were foretold to go", async || {
            domains_are_apart(stage).await;
            let ready = stage.ready_pods().await;
            for class in ["storage", "log"] {
                let serving = ready.iter().filter(|pod| pod.contains(class)).count();
                let wanted = before.values().filter(|(of, _)| of == class).count();
                assert!(serving >= wanted, "{serving} of class {class}: {ready:?}");
            }
            let names = stage.names("pod").await;
            names.len() == before.len() && !names.iter().any(|pod| goes.contains(pod.strip_prefix("sample-").unwrap()))
        })
        .await;
    stage.settled().await;
    domains_are_apart(stage).await;
    let after = groups(stage).await;
    let gone: BTreeSet<String> = before.keys().filter(|id| !after.contains_key(*id)).cloned().collect();
    assert_eq!(gone, goes);
    foretold
}

/// A forecast knows how many are in each zone in the end.
fn zones(foretold: &Forecast) -> BTreeMap<String, usize> {
    foretold.after.values().flatten().map(|(zone, ids)| (zone.clone(), ids.len())).collect()
}

pub async fn fault_domains_are_turned_on_and_off_as_foretold(ground: Arc<Ground>) {
    // Of four hosts three have pods of each class; so who comes waits for a host until somebody goes who can.
    let soon = json!({"automationOptions": {"ignorePendingPodsDuration": 3_000_000_000_i64}});
    let stage = born(&ground, "domains", &soon).await;
    let foretold = moves_as_foretold(&stage, 4, &domains(2)).await;
    assert_eq!(foretold.goes.len(), 8, "nobody is in a domain without having been made for it");
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (_, zone) in groups(&stage).await.into_values() {
        *seen.entry(zone).or_default() += 1;
    }
    assert_eq!(seen, zones(&foretold));
    assert_eq!(storage(&stage).await, held([("storage-0", 2), ("storage-1", 1)]));
    let processes = stage.database().await.processes().await;
    for (group, process) in &processes {
        let pod = stage.get("pod", &format!("sample-{group}")).await.unwrap();
        let (zone, host) = (pod["metadata"]["labels"][KEY].as_str().unwrap(), pod["spec"]["nodeName"].as_str().unwrap());
        let said = format!("--locality_zoneid={zone} --locality_physical_zone={host}");
        assert!(process.command_line.contains(&said), "{group}: {}", process.command_line);
    }
    let foretold = moves_as_foretold(&stage, 4, &json!({"distribution": {"enabled": false}})).await;
    assert_eq!(foretold.goes.len(), 8);
    for pod in stage.list("pod").await {
        assert!(pod["metadata"]["labels"][KEY].is_null(), "{pod:#}");
    }
    let hosts: BTreeSet<String> = (1..=4).map(|number| stage.node(number)).collect();
    assert!(groups(&stage).await.values().all(|(_, zone)| hosts.contains(zone)), "zones are hosts again");
    nothing_is_lost(&stage).await;
}

pub async fn a_domain_is_on_one_host_or_on_several(ground: Arc<Ground>) {
    // No host has room for two storage pods; log pods are small.
    let stage = ground.stage("spread", 5).await.unwrap();
    let large = json!({"name": "foundationdb", "resources": {"requests": {"cpu": "40"}}});
    let template = json!({"spec": {"containers": [large], "nodeSelector": {"stage": stage.case.namespace}}});
    let mut wish = domains(2);
    wish["processes"] = json!({"storage": {"podTemplate": template}});
    wish["processCounts"] = json!({"storage": 4});
    bear(&stage, &wish).await;
    domains_are_apart(&stage).await;
    let on = async |class: &str| -> Vec<usize> {
        hosts(&stage).await.into_iter().filter(|((of, _), _)| of == class).map(|(_, hosts)| hosts.len()).collect()
    };
    assert_eq!(on("storage").await, [2, 2], "two hosts for each domain");
    assert_eq!(on("log").await, [1, 1], "where there is room, those of a domain are together");
    // A third domain for all classes: one of each makes room, and nobody else.
    let foretold = moves_as_foretold(&stage, 5, &domains(3)).await;
    assert_eq!(foretold.goes.len(), 2, "{:?}", foretold.goes);
    assert_eq!(storage(&stage).await.into_values().collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(on("log").await, [1, 1, 1]);
    nothing_is_lost(&stage).await;
}

pub async fn a_domain_without_a_host_is_waited_for_or_set_aside(ground: Arc<Ground>) {
    let mut wish = domains(3);
    wish["processCounts"] = json!({"storage": 4});
    let stage = born_on(&ground, 3, "few-hosts", &wish).await;
    let (pods, claims) = (uids(&stage, "pod").await, uids(&stage, "pvc").await);
    stage
        .change(&json!({
            "distribution": {"desiredFaultDomains": 4, "required": true},
            "automationOptions": {"ignorePendingPodsDuration": 5_000_000_000_i64},
        }))
        .await;
    let sentence = "no host was found for fault domain storage-3 of class storage; spec.distribution.required is true";
    stage.until("the hold to be told", async || holds(&stage).await.iter().any(|hold| hold.starts_with(sentence))).await;
    // Longer than any wait there is.
    tokio::time::sleep(std::time::Duration::from_secs(25)).await;
    let all_stay = |before: &BTreeMap<String, Value>, now: &BTreeMap<String, Value>| {
        assert!(before.iter().all(|(name, uid)| now.get(name) == Some(uid)), "{before:?}, then {now:?}");
        assert_eq!(now.len(), before.len() + 1, "one more, which waits");
    };
    all_stay(&pods, &uids(&stage, "pod").await);
    all_stay(&claims, &uids(&stage, "pvc").await);
    assert_eq!(stage.ready_pods().await.len(), pods.len());
    assert!(holds(&stage).await.iter().any(|hold| hold.starts_with(sentence)));
    assert_eq!(set_aside(&stage).await, Vec::<String>::new());

    stage.change(&json!({"distribution": {"required": false}})).await;
    stage.until("it to be set aside", async || set_aside(&stage).await == ["storage-3"]).await;
    stage.settled().await;
    domains_are_apart(&stage).await;
    assert_eq!(storage(&stage).await.into_values().collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(set_aside(&stage).await, ["storage-3"], "it is still named");

    stage.add_node(4).await.unwrap();
    stage.until("it to be taken up again", async || storage(&stage).await.len() == 4).await;
    stage.settled().await;
    domains_are_apart(&stage).await;
    assert_eq!(storage(&stage).await.into_values().collect::<Vec<_>>(), [1, 1, 1, 1]);
    assert_eq!(set_aside(&stage).await, Vec::<String>::new());
    nothing_is_lost(&stage).await;
}

/// The sentences of all holds.
async fn holds(stage: &Stage<'_>) -> Vec<String> {
    let cluster = stage.cluster().await;
    let holds = cluster["status"]["quorate"]["holds"].as_array().into_iter().flatten();
    holds.filter_map(|hold| hold["sentence"].as_str().map(str::to_owned)).collect()
}

async fn set_aside(stage: &Stage<'_>) -> Vec<String> {
    let cluster = stage.cluster().await;
    let all = cluster["status"]["quorate"]["setAside"].as_array().into_iter().flatten();
    all.filter_map(|aside| aside["faultDomain"].as_str().map(str::to_owned)).collect()
}
