//! The life of a container: it waits, runs, ends, and is started again after a while.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::outlook::earliest;
use super::settings::KubeletSettings;
use crate::view::{name, namespace, node_of};

/// How long a container waits before it is started again, and how a kubelet writes that. At first not at all.
const BACK_OFF: [(i64, &str); 7] =
    [(0, "0s"), (10, "10s"), (20, "20s"), (40, "40s"), (80, "1m20s"), (160, "2m40s"), (300, "5m0s")];
/// Who ran this long is forgiven earlier crashes.
const FORGIVEN_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// The exit code of a container that went down with its node, or was killed when its grace period ended.
const LOST: i32 = 255;
const KILLED: i32 = 137;

/// A container that is not there yet.
pub(super) fn waiting(container: &Container, reason: &str) -> ContainerStatus {
    let state = ContainerStateWaiting { reason: Some(reason.to_owned()), message: None };
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        state: Some(ContainerState { waiting: Some(state), ..ContainerState::default() }),
        started: Some(false),
        ..ContainerStatus::default()
    }
}

/// A container that starts.
pub(super) fn start(status: &mut ContainerStatus, now: Timestamp) {
    let running = ContainerStateRunning { started_at: Some(Time(now)) };
    status.state = Some(ContainerState { running: Some(running), ..ContainerState::default() });
    status.started = Some(true);
    status.ready = false;
}

/// An init container that did its work.
pub(super) fn complete(status: &mut ContainerStatus, now: Timestamp) {
    end(status, now, 0);
    status.ready = true;
}

/// A container that was asked to stop: it did, or it was killed at the end of the grace period.
pub(super) fn stop(status: &mut ContainerStatus, now: Timestamp, killed: bool) {
    if terminated(status).is_none() {
        end(status, now, if killed { KILLED } else { 0 });
    }
}

/// What becomes of a container whose node is there; and when to look again.
pub(super) fn advance(status: &mut ContainerStatus, now: Timestamp, pod: &Pod, settings: &KubeletSettings) -> Option<Timestamp> {
    let Some(started) = started_at(status) else { return restart_when_due(status, now) };
    if let Some(lost) = lost_power_since(started, now, pod, settings) {
        end(status, lost, LOST);
        restart(status, now);
        return advance(status, now, pod, settings);
    }
    let crash = settings.next_crash(pod, &status.name, started);
    if let Some((at, exit_code)) = crash.filter(|(at, _)| *at <= now) {
        let back_off = back_off_after(status, started, at);
        end(status, at, exit_code);
        if !is_restarted(pod, exit_code) {
            return None;
        }
        wait_for_restart(status, pod, back_off);
        return restart_when_due(status, now);
    }
    let ready_from = started + settings.readiness;
    let unready = settings.unready(pod).any(|during| during.contains(now));
    status.ready = now >= ready_from && !unready;
    let edges = settings.unready(pod).filter_map(|during| during.next_edge(now)).min();
    earliest(earliest(crash.map(|(at, _)| at), Some(ready_from).filter(|at| *at > now)), edges)
}

/// Whether a container ended for good.
pub(super) fn terminated(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.state.as_ref()?.terminated.as_ref()
}

fn started_at(status: &ContainerStatus) -> Option<Timestamp> {
    status.state.as_ref()?.running.as_ref()?.started_at.as_ref().map(|time| time.0)
}

fn end(status: &mut ContainerStatus, at: Timestamp, exit_code: i32) {
    let reason = if exit_code == 0 { "Completed" } else { "Error" };
    let ended = ContainerStateTerminated {
        exit_code,
        reason: Some(reason.to_owned()),
        started_at: started_at(status).map(Time),
        finished_at: Some(Time(at)),
        ..ContainerStateTerminated::default()
    };
    status.state = Some(ContainerState { terminated: Some(ended), ..ContainerState::default() });
    status.ready = false;
    status.started = Some(false);
}

/// Puts the end that was into the past, and waits.
fn wait_for_restart(status: &mut ContainerStatus, pod: &Pod, (_, back_off): (i64, &str)) {
    let (container, pod) = (&status.name, format!("{}_{}", name(&pod.metadata), namespace(&pod.metadata)));
    let waiting = ContainerStateWaiting {
        reason: Some("CrashLoopBackOff".to_owned()),
        message: Some(format!("back-off {back_off} restarting failed container={container} pod={pod}")),
    };
    status.last_state = status.state.replace(ContainerState { waiting: Some(waiting), ..ContainerState::default() });
}

/// Starts a container again when its back-off is over.
fn restart_when_due(status: &mut ContainerStatus, now: Timestamp) -> Option<Timestamp> {
    let waiting = status.state.as_ref()?.waiting.as_ref()?.message.as_deref()?;
    let (seconds, _) = BACK_OFF.into_iter().find(|(_, text)| waiting.starts_with(&format!("back-off {text} ")))?;
    let due = finished_at(status)? + SignedDuration::from_secs(seconds);
    if now < due {
        return Some(due);
    }
    start(status, now);
    status.restart_count += 1;
    None
}

fn restart(status: &mut ContainerStatus, now: Timestamp) {
    status.last_state = status.state.take();
    start(status, now);
    status.restart_count += 1;
}

fn finished_at(status: &ContainerStatus) -> Option<Timestamp> {
    status.last_state.as_ref()?.terminated.as_ref()?.finished_at.as_ref().map(|time| time.0)
}

/// Twice what it waited before its last start, within bounds.
fn back_off_after(status: &ContainerStatus, started: Timestamp, ended: Timestamp) -> (i64, &'static str) {
    let forgiven = ended.duration_since(started) >= FORGIVEN_AFTER;
    let Some(last) = finished_at(status).filter(|_| !forgiven) else { return BACK_OFF[0] };
    let waited = started.duration_since(last).as_secs();
    let level = BACK_OFF.iter().rposition(|(seconds, _)| *seconds <= waited).unwrap_or_default();
    BACK_OFF[(level + 1).min(BACK_OFF.len() - 1)]
}

/// When the node of a container lost power while it ran, if it is back.
fn lost_power_since(started: Timestamp, now: Timestamp, pod: &Pod, settings: &KubeletSettings) -> Option<Timestamp> {
    let losses = settings.losses(node_of(pod)?).filter(|(_, keeps_running)| !keeps_running).map(|(during, _)| during);
    losses.filter(|during| during.from > started && during.is_over(now)).map(|during| during.from).min()
}

fn is_restarted(pod: &Pod, exit_code: i32) -> bool {
    match pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()) {
        Some("Never") => false,
        Some("OnFailure") => exit_code != 0,
        _ => true,
    }
}
