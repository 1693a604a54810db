//! The operator under exactly the rules it ships with: through a cluster's whole life nothing is refused, and no rule is unused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use kube::client::{Body, ClientBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use quorate_e2e::life::{Ground, Stage};
use quorate_e2e::{ControlPlane, Kubelets};
use quorate_world::Fdbservers;
use quorate_world::database::Databases;
use quorate_world::monitor::MonitorSettings;
use serde_json::{Value, json};
use tower::util::MapRequestLayer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_runs_under_exactly_the_rules_it_ships_with() {
    let control_plane = ControlPlane::shared();
    let rules: Value = serde_saphyr::from_str(include_str!("../../charts/quorate/files/rules.yaml")).unwrap();
    let user = grant(control_plane, &rules).await;
    let (client, verbs_used) = recorded_client(&user).await;
    let databases = Databases::new(Timestamp::now);
    let servers = Fdbservers::new(databases.clone(), 0, MonitorSettings::default());
    let kubelets = Kubelets::start_with_servers(control_plane.client().await.unwrap(), servers);
    let ground = Ground::with_operator(control_plane, kubelets, Arc::new(databases), client).await.unwrap();
    live(&ground.stage("rules", 4).await.unwrap()).await;
    drop(ground);
    let allowed = rules.as_array().unwrap().iter().flat_map(|rule| {
        let texts = |field: &str| {
            rule[field].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let (groups, resources, verbs) = (texts("apiGroups"), texts("resources"), texts("verbs"));
        let of = move |verb: String| format!("{verb} {}/{}", groups[0], resources[0]);
        verbs.into_iter().map(of)
    });
    assert_eq!(*verbs_used.lock().unwrap(), allowed.collect::<BTreeSet<_>>());
}

/// Everything that a cluster is made of is made, changed and taken away.
async fn live(stage: &Stage<'_>) {
    // A service per pod, so that services go with their pods.
    stage.create(&json!({"routing": {"publicIPSource": "service"}, "processCounts": {"storage": 4}})).await;
    stage.settled().await;
    // The ConfigMap changes, and the volumes grow; volumes belong to the object from now on. Everything gets another label.
    stage
        .change(&json!({
            "volumeRetentionPolicy": "Delete",
            "labels": {"resourceLabels": {"team": "green"}},
            "processes": {"general": {
                "customParameters": ["knob_max_trace_lines=1000001"],
                "volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "32Gi"}}}},
            }},
        }))
        .await;
    stage.settled().await;
    let grown = |claim: &Value| claim["spec"]["resources"]["requests"]["storage"] == "32Gi";
    stage.until("the volumes to grow", async || stage.list("pvc").await.iter().all(grown)).await;
    let labelled = |object: &Value| object["metadata"]["labels"]["team"] == "green";
    for kind in ["pod", "pvc", "service", "configmap", "pdb"] {
        let ours = |object: &&Value| object["metadata"]["ownerReferences"].is_array();
        stage.until("the label", async || stage.list(kind).await.iter().filter(ours).all(labelled)).await;
    }
    // Pod, volume and service of one go.
    stage.change(&json!({"processCounts": {"storage": 3}})).await;
    stage.until("one to go", async || stage.list("pvc").await.len() == 6 && stage.list("pod").await.len() == 8).await;
    stage.settled().await;
}

/// A service account with these rules; gives its name as a user.
async fn grant(control_plane: &'static ControlPlane, rules: &Value) -> String {
    let case = control_plane.case("account").await.unwrap();
    let role = format!("quorate-{}", case.namespace);
    for object in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "quorate"}}),
        // Nodes and storage classes have no namespace, so a Role would not do.
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role}, "rules": rules}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "quorate", "namespace": case.namespace}],
        }),
    ] {
        case.kubectl.apply(&object.to_string()).unwrap().expect_ok();
    }
    format!("system:serviceaccount:{}:quorate", case.namespace)
}

/// A client of a user, and everything it asked for as `verb group/resource`.
async fn recorded_client(user: &str) -> (Client, Arc<Mutex<BTreeSet<String>>>) {
    let kubeconfig = Kubeconfig::read_from(ControlPlane::shared().kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    config.auth_info.impersonate = Some(user.to_owned());
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let recorder = Arc::clone(&asked);
    let record = move |request: http::Request<Body>| {
        recorder.lock().unwrap().insert(asked_for(request.method().as_str(), request.uri()));
        request
    };
    (ClientBuilder::try_from(config).unwrap().with_layer(&MapRequestLayer::new(record)).build(), asked)
}

fn asked_for(method: &str, uri: &http::Uri) -> String {
    let parts: Vec<_> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return uri.to_string(),
    };
    let rest = if let ["namespaces", _, rest @ ..] = rest { rest } else { rest };
    let resource = match rest {
        [resource, _, subresource] => format!("{resource}/{subresource}"),
        [resource, ..] => (*resource).to_owned(),
        [] => String::new(),
    };
    let verb = match (method, rest.len(), uri.query().is_some_and(|query| query.contains("watch=true"))) {
        ("GET", 1, true) => "watch",
        ("GET", 1, false) => "list",
        ("GET", ..) => "get",
        ("POST", ..) => "create",
        ("PUT", ..) => "update",
        ("PATCH", ..) => "patch",
        _ => "delete",
    };
    format!("{verb} {group}/{resource}")
}
