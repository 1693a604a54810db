//! `quorate crds`, and the copies of the CRDs in the chart.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn printed() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_quorate")).arg("crds").output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn both_crds_are_printed() {
    let crds: Vec<Value> = serde_saphyr::from_multiple(&printed()).unwrap();
    let names: Vec<_> = crds.iter().map(|crd| crd["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["foundationdbclusters.apps.foundationdb.org", "logsets.core.matrixorigin.io"]);
}

#[test]
fn the_chart_has_what_is_printed() {
    let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/quorate-crds/templates");
    for (crd, file) in printed().split("---\n").filter(|part| !part.is_empty()).zip(["foundationdbclusters.yaml", "logsets.yaml"])
    {
        let path = charts.join(file);
        if std::env::var_os("QUORATE_UPDATE").is_some() {
            std::fs::write(&path, crd).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == crd, "{file} is not what `quorate crds` prints; run the tests with QUORATE_UPDATE=1 and commit it");
        assert!(!found.contains("{{"), "{file} must mean the same to Helm and to kubectl");
    }
}
