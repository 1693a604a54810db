//! The messages of the cluster: what could not be found out.

use serde_json::{Value, json};

use super::super::Database;
use super::super::recovery::Phase;
use super::super::times;

/// All messages.
pub(super) fn of(database: &Database) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut reasons = Vec::new();
    if database.distributor.is_none() && !database.available() {
        for (worker, words) in
            [("dataDistributor", "data distributor"), ("ratekeeper", "ratekeeper"), ("consistencyScan", "consistencyScan")]
        {
            let name = format!("unreachable_{worker}_worker");
            messages.push(json!({"name": name, "description": format!("Unable to locate the {words} worker.")}));
        }
    }
    if database.readable_configuration().is_none() {
        messages.push(json!({"name": "unreadable_configuration", "description": "Unable to read database configuration."}));
        messages.push(json!({
            "name": "fetch_consistency_scan_info_timeout",
            "description": "Fetching consistency scan information timed out.",
        }));
    }
    if !database.departed.is_empty() {
        let addresses: Vec<Value> = database.departed.keys().map(|address| json!({"address": address})).collect();
        messages.push(json!({
            "name": "unreachable_processes",
            "description": "The cluster has some unreachable processes.",
            "unreachable_processes": addresses,
        }));
    }
    let silent = |process: &super::super::process::Process| process.started + times::SILENT > database.now;
    if !database.departed.is_empty() || database.joined().any(silent) {
        reasons.push("Cannot retrieve all process status information.");
    }
    if database.readable_configuration().is_none() {
        reasons.push("Unable to retrieve idempotency ID status.");
        reasons.push("Unable to retrieve version epoch information (Operation timed out).");
    } else if !database.available() {
        if database.recovery_state().is_none() {
            reasons.push("Recovery Status unavailable.");
        }
        reasons.push("Unknown cache statistics.");
        reasons.push("Unknown performance state.");
    } else if matches!(database.phase, Phase::Accepting { .. }) && database.distributor.is_none() {
        reasons.push("Unknown performance state.");
    }
    if !reasons.is_empty() {
        let reasons: Vec<Value> = reasons.into_iter().map(|reason| json!({"description": reason})).collect();
        messages.push(json!({
            "name": "status_incomplete",
            "description": "Unable to retrieve all status information.",
            "reasons": reasons,
        }));
    }
    messages
}
