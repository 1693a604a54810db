//! A pod in one line: how many containers are ready, and the one word that says most about it.

use jiff::Timestamp;
use serde_json::Value;

use super::age;
use crate::kubernetes::object::Metadata;

pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let statuses = pod["status"]["containerStatuses"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let total = pod["spec"]["containers"].as_array().map_or(0, Vec::len);
    let ready = statuses.iter().filter(|one| one["ready"] == true).count();
    let or_none = |text: &str| if text.is_empty() { "<none>".to_owned() } else { text.to_owned() };
    [
        pod.name().to_owned(),
        format!("{ready}/{total}"),
        word(pod, statuses),
        restarts(statuses, now),
        age::since(&pod["metadata"]["creationTimestamp"], now),
        or_none(pod.text(&["status", "podIP"])),
        or_none(pod.text(&["spec", "nodeName"])),
        or_none(pod.text(&["status", "nominatedNodeName"])),
        readiness_gates(pod),
    ]
    .map(Value::from)
    .into()
}

fn word(pod: &Value, statuses: &[Value]) -> String {
    let reason = pod.text(&["status", "reason"]);
    let mut word = if reason.is_empty() { pod.text(&["status", "phase"]) } else { reason }.to_owned();
    let scheduled = pod["status"]["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == "PodScheduled");
    if scheduled.is_some_and(|one| one["reason"] == "SchedulingGated") {
        "SchedulingGated".clone_into(&mut word);
    }
    let mut any_running = false;
    for status in statuses.iter().rev() {
        let waiting = status.text(&["state", "waiting", "reason"]);
        let ended = &status["state"]["terminated"];
        if !waiting.is_empty() {
            waiting.clone_into(&mut word);
        } else if !ended.is_null() {
            word = ended_word(ended);
        } else if status["ready"] == true && !status["state"]["running"].is_null() {
            any_running = true;
        }
    }
    if word == "Completed" && any_running {
        let ready = pod["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|one| one["type"] == "Ready" && one["status"] == "True");
        if ready { "Running" } else { "NotReady" }.clone_into(&mut word);
    }
    if pod.is_deleting() {
        let is_lost = pod.text(&["status", "reason"]) == "NodeLost";
        let is_over = matches!(pod.text(&["status", "phase"]), "Succeeded" | "Failed");
        if is_lost {
            "Unknown".clone_into(&mut word);
        } else if !is_over {
            "Terminating".clone_into(&mut word);
        }
    }
    word
}

fn ended_word(ended: &Value) -> String {
    match (ended.text(&["reason"]), ended["signal"].as_i64().unwrap_or(0), &ended["exitCode"]) {
        ("", 0, code) => format!("ExitCode:{code}"),
        ("", signal, _) => format!("Signal:{signal}"),
        (reason, _, _) => reason.to_owned(),
    }
}

fn restarts(statuses: &[Value], now: Timestamp) -> String {
    let count: i64 = statuses.iter().filter_map(|one| one["restartCount"].as_i64()).sum();
    let last = statuses.iter().map(|one| one.text(&["lastState", "terminated", "finishedAt"])).filter(|at| !at.is_empty()).max();
    match last {
        Some(at) if count > 0 => format!("{count} ({} ago)", age::since(&at.into(), now)),
        _ => count.to_string(),
    }
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod["spec"]["readinessGates"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let is_true = |gate: &&Value| {
        let kind = &gate["conditionType"];
        pod["status"]["conditions"].as_array().into_iter().flatten().any(|one| one["type"] == *kind && one["status"] == "True")
    };
    format!("{}/{}", gates.iter().filter(is_true).count(), gates.len())
}
