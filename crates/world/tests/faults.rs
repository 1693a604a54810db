//! What the embedded API has of its own: the same run twice is the same, calls are counted, things can go wrong on purpose, and what it
//! does not offer it says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use quorate_world::kubernetes::{Answer, CallInfo, Delivery, Done, Interceptor, Kubernetes, Status, Verdict, WatchInfo};
use serde_json::{Value, json};

fn world() -> Kubernetes {
    Kubernetes::new(|| jiff::Timestamp::UNIX_EPOCH)
}

fn map(name: &str) -> ConfigMap {
    ConfigMap { metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }, ..ConfigMap::default() }
}

/// An interceptor made of one verdict for writes, one for reads and one for events.
struct Faults {
    writes: Verdict,
    reads: Verdict,
    events: Delivery,
    seen: Mutex<Vec<(String, u16)>>,
}

impl Faults {
    fn none() -> Self {
        Self { writes: Verdict::Pass, reads: Verdict::Pass, events: Delivery::Now, seen: Mutex::default() }
    }
}

impl Interceptor for Faults {
    fn before(&self, call: &CallInfo) -> Verdict {
        if matches!(call.verb, "get" | "list") {
            self.reads.clone()
        } else if call.verb == "watch" {
            Verdict::Pass
        } else {
            self.writes.clone()
        }
    }

    fn after(&self, call: &CallInfo, done: &Done<'_>) {
        self.seen.lock().unwrap().push((call.verb.to_owned(), done.code));
    }

    fn deliver(&self, _watch: &WatchInfo, _event: &str, _name: &str) -> Delivery {
        self.events
    }
}

#[tokio::test]
async fn the_same_calls_give_the_same_bytes() {
    let run = async || {
        let kubernetes = world();
        let maps: Api<ConfigMap> = Api::namespaced(kubernetes.client("default"), "default");
        let mut generated = map("x");
        generated.metadata.name = None;
        generated.metadata.generate_name = Some("story-".to_owned());
        maps.create(&PostParams::default(), &generated).await.unwrap();
        maps.create(&PostParams::default(), &map("a")).await.unwrap();
        serde_json::to_string(&maps.list(&ListParams::default()).await.unwrap().items).unwrap()
    };
    assert_eq!(run().await, run().await);
}

#[tokio::test]
async fn calls_of_clients_are_counted_and_those_of_the_world_are_not() {
    let kubernetes = world();
    let maps: Api<ConfigMap> = Api::namespaced(kubernetes.client("default"), "default");
    maps.create(&PostParams::default(), &map("a")).await.unwrap();
    maps.get("a").await.unwrap();
    maps.get("b").await.unwrap_err();
    maps.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"x": "y"}}))).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    kubernetes.list::<ConfigMap>("").unwrap();
    let count = |verb: &str, number| ((verb.to_owned(), "configmaps".to_owned()), number);
    assert_eq!(kubernetes.counts(), BTreeMap::from([count("create", 1), count("get", 2), count("patch", 1), count("delete", 1)]));
}

#[tokio::test]
async fn a_write_can_fail_before_or_after_it_took_effect() {
    let kubernetes = world();
    let maps: Api<ConfigMap> = Api::namespaced(kubernetes.client("default"), "default");
    let overloaded = Status::injected(503, "ServiceUnavailable", "not now");
    kubernetes.intercept(Arc::new(Faults { writes: Verdict::Refuse(overloaded.clone()), ..Faults::none() }));
    maps.create(&PostParams::default(), &map("a")).await.unwrap_err();
    assert_eq!(kubernetes.get::<ConfigMap>("default", "a").unwrap_err().code, 404);
    let misleading = Arc::new(Faults { writes: Verdict::Mislead(overloaded), ..Faults::none() });
    kubernetes.intercept(misleading.clone());
    let error = maps.create(&PostParams::default(), &map("a")).await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 503), "{error}");
    kubernetes.get::<ConfigMap>("default", "a").unwrap();
    assert_eq!(*misleading.seen.lock().unwrap(), [("create".to_owned(), 201)]);
}

#[tokio::test]
async fn a_call_can_stay_without_an_answer() {
    let kubernetes = world();
    let maps: Api<ConfigMap> = Api::namespaced(kubernetes.client("default"), "default");
    for (verdict, happened) in [(Verdict::Lose, false), (Verdict::Silence, true)] {
        kubernetes.intercept(Arc::new(Faults { writes: verdict, ..Faults::none() }));
        let (parameters, object) = (PostParams::default(), map("a"));
        tokio::select! {
            biased;
            answer = maps.create(&parameters, &object) => panic!("it was answered: {answer:?}"),
            () = async { for _ in 0..100 { tokio::task::yield_now().await; } } => {}
        }
        assert_eq!(kubernetes.get::<ConfigMap>("default", "a").is_ok(), happened);
    }
}

#[tokio::test]
async fn a_server_can_lag_behind() {
    let kubernetes = world();
    let maps: Api<ConfigMap> = Api::namespaced(kubernetes.client("default"), "default");
    let before = kubernetes.revision();
    maps.create(&PostParams::default(), &map("a")).await.unwrap();
    kubernetes.intercept(Arc::new(Faults { reads: Verdict::Stale(before), ..Faults::none() }));
    assert!(maps.get_opt("a").await.unwrap().is_none());
    assert!(maps.list(&ListParams::default().fields("metadata.name=a")).await.unwrap().items.is_empty());
    // Who lags behind answers from before what is forgotten elsewhere.
    kubernetes.compact(kubernetes.revision());
    assert!(maps.list(&ListParams::default().fields("metadata.name=a")).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn server_side_apply_is_refused_in_words() {
    let kubernetes = world();
    let maps: Api<ConfigMap> = Api::namespaced(kubernetes.client("default"), "default");
    maps.create(&PostParams::default(), &map("a")).await.unwrap();
    // Most are sent to make something.
    for name in ["a", "b"] {
        let error = maps.patch(name, &PatchParams::apply("somebody"), &Patch::Apply(&map(name))).await.unwrap_err();
        let kube::Error::Api(status) = &error else { panic!("{error}") };
        assert_eq!((status.code, status.reason.as_str()), (415, "UnsupportedMediaType"), "{name}");
        assert!(status.message.contains("server-side apply is not part of this embedded API"), "{}", status.message);
        assert!(status.message.contains("use a merge or JSON patch"), "{}", status.message);
    }
}

#[test]
fn a_watch_can_lag_lose_and_end() {
    let kubernetes = world();
    let path = format!("/api/v1/namespaces/default/pods?watch=1&resourceVersion={}", kubernetes.revision());
    let request = http::Request::get(path).body(vec![]).unwrap();
    let Answer::Watch { watch, .. } = kubernetes.call(request) else { panic!("it is no watch") };
    let pod = |name: &str| {
        let pod =
            json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        kubernetes.create::<Pod>(&serde_json::from_value(pod).unwrap()).unwrap();
    };
    let next =
        || watch.try_next().map(|line| serde_json::from_slice::<Value>(&line).unwrap()["object"]["metadata"]["name"].clone());
    kubernetes.intercept(Arc::new(Faults { events: Delivery::Hold, ..Faults::none() }));
    pod("a");
    kubernetes.intercept(Arc::new(Faults { events: Delivery::Drop, ..Faults::none() }));
    pod("b");
    kubernetes.intercept(Arc::new(Faults::none()));
    pod("c");
    assert_eq!(next(), None, "what comes later does not overtake what is held");
    assert_eq!(kubernetes.watches()[0].1, 2);
    assert_eq!(kubernetes.release(watch.id, 1), 1);
    assert_eq!((next(), next()), (Some(json!("a")), None));
    kubernetes.release(watch.id, usize::MAX);
    assert_eq!((next(), next()), (Some(json!("c")), None));
    kubernetes.end_watches(|watch| watch.resource == "pods");
    assert!(watch.has_ended());
}

/// The world's own actors: a pod is bound, started, ended, and goes when the kubelet says so.
#[test]
fn a_pods_life_without_http() {
    let kubernetes = world();
    let pod = json!({"metadata": {"name": "a", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let mut pod = kubernetes.create::<Pod>(&serde_json::from_value(pod).unwrap()).unwrap();
    kubernetes.bind("default", "a", "n1").unwrap();
    pod.metadata.resource_version = None;
    pod.status.as_mut().unwrap().phase = Some("Running".to_owned());
    kubernetes.update_status(&pod).unwrap();
    let running = kubernetes.get::<Pod>("default", "a").unwrap();
    assert_eq!(running.spec.unwrap().node_name.as_deref(), Some("n1"));
    kubernetes.delete::<Pod>("default", "a", None).unwrap();
    assert_eq!(kubernetes.get::<Pod>("default", "a").unwrap().metadata.deletion_grace_period_seconds, Some(30));
    kubernetes.delete::<Pod>("default", "a", Some(0)).unwrap();
    assert_eq!(kubernetes.get::<Pod>("default", "a").unwrap_err().code, 404);
}
