//! Process groups are packed into logical fault domains, and moved between them as little as can be.

use std::collections::{BTreeMap, BTreeSet};

use quorate_quorum::placement::fewest_moves;
use serde_json::{Value, json};

use super::stage::Stage;
use super::view::View;

/// So many logical fault domains for each class.
fn domains(count: u32) -> Value {
    json!({"distribution": {"enabled": true, "desiredFaultDomains": count}})
}

/// Six storage, four log and three stateless process groups, packed from the beginning.
async fn packed(count: u32) -> Stage {
    let mut wish = domains(count);
    wish["processCounts"] = json!({"storage": 6});
    let stage = Stage::born_as(wish).await;
    all_say_the_same(&stage);
    stage
}

/// How many live process groups each fault domain of a class has.
fn held(stage: &Stage, class: &str) -> BTreeMap<String, usize> {
    let mut held = BTreeMap::new();
    for group in stage.view().groups().into_values().filter(|group| group.class == class && !group.going) {
        *held.entry(group.zone.unwrap_or_default()).or_default() += 1;
    }
    held
}

/// The same, domain by domain.
fn counts(stage: &Stage, class: &str, domains: u32) -> Vec<usize> {
    let held = held(stage, class);
    (0..domains).map(|domain| held.get(&format!("{class}-{domain}")).copied().unwrap_or(0)).collect()
}

/// The variable of a pod's first container.
fn variable<'a>(pod: &'a Value, name: &str) -> &'a Value {
    let variables = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    &variables.iter().find(|variable| variable["name"] == name).unwrap()["value"]
}

/// Label, environment, locality and status name the same fault domain, the processes say where they really are, and no host has two fault
/// domains of a class that keeps anything.
fn all_say_the_same(stage: &Stage) {
    let mut on_host: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (id, group) in stage.view().groups() {
        let pod = stage.view().pod(&id).unwrap();
        let zone = group.zone.unwrap();
        assert!(zone.starts_with(&format!("{}-", group.class)), "{id} is in {zone}");
        assert_eq!(pod["metadata"]["labels"]["foundationdb.org/distribution-key"], zone.as_str(), "{id}");
        assert_eq!(*variable(&pod, "FDB_ZONE_ID"), zone.as_str(), "{id}");
        for process in stage.view().processes(&id) {
            assert_eq!(process["locality"]["zoneid"], zone.as_str(), "{id}");
            assert_eq!(process["locality"]["physical_zone"], stage.node(&id).as_str(), "{id}");
        }
        if group.class != "stateless" {
            on_host.entry((stage.node(&id), group.class)).or_default().insert(zone);
        }
    }
    let shared: Vec<_> = on_host.iter().filter(|(_, zones)| zones.len() > 1).collect();
    assert!(shared.is_empty(), "{shared:?}");
    let view = stage.view();
    let hosts: BTreeSet<String> = view.coordinators().iter().map(|id| stage.node(id)).collect();
    assert_eq!(
        hosts.len(),
        view.coordinators().len(),
        "coordinators are on hosts of their own, whatever their domains are called"
    );
}

/// Asks for another number of domains, and counts who went for it: no more than had to, into the band, and nobody left its domain.
async fn repacked(stage: &Stage, count: u32) -> Vec<String> {
    let before = stage.view().groups();
    let classes = ["storage", "log", "stateless"];
    let fewest: usize = classes
        .iter()
        .map(|class| {
            let (kept, all) = (counts(stage, class, count), stage.view().live(class).len());
            fewest_moves(&kept, all - kept.iter().sum::<usize>(), all)
        })
        .sum();
    stage.apply(domains(count));
    stage.rest().await;
    all_say_the_same(stage);
    let after = stage.view().groups();
    for class in classes {
        let (n, k) = (stage.view().live(class).len(), count as usize);
        let counts = counts(stage, class, count);
        assert!(counts.iter().all(|held| (n / k..=n.div_ceil(k)).contains(held)), "{class}: {counts:?}");
        assert_eq!(counts.iter().sum::<usize>(), n, "nobody of class {class} is elsewhere");
    }
    for (id, group) in before.iter().filter(|(id, _)| after.contains_key(*id)) {
        assert_eq!(after[id].zone, group.zone, "{id} never leaves its domain");
    }
    let gone: Vec<String> = before.into_keys().filter(|id| !after.contains_key(id)).collect();
    assert_eq!(gone.len(), fewest, "{gone:?}");
    gone
}

#[tokio::test(start_paused = true)]
async fn d01_born_in_three_fault_domains() {
    let stage = packed(3).await;
    assert_eq!(counts(&stage, "storage", 3), [2, 2, 2]);
    assert_eq!(counts(&stage, "log", 3), [2, 1, 1]);
    assert_eq!(counts(&stage, "stateless", 3), [1, 1, 1]);
    assert_eq!(stage.writes("delete pods"), Vec::<String>::new(), "everybody is placed once");
}

#[tokio::test(start_paused = true)]
async fn d02_from_three_to_four_to_two() {
    let stage = packed(3).await;
    let gone = repacked(&stage, 4).await;
    assert_eq!(gone.iter().filter(|id| id.starts_with("storage")).count(), 1, "one of six makes room: {gone:?}");
    let third: BTreeSet<String> =
        stage.view().groups().into_iter().filter(|(_, group)| is_retired(group.zone.as_deref(), 2)).map(|(id, _)| id).collect();
    let gone: BTreeSet<String> = repacked(&stage, 2).await.into_iter().collect();
    assert_eq!(gone, third, "exactly those of the domains that are no more");
    assert_eq!(counts(&stage, "storage", 2), [3, 3]);
}

/// Whether a fault domain's number is not below the number of domains.
fn is_retired(zone: Option<&str>, domains: u32) -> bool {
    zone.and_then(|zone| zone.rsplit('-').next()?.parse::<u32>().ok()).is_some_and(|number| number >= domains)
}

#[tokio::test(start_paused = true)]
async fn d03_no_domain_is_filled_beyond_the_band_on_the_way() {
    let stage = packed(3).await;
    stage.apply(domains(4));
    let held = || {
        let held = counts(&stage, "storage", 4);
        assert!(held.iter().all(|held| *held <= 2), "{held:?}");
        held
    };
    stage.until("the fourth is in use", |_| held()[3] == 1).await;
    stage.until("all is done", |view| held()[3] == 1 && view.is_at_rest()).await;
}

#[tokio::test(start_paused = true)]
async fn d04_turned_on_for_a_living_cluster_and_off_again() {
    let stage = Stage::born().await;
    let before: BTreeSet<String> = stage.view().groups().into_keys().collect();
    stage.apply(domains(2));
    stage
        .until("everybody is in a domain", |view| {
            let copies = stage.truth(|database| database.copies()).unwrap();
            assert_eq!(copies.served, copies.wanted, "nobody goes before its successor serves");
            view.is_at_rest()
        })
        .await;
    stage.rest().await;
    all_say_the_same(&stage);
    assert_eq!((counts(&stage, "storage", 2), counts(&stage, "log", 2)), (vec![2, 2], vec![2, 2]));
    assert!(before.iter().all(|id| !stage.view().has(id)), "nobody is in a domain without having been made for it");
    stage.apply(json!({"distribution": {"enabled": false}}));
    stage.rest().await;
    for (id, group) in stage.view().groups() {
        assert_eq!(group.zone.as_deref(), Some(stage.node(&id).as_str()), "{id}");
        assert_eq!(stage.view().pod(&id).unwrap()["metadata"]["labels"]["foundationdb.org/distribution-key"], Value::Null);
    }
}

#[tokio::test(start_paused = true)]
async fn d05_a_number_that_is_off_moves_nobody() {
    let stage = Stage::born().await;
    let before: Vec<String> = stage.view().groups().into_keys().collect();
    stage.apply(json!({"distribution": {"enabled": false, "desiredFaultDomains": 3, "required": true}}));
    stage.rest().await;
    stage.pass(300).await;
    assert!(before.iter().eq(stage.view().groups().keys()));
    assert_eq!(stage.writes("delete"), Vec::<String>::new());
}

/// Three domains, a fourth asked for, and no host without storage processes for it.
async fn without_a_fourth_host(required: bool) -> Stage {
    let stage = packed(3).await;
    let taken: BTreeSet<String> = stage.view().live("storage").iter().map(|id| stage.node(id)).collect();
    stage.change_nodes(|node| {
        let spare = !taken.contains(node.metadata.name.as_deref().unwrap());
        node.spec.get_or_insert_default().unschedulable = spare.then_some(true);
    });
    // Failures are replaced sooner than a domain is set aside, and many at once: that must not begin its time anew.
    let replacements = json!({"failureDetectionTimeSeconds": 120, "maxConcurrentReplacements": 5});
    stage.apply(json!({
        "distribution": {"desiredFaultDomains": 4, "required": required},
        "automationOptions": {"ignorePendingPodsDuration": 300_000_000_000_i64, "replacements": replacements},
    }));
    stage.until("it is told", |view| view.held("TooFewHosts")).await;
    let sentences = stage.view().sentences().join("\n");
    assert!(sentences.contains("no host was found for fault domain storage-3 of class storage"), "{sentences}");
    stage
}

fn set_aside(stage: &Stage) -> Vec<String> {
    let status = stage.view().status();
    let all = status["quorate"]["setAside"].as_array().into_iter().flatten();
    all.map(|aside| aside["faultDomain"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn d06_too_few_hosts_are_waited_for_where_all_domains_are_required() {
    let stage = without_a_fourth_host(true).await;
    let before = stage.view().live("storage");
    stage.stays("it waits", 1800, |view| view.held("TooFewHosts") && view.is_available()).await;
    assert_eq!(stage.view().live("storage"), before, "nobody is replaced by another who would wait as well");
    assert_eq!(set_aside(&stage), Vec::<String>::new());
    assert_eq!(stage.view().pods().values().filter(|pod| pod["spec"]["nodeName"].is_null()).count(), 1);
    assert!(stage.truth(|database| database.is_whole()), "whoever waits for a successor still serves");
    stage.cordon(false);
    stage.rest().await;
    assert_eq!(counts(&stage, "storage", 4), [2, 2, 1, 1]);
    all_say_the_same(&stage);
}

#[tokio::test(start_paused = true)]
async fn d07_a_domain_without_a_host_is_set_aside_and_taken_up_again() {
    let stage = without_a_fourth_host(false).await;
    stage.until("it is set aside", |_| !set_aside(&stage).is_empty()).await;
    assert_eq!(set_aside(&stage), ["storage-3"]);
    stage.rest().await;
    assert_eq!(counts(&stage, "storage", 4), [2, 2, 2, 0], "the band is counted over the domains in use");
    stage.pass(1800).await;
    assert_eq!(set_aside(&stage), ["storage-3"], "it is not tried again and again");
    stage.cordon(false);
    stage.until("it is taken up again", |_| set_aside(&stage).is_empty()).await;
    stage.rest().await;
    assert_eq!(counts(&stage, "storage", 4), [2, 2, 1, 1]);
    all_say_the_same(&stage);
}

#[tokio::test(start_paused = true)]
async fn d08_a_roll_takes_a_whole_domain_at_once() {
    let mut wish = domains(3);
    wish["processCounts"] = json!({"storage": 9});
    wish["automationOptions"] = json!({"podUpdateStrategy": "Delete"});
    let stage = Stage::born_as(wish).await;
    let before: BTreeMap<String, Option<String>> =
        stage.view().live("storage").into_iter().map(|id| (id.clone(), stage.view().uid(&id))).collect();
    let green = json!([{"name": "foundationdb", "env": [{"name": "COLOUR", "value": "green"}]}]);
    stage.apply(json!({"processes": {"storage": {"podTemplate": {"spec": {"containers": green}}}}}));
    let mut left: BTreeSet<String> = before.keys().cloned().collect();
    let mut waves = Vec::new();
    while !left.is_empty() {
        let goes = |view: View<'_>, id: &String| {
            view.uid(id) != before[id] || !view.pod(id).unwrap()["metadata"]["deletionTimestamp"].is_null()
        };
        stage.until("pods go", |view| left.iter().any(|id| goes(view, id))).await;
        stage.pass(2).await;
        let (gone, stay): (BTreeSet<String>, BTreeSet<String>) = left.into_iter().partition(|id| goes(stage.view(), id));
        left = stay;
        let zones: BTreeSet<Option<String>> = gone.iter().map(|id| stage.view().groups()[id].zone.clone()).collect();
        waves.push((zones.len(), gone.len()));
    }
    stage.rest().await;
    assert!(before.iter().all(|(id, uid)| stage.view().uid(id) != *uid), "all are made again");
    assert_eq!(waves, [(1, 3), (1, 3), (1, 3)], "one domain and all of it, three times");
    all_say_the_same(&stage);
}

#[tokio::test(start_paused = true)]
async fn d09_who_fails_is_replaced_within_its_domain() {
    let stage = packed(3).await;
    let lost = stage.view().live("storage").into_iter().find(|id| !stage.view().coordinators().contains(id)).unwrap();
    stage.part(&lost);
    stage.until("it is replaced", |view| !view.has(&lost)).await;
    stage.rest().await;
    assert_eq!(counts(&stage, "storage", 3), [2, 2, 2]);
    all_say_the_same(&stage);
}

/// The API says what is wrong, and nobody moves for it.
async fn is_refused(born: Value, bad: Value, words: &[&str]) {
    let stage = Stage::born_as(born).await;
    let before: Vec<String> = stage.view().groups().into_keys().collect();
    let refused = format!("{:?}", stage.try_apply(bad).unwrap_err());
    for word in words {
        assert!(refused.contains(word), "{word} is not in {refused}");
    }
    stage.pass(60).await;
    assert!(stage.view().is_at_rest() && before.iter().eq(stage.view().groups().keys()));
}

const FIELD: &str = "spec.distribution.desiredFaultDomains";

#[tokio::test(start_paused = true)]
async fn d10_fewer_domains_than_the_mode_needs_are_refused() {
    is_refused(json!({}), domains(0), &[FIELD, "is 0", "double", "at least 2"]).await;
    is_refused(json!({}), domains(1), &[FIELD, "is 1", "double", "at least 2"]).await;
}

#[tokio::test(start_paused = true)]
async fn d11_a_mode_that_needs_more_domains_is_refused() {
    let triple = json!({"databaseConfiguration": {"redundancy_mode": "triple"}});
    is_refused(domains(2), triple, &[FIELD, "is 2", "triple", "at least 3"]).await;
}

#[tokio::test(start_paused = true)]
async fn d12_domains_without_hosts_to_spread_over_are_refused() {
    for key in ["foundationdb.org/none", "foundationdb.org/kubernetes-cluster"] {
        is_refused(domains(3), json!({"faultDomain": {"key": key}}), &["spec.faultDomain", key]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn d13_halls_by_node_label_are_refused() {
    let hall = json!({"localities": [{"key": "data_hall", "topologyKey": "topology.kubernetes.io/zone"}]});
    is_refused(domains(3), hall, &["spec.distribution", "data hall", "topologyKey"]).await;
}
