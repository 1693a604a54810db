//! Both API objects on a real API server: the CRDs install, what users write is taken whole, what is wrong is refused with a reason.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../crates/api/tests/examples/mod.rs"]
mod examples;

use std::path::{Path, PathBuf};

use examples::{Kind, examples};
use quorate_e2e::{Case, ControlPlane};
use serde_json::Value;

/// A case on the shared control plane, with the CRDs installed by plain `kubectl apply`.
async fn case(name: &str) -> Case<'static> {
    let case = ControlPlane::shared().case(name).await.unwrap();
    case.install_crds().unwrap();
    case
}

#[tokio::test]
async fn the_crds_install_and_can_be_applied_again() {
    let case = case("crds_install").await;
    for crd in quorate_api::crds() {
        let printed = case.kubectl.apply(&quorate_api::to_yaml(&crd)).unwrap().expect_ok();
        assert!(printed.contains("unchanged") || printed.contains("configured"), "{printed}");
        let name = format!("crd/{}", crd["metadata"]["name"].as_str().unwrap());
        let installed: Value =
            serde_json::from_str(&case.kubectl.run(&["get", &name, "-o", "json"]).unwrap().expect_ok()).unwrap();
        let conditions = installed["status"]["conditions"].as_array().unwrap();
        assert!(!conditions.iter().any(|condition| condition["type"] == "NonStructuralSchema"), "{conditions:#?}");
        let names_accepted =
            conditions.iter().any(|condition| condition["type"] == "NamesAccepted" && condition["status"] == "True");
        assert!(names_accepted, "{conditions:#?}");
    }
    let short = case.kubectl.run(&["get", "fdb"]).unwrap();
    assert!(short.err.contains("No resources found"), "{short:?}");
}

#[tokio::test]
async fn every_example_and_every_known_shape_reads_back_with_nothing_lost() {
    let case = case("nothing_lost").await;
    let files = [yaml_files("../examples"), yaml_files("shapes")].concat();
    assert!(files.len() >= 14, "only {} files were found", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for object in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
            let printed = case.kubectl.run_with_input(&["create", "-f", "-"], &object.to_string()).unwrap();
            assert!(printed.ok, "{}: {}", file.display(), printed.err);
            assert!(!printed.err.contains("unknown field"), "{}: {}", file.display(), printed.err);
            let name = format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
            let read: Value =
                serde_json::from_str(&case.kubectl.run(&["get", &name, "-o", "json"]).unwrap().expect_ok()).unwrap();
            assert_eq!(lost(&object, &read, ""), Vec::<String>::new(), "{}", file.display());
            typed_and_back(&read, &file);
            case.kubectl.run(&["delete", &name, "--wait=true"]).unwrap().expect_ok();
        }
    }
}

/// The shapes that claim to set every field do: otherwise "nothing lost" would say less than it seems to.
#[test]
fn the_shapes_with_every_field_have_every_field() {
    let kinds = [("foundationdb", quorate_api::foundationdb_crd()), ("logset", quorate_api::logset_crd())];
    for (name, crd) in kinds {
        let text = std::fs::read_to_string(repository(&format!("shapes/every-field-{name}.yaml"))).unwrap();
        let object: Value = serde_saphyr::from_str(&text).unwrap();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        // The one field that excludes another.
        let missing: Vec<_> = unset(schema, &object["spec"], "spec")
            .into_iter()
            .filter(|field| field != "spec.overlay.topologySpreadConstraints" && field != "spec.sharedStorage.fileSystem")
            .collect();
        assert_eq!(missing, Vec::<String>::new());
    }
}

/// Our own properties, which all have a description, that an object leaves out.
fn unset(schema: &Value, object: &Value, path: &str) -> Vec<String> {
    if object.is_null() {
        return vec![path.to_owned()];
    }
    let is_ours = |child: &Value| child.get("description").is_some();
    let below = |child: &Value, value: &Value, name: &str| unset(child, value, &format!("{path}.{name}"));
    match (&schema["properties"], &schema["items"], &schema["additionalProperties"]) {
        (Value::Object(properties), _, _) => properties
            .iter()
            .filter(|(_, child)| is_ours(child))
            .flat_map(|(name, child)| below(child, &object[name], name))
            .collect(),
        (_, items @ Value::Object(_), _) => below(items, &object[0], "[]"),
        (_, _, values @ Value::Object(_)) => below(values, object.as_object().unwrap().values().next().unwrap(), "{}"),
        _ => vec![],
    }
}

#[tokio::test]
async fn every_rule_refuses_with_its_message() {
    let case = case("every_rule").await;
    for kind in Kind::ALL {
        for (number, example) in examples(kind).into_iter().enumerate() {
            let name = format!("{}-{number}", example.rule);
            let named = |mut object: Value| {
                object["metadata"]["name"] = Value::String(name.clone());
                object
            };
            let resource = format!("{}/{name}", kind.name());
            if let Some(before) = example.before() {
                let before = named(before);
                case.kubectl.apply(&before.to_string()).unwrap().expect_ok();
                if let Some(status) = before.get("status") {
                    let patch = serde_json::json!({"status": status}).to_string();
                    case.kubectl
                        .run(&["patch", &resource, "--subresource=status", "--type=merge", "-p", &patch])
                        .unwrap()
                        .expect_ok();
                }
            }
            let refusal = case.kubectl.apply(&named(example.bad()).to_string()).unwrap().expect_refused();
            assert!(refusal.contains(&example.says), "{}\nexpected: {}\ngot: {refusal}", example.rule, example.says);
            if example.fragments.scale {
                let replicas = format!("--replicas={}", example.bad()["spec"]["replicas"]);
                let refusal = case.kubectl.run(&["scale", &resource, &replicas]).unwrap().expect_refused();
                assert!(refusal.contains(&example.says), "{} by scale\nexpected: {}\ngot: {refusal}", example.rule, example.says);
            }
            case.kubectl.apply(&named(example.good()).to_string()).unwrap().expect_ok();
            case.kubectl.run(&["delete", &resource]).unwrap().expect_ok();
        }
    }
}

#[tokio::test]
async fn a_status_takes_what_a_human_set_by_hand() {
    let case = case("open_status").await;
    let cluster = std::fs::read_to_string(repository("../examples/foundationdb/minimal.yaml")).unwrap();
    case.kubectl.apply(&cluster).unwrap().expect_ok();
    let status = serde_json::json!({"status": {"databaseConfiguration": {
        "redundancy_mode": "three_data_hall_fallback", "storage_engine": "ssd-of-next-year", "storage_migration_type": "somehow",
        "perpetual_storage_wiggle_locality": "no colon here",
    }}});
    let arguments = ["patch", "fdb/minimal", "--subresource=status", "--type=merge", "-p", &status.to_string()];
    case.kubectl.run(&arguments).unwrap().expect_ok();
    let read: Value =
        serde_json::from_str(&case.kubectl.run(&["get", "fdb/minimal", "-o", "json"]).unwrap().expect_ok()).unwrap();
    assert_eq!(lost(&status, &read, ""), Vec::<String>::new());
}

/// What is in `wanted` and not in `found`. Further fields in `found` are defaults and what the server adds.
fn lost(wanted: &Value, found: &Value, path: &str) -> Vec<String> {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => wanted
            .iter()
            .flat_map(|(name, value)| lost(value, found.get(name).unwrap_or(&Value::Null), &format!("{path}.{name}")))
            .collect(),
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => wanted
            .iter()
            .zip(found)
            .enumerate()
            .flat_map(|(i, (wanted, found))| lost(wanted, found, &format!("{path}[{i}]")))
            .collect(),
        (wanted, found) if wanted == found => vec![],
        (wanted, found) => vec![format!("{path}: {wanted} became {found}")],
    }
}

/// Our own types lose nothing either, apart from what is not ours to know.
fn typed_and_back(object: &Value, file: &Path) {
    let spec = &object["spec"];
    let back = if object["kind"] == "FoundationDBCluster" {
        let typed: quorate_api::foundationdb::FoundationDBCluster = serde_json::from_value(object.clone()).unwrap();
        serde_json::to_value(typed.spec).unwrap()
    } else {
        let typed: quorate_api::logset::LogSet = serde_json::from_value(object.clone()).unwrap();
        serde_json::to_value(typed.spec).unwrap()
    };
    let lost: Vec<_> = lost(spec, &back, "spec")
        .into_iter()
        // A quantity may be a number on the way in; it is a text with the same meaning on the way out.
        .filter(|line| !line.contains("someFieldOfALaterVersion") && !is_same_quantity(line))
        .collect();
    assert_eq!(lost, Vec::<String>::new(), "{}", file.display());
}

fn is_same_quantity(line: &str) -> bool {
    line.split_once(": ")
        .and_then(|(_, change)| change.split_once(" became "))
        .is_some_and(|(from, to)| format!("\"{from}\"") == to)
}

fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![repository(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("yaml") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
