//! The pictures of docs/ are drawn from real plans; `QUORATE_UPDATE=1` draws them anew.

use jiff::{SignedDuration, Timestamp};
use quorate_foundationdb::forecast::{Assumed, Forecast, Hosts, forecast};
use quorate_foundationdb::{ProcessClass, Recorded};
use quorate_operator::checked_wish;

use super::*;

/// Only one class of a map.
fn only(class: ProcessClass, zones: &Zones) -> Zones {
    zones.iter().filter(|(other, _)| **other == class).map(|(class, zones)| (*class, zones.clone())).collect()
}

fn cluster(storage: u32, domains: u32) -> FoundationDBCluster {
    let object = json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
        "metadata": {"name": "sample", "namespace": "default", "uid": "6f1c"},
        "spec": {
            "version": "7.3.69", "processCounts": {"storage": storage},
            "distribution": {"enabled": true, "desiredFaultDomains": domains},
        },
    });
    serde_json::from_value(object).unwrap()
}

/// A cluster that is born, and then asked for another number of fault domains; each with what was decided in the end.
fn changed(storage: u32, before: u32, after: u32) -> (Forecast, Forecast) {
    let assumed = Assumed { now: Timestamp::UNIX_EPOCH, drain: SignedDuration::from_mins(10), hosts: Hosts::Enough };
    let (now, then) = (checked_wish(&cluster(storage, before)), checked_wish(&cluster(storage, after)));
    let born = forecast(&now, &Recorded::default(), &now, &assumed);
    let recorded = born.recorded.clone();
    let changed = forecast(&now, &recorded, &then, &assumed);
    (born, changed)
}

fn assert_drawn(name: &str, title: &str, zones: &Zones) {
    let drawn = svg(title, &only(ProcessClass::Storage, zones));
    let path = format!("{}/../../docs/pictures/{name}.svg", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("QUORATE_UPDATE").is_some() {
        std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, &drawn).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == drawn, "{name}.svg is not what is drawn now; run the tests with QUORATE_UPDATE=1 and look at it");
}

#[test]
fn from_three_domains_to_two_and_to_four() {
    let (before, fewer) = changed(6, 3, 2);
    assert_drawn("three-domains", "6 process groups in 3 fault domains", &before.after);
    assert_drawn("two-domains", "then in 2: the two of storage-2 went", &fewer.after);
    let (_, more) = changed(6, 3, 4);
    assert_drawn("four-domains", "then in 4: one of storage-2 went", &more.after);
    let gone = |plan: &Forecast| plan.goes.iter().filter(|id| id.0.starts_with("storage")).count();
    assert_eq!((gone(&fewer), gone(&more)), (2, 1));
}

#[test]
fn ten_in_four() {
    let (born, again) = changed(10, 4, 4);
    assert_drawn("ten-in-four", "10 process groups in 4 fault domains", &born.after);
    assert!(again.events.is_empty());
}

#[test]
fn a_map_in_the_terminal() {
    let (born, _) = changed(6, 3, 3);
    assert_eq!(
        text("default/sample", &only(ProcessClass::Storage, &born.after)),
        "default/sample\n  storage: 6 process groups in 3 zones, 2 to 2 in each\n    \
         storage-0  ■■ 14 17\n    storage-1  ■■ 15 18\n    storage-2  ■■ 16 19\n"
    );
}

#[test]
fn those_on_their_way_out_are_named_with_their_places() {
    let places = recorded(&json!([
        {"processGroupID": "storage-10", "processClass": "storage", "removalTimestamp": "2026-01-02T03:04:05Z"},
        {"processGroupID": "storage-7", "processClass": "storage", "removalTimestamp": "2026-01-02T03:04:05Z", "faultDomain": "n1"},
    ]));
    let told = "default/sample\n  no process groups yet\n  on their way out: storage-7 in n1, storage-10\n";
    assert_eq!(places.text(), told);
    let leaving = json!([{"processGroup": "storage-7", "zone": "n1"}, {"processGroup": "storage-10", "zone": null}]);
    assert_eq!(places.as_json(), json!({"zones": {}, "leaving": leaving, "setAside": []}));
}

#[test]
fn zones_and_process_groups_stand_in_the_order_of_their_numbers() {
    let group = |id: &str, zone: &str| json!({"processGroupID": id, "processClass": "storage", "faultDomain": zone});
    let groups = [group("storage-9", "storage-10"), group("storage-10", "storage-2"), group("storage-8", "storage-2")];
    let places = recorded(&json!(groups));
    assert_eq!(
        places.text(),
        "default/sample\n  storage: 3 process groups in 2 zones, 1 to 2 in each\n    \
         storage-2   ■■ 8 10\n    storage-10  ■ 9\n"
    );
    let shown = places.as_json()["zones"].to_string();
    assert_eq!(shown, r#"{"storage":{"storage-2":["storage-8","storage-10"],"storage-10":["storage-9"]}}"#);
}

/// The places of a cluster whose status records these process groups.
fn recorded(groups: &Value) -> Places {
    let mut cluster = cluster(6, 3);
    cluster.status = Some(serde_json::from_value(json!({"processGroups": groups})).unwrap());
    Places::of(&cluster)
}
