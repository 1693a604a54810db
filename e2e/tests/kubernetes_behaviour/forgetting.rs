//! What a server says that has forgotten how things were.

use serde_json::json;

use crate::ground::{Answered, Ground, config_map, version};

const INCONSISTENT: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

fn names(page: &Answered) -> Vec<&str> {
    page.body["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

pub async fn pages_that_are_forgotten_go_on_inconsistently(ground: Ground) {
    for name in ["map-0", "map-1", "map-2", "map-3"] {
        ground.post(&ground.path("configmaps"), config_map(name, json!({}))).await.ok();
    }
    let pages = |more: &str| ground.path(&format!("configmaps?limit=2&fieldSelector=metadata.name%21%3Dkube-root-ca.crt{more}"));
    let first = ground.get(&pages("")).await;
    assert_eq!(names(&first), ["map-0", "map-1"]);
    let (token, seen_at) = (first.body["metadata"]["continue"].as_str().unwrap().to_owned(), version(&first.body).to_owned());
    // Between two pages one goes, and another comes before the place where they are.
    ground.delete(&ground.path("configmaps/map-2"), json!({})).await.ok();
    ground.post(&ground.path("configmaps"), config_map("map-00", json!({}))).await.ok();
    ground.post(&ground.path("configmaps"), config_map("map-4", json!({}))).await.ok();
    if let Some(kubernetes) = ground.embedded_api() {
        kubernetes.compact(kubernetes.revision());
    }
    let next = pages(&format!("&continue={token}"));
    ground.until("the second page is forgotten", || async { ground.get(&next).await.code != 200 }).await;

    let refused = ground.get(&next).await;
    assert_eq!(refused.refusal(), (410, "Expired", INCONSISTENT));
    let token = refused.body["metadata"]["continue"].as_str().unwrap().to_owned();
    // The rest as it is now, from where the first page ended.
    let rest = ground.get(&pages(&format!("&continue={token}"))).await;
    assert_eq!((rest.code, names(&rest)), (200, vec!["map-3", "map-4"]), "{:#}", rest.body);
    let later = |version: &str| version.parse::<u64>().unwrap();
    assert!(later(version(&rest.body)) > later(&seen_at), "{:#}", rest.body["metadata"]);
    assert!(rest.body["metadata"].get("continue").is_none(), "{:#}", rest.body["metadata"]);

    let exact = ground.get(&ground.path(&format!("configmaps?resourceVersion={seen_at}&resourceVersionMatch=Exact"))).await;
    assert_eq!(exact.refusal(), (410, "Expired", "The resourceVersion for the provided list is too old."));
}
