//! Built-in kinds: what the server fills in and what it refuses.

use serde_json::{Value, json};

use crate::ground::{Ground, config_map, pod};

fn without_chance(mut pod: Value) -> Value {
    let text = serde_json::to_string(&pod["spec"]).unwrap();
    let token = text.split("kube-api-access-").nth(1).map(|rest| rest[..5].to_owned()).unwrap_or_default();
    let text = text.replace(&format!("kube-api-access-{token}"), "kube-api-access-xxxxx");
    pod["spec"] = serde_json::from_str(&text).unwrap();
    for toleration in pod["spec"]["tolerations"].as_array_mut().unwrap() {
        // The test's control plane has a shorter patience than a usual one.
        toleration["tolerationSeconds"] = json!(300);
    }
    pod
}

pub async fn a_pod_is_completed(ground: Ground) {
    let mut given = pod("p");
    given["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": 1, "memory": "1024Mi"}});
    given["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80}]);
    given["spec"]["containers"][0]["livenessProbe"] = json!({"httpGet": {"port": 80}});
    given["spec"]["containers"][0]["env"] = json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    given["spec"]["volumes"] = json!([{"name": "c", "configMap": {"name": "c"}}, {"name": "e"}]);
    let pod = without_chance(ground.post(&ground.path("pods"), given).await.ok());
    let spec = json!({
        "volumes": [
            {"name": "c", "configMap": {"name": "c", "defaultMode": 420}}, {"name": "e", "emptyDir": {}},
            {"name": "kube-api-access-xxxxx", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
            ]}},
        ],
        "containers": [{
            "name": "main", "image": "example.test/image:1", "imagePullPolicy": "IfNotPresent",
            "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}},
            "livenessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
            "volumeMounts": [{"name": "kube-api-access-xxxxx", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        }],
        "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "serviceAccountName": "default",
        "serviceAccount": "default", "securityContext": {}, "schedulerName": "nobody", "priority": 0, "enableServiceLinks": true,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        ],
    });
    assert_eq!(pod["spec"], spec);
    assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "Guaranteed"}));
    assert_eq!(pod["metadata"]["generation"], 1);
}

pub async fn a_pod_hardly_changes(ground: Ground) {
    ground.post(&ground.path("pods"), pod("p")).await.ok();
    let path = ground.path("pods/p");
    let changed =
        ground.strategic(&path, json!({"spec": {"containers": [{"name": "main", "image": "example.test/image:2"}]}})).await.ok();
    assert_eq!(changed["metadata"]["generation"], 2);
    let refused = ground.merge(&path, json!({"spec": {"nodeName": "n1"}})).await;
    let (code, _, message) = refused.refusal();
    assert_eq!(code, 422);
    assert!(
        message.starts_with(
            "Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
        ),
        "{message}"
    );
    let empty = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}, "spec": {"containers": []}});
    assert_eq!(
        ground.post(&ground.path("pods"), empty).await.refusal(),
        (422, "Invalid", "Pod \"q\" is invalid: spec.containers: Required value")
    );
}

pub async fn a_service_gets_an_address(ground: Ground) {
    let services = ground.path("services");
    let service = ground.post(&services, json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})).await.ok();
    let address = service["spec"]["clusterIP"].as_str().unwrap().to_owned();
    assert!(address.starts_with("10.96."), "{address}");
    let expected = json!({
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}], "clusterIP": address, "clusterIPs": [address], "type": "ClusterIP",
        "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
    });
    assert_eq!(service["spec"], expected);
    assert_eq!(service["status"], json!({"loadBalancer": {}}));
    let refused = ground.merge(&format!("{services}/s"), json!({"spec": {"clusterIP": "10.96.9.9"}})).await;
    let message = "Service \"s\" is invalid: spec.clusterIPs[0]: Invalid value: [\"10.96.9.9\"]: may not change once set";
    assert_eq!(refused.refusal(), (422, "Invalid", message));
    let headless = ground
        .post(&services, json!({"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}}))
        .await
        .ok();
    assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
    assert_eq!(ground.delete(&format!("{services}/s"), json!({})).await.ok()["kind"], "Service");
}

pub async fn a_claim_waits_and_is_protected(ground: Ground) {
    let claim = json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}});
    let claim = ground.post(&ground.path("persistentvolumeclaims"), claim).await.ok();
    assert_eq!(
        claim["spec"],
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"})
    );
    assert_eq!(
        (&claim["status"], &claim["metadata"]["finalizers"]),
        (&json!({"phase": "Pending"}), &json!(["kubernetes.io/pvc-protection"]))
    );
    let path = ground.path("persistentvolumeclaims/c");
    let refused = ground.merge(&path, json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}})).await;
    let message = "PersistentVolumeClaim \"c\" is invalid: spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    assert!(refused.refusal().2.starts_with(message), "{}", refused.refusal().2);
    ground.delete(&path, json!({})).await.ok();
    ground.until("the claim is gone", || async { ground.get(&path).await.code == 404 }).await;
}

pub async fn events_are_the_same_in_both_groups(ground: Ground) {
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal",
        "reason": "Told", "action": "Tell", "note": "a story", "reportingController": "example.test/teller", "reportingInstance": "one",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": ground.namespace},
    });
    ground.post(&ground.path_in("events.k8s.io/v1", "events"), event).await.ok();
    let core = ground.get(&ground.path("events/e")).await.ok();
    assert_eq!(
        (&core["message"], &core["involvedObject"]["name"], &core["reportingComponent"]),
        (&json!("a story"), &json!("p"), &json!("example.test/teller"))
    );
    let found = ground.get(&ground.path("events?fieldSelector=involvedObject.name%3Dp,reason%3DTold,type%3DNormal")).await.ok();
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
}

pub async fn a_secret_takes_plain_text(ground: Ground) {
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"a": "text"}});
    let secret = ground.post(&ground.path("secrets"), secret).await.ok();
    assert_eq!((&secret["data"], &secret["type"]), (&json!({"a": "dGV4dA=="}), &json!("Opaque")));
    ground.merge(&ground.path("secrets/s"), json!({"immutable": true})).await.ok();
    let refused = ground.merge(&ground.path("secrets/s"), json!({"data": {"a": "b3RoZXI="}})).await;
    assert_eq!(
        refused.refusal(),
        (422, "Invalid", "Secret \"s\" is invalid: data: Forbidden: field is immutable when `immutable` is set")
    );
}

pub async fn keys_of_a_config_map_are_file_names(ground: Ground) {
    let refused = ground.post(&ground.path("configmaps"), config_map("one", json!({"a/b": "1"}))).await;
    let message = "ConfigMap \"one\" is invalid: data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    assert_eq!(refused.refusal(), (422, "Invalid", message));
}
