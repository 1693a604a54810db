//! Where a behaviour is shown: the embedded API, or the real one.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use quorate_e2e::ControlPlane;
use quorate_world::kubernetes::Kubernetes;
use serde_json::{Value, json};

/// An API with a namespace for one behaviour.
pub struct Ground {
    pub client: Client,
    pub namespace: String,
    embedded: Option<Kubernetes>,
}

/// An answer with all that kube hides.
#[derive(Debug)]
pub struct Answered {
    pub code: u16,
    pub warnings: Vec<String>,
    pub body: Value,
}

impl Answered {
    /// The body of a call that must succeed.
    pub fn ok(self) -> Value {
        assert!(self.code < 300, "{} {:#}", self.code, self.body);
        self.body
    }

    /// The code, reason and message of a call that must be refused.
    pub fn refusal(&self) -> (u16, &str, &str) {
        assert!(self.code >= 400, "it was not refused: {} {:#}", self.code, self.body);
        assert_eq!(self.body["kind"], "Status");
        assert_eq!(self.body["status"], "Failure");
        assert_eq!(self.body["code"], self.code);
        (self.code, self.body["reason"].as_str().unwrap_or_default(), self.body["message"].as_str().unwrap_or_default())
    }

    /// The causes of a refusal as `field: message`, sorted: the server's own order depends on hashing.
    pub fn causes(&self) -> Vec<String> {
        let text = |cause: &Value| {
            format!("{}: {}", cause["field"].as_str().unwrap_or_default(), cause["message"].as_str().unwrap_or_default())
        };
        let mut causes: Vec<String> = self.body["details"]["causes"].as_array().into_iter().flatten().map(text).collect();
        causes.sort();
        causes
    }
}

impl Ground {
    /// The embedded API.
    pub async fn embedded(name: &str) -> Self {
        let kubernetes = Kubernetes::new(jiff::Timestamp::now);
        for crd in quorate_api::crds() {
            kubernetes.create_value(crd).unwrap();
        }
        let client = kubernetes.client("default");
        let namespace = name.replace('_', "-").chars().take(60).collect::<String>();
        let object =
            Namespace { metadata: ObjectMeta { name: Some(namespace.clone()), ..ObjectMeta::default() }, ..Namespace::default() };
        Api::all(client.clone()).create(&PostParams::default(), &object).await.unwrap();
        Self { client, namespace, embedded: Some(kubernetes) }
    }

    /// The real one.
    pub async fn real(name: &str) -> Self {
        Self::furnished(ControlPlane::shared(), name).await
    }

    /// A real one of its own, that forgets what was before within seconds. It ends with the control plane.
    pub async fn real_and_forgetful(name: &str) -> (ControlPlane, Self) {
        let control_plane = ControlPlane::start_forgetful(name).unwrap();
        let ground = Self::furnished(&control_plane, name).await;
        (control_plane, ground)
    }

    async fn furnished(control_plane: &ControlPlane, name: &str) -> Self {
        let case = control_plane.case(name).await.unwrap();
        case.install_crds().unwrap();
        let ground = Self { client: case.client.clone(), namespace: case.namespace.clone(), embedded: None };
        // The controllers furnish a namespace a moment after its creation.
        let account = ground.path("serviceaccounts/default");
        let bundle = ground.path("configmaps/kube-root-ca.crt");
        ground
            .until("the namespace is furnished", || async {
                ground.get(&account).await.code == 200 && ground.get(&bundle).await.code == 200
            })
            .await;
        ground
    }

    /// The embedded API, where this is it: for what a test can do to it only, such as forgetting history.
    pub fn embedded_api(&self) -> Option<&Kubernetes> {
        self.embedded.as_ref()
    }

    /// A path in the core group and this namespace.
    pub fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// A path in another group and this namespace.
    pub fn path_in(&self, group_version: &str, rest: &str) -> String {
        format!("/apis/{group_version}/namespaces/{}/{rest}", self.namespace)
    }

    pub fn logset_path(&self, rest: &str) -> String {
        self.path_in("core.matrixorigin.io/v1alpha1", rest)
    }

    /// Lets the controllers work until something is so.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, so: impl Fn() -> F) {
        for _ in 0..600 {
            if let Some(kubernetes) = &self.embedded {
                kubernetes.compute_budgets();
                kubernetes.collect_garbage();
            }
            if so().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it never came to this: {what}");
    }

    pub async fn send(&self, method: Method, path: &str, content_type: &str, accept: &str, body: Option<Value>) -> Answered {
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let mut request = Request::builder().method(method).uri(path).header("accept", accept);
        if !bytes.is_empty() {
            request = request.header("content-type", content_type);
        }
        let response = self.client.send(request.body(Body::from(bytes)).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter().map(|value| value.to_str().unwrap().to_owned()).collect();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Answered { code, warnings, body }
    }

    pub async fn get(&self, path: &str) -> Answered {
        self.send(Method::GET, path, "", "application/json", None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answered {
        self.send(Method::POST, path, "application/json", "application/json", Some(body)).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answered {
        self.send(Method::PUT, path, "application/json", "application/json", Some(body)).await
    }

    pub async fn delete(&self, path: &str, options: Value) -> Answered {
        self.send(Method::DELETE, path, "application/json", "application/json", Some(options)).await
    }

    pub async fn merge(&self, path: &str, change: Value) -> Answered {
        self.send(Method::PATCH, path, "application/merge-patch+json", "application/json", Some(change)).await
    }

    pub async fn strategic(&self, path: &str, change: Value) -> Answered {
        self.send(Method::PATCH, path, "application/strategic-merge-patch+json", "application/json", Some(change)).await
    }

    pub async fn json_patch(&self, path: &str, change: Value) -> Answered {
        self.send(Method::PATCH, path, "application/json-patch+json", "application/json", Some(change)).await
    }

    /// Watches a path and gives the events until `enough` of them came.
    pub async fn watch(&self, path_and_query: &str, enough: usize) -> Vec<Value> {
        let request = Request::get(path_and_query).header("accept", "application/json").body(Body::empty()).unwrap();
        let mut body = self.client.send(request).await.unwrap().into_body();
        let mut events = vec![];
        let mut text = String::new();
        while events.len() < enough {
            let frame = tokio::time::timeout(Duration::from_secs(20), body.frame()).await;
            let Ok(Some(Ok(frame))) = frame else { break };
            text.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
            while let Some((line, rest)) = text.split_once('\n') {
                events.push(serde_json::from_str(line).unwrap());
                text = rest.to_owned();
            }
        }
        events
    }
}

/// A config map.
#[allow(clippy::needless_pass_by_value, reason = "callers write the data where they call")]
pub fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A pod that no scheduler looks at.
pub fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "story"}},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "example.test/image:1"}]},
    })
}

/// A log set that is taken.
pub fn logset(name: &str) -> Value {
    json!({
        "apiVersion": "core.matrixorigin.io/v1alpha1", "kind": "LogSet", "metadata": {"name": name},
        "spec": {"image": "matrixorigin/matrixone:2.0.3", "replicas": 3, "volume": {"size": "10Gi"}, "sharedStorage": {"fileSystem": {"path": "/data"}}},
    })
}

/// The resourceVersion of an object or list.
pub fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

/// The type and object name of each event.
pub fn told(events: &[Value]) -> Vec<(&str, &str)> {
    events
        .iter()
        .map(|event| (event["type"].as_str().unwrap(), event["object"]["metadata"]["name"].as_str().unwrap_or_default()))
        .collect()
}
