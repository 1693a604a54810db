//! Which of the nodes that would do is best, by the weights of the default profile.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};

use super::pod_affinity::Preferences;
use super::topology_spread::Evenness;
use super::{node_affinity, resources, taints};
use crate::view::{ClusterView, name};

const TAINTS: i64 = 3;
const NODE_AFFINITY: i64 = 2;
const SPREAD: i64 = 2;
const POD_AFFINITY: i64 = 2;
const ROOM_LEFT: i64 = 1;
const BALANCE: i64 = 1;

/// The best node. Where several are equally good the first by name, where the real scheduler throws dice.
pub(super) fn best<'a>(pod: &Pod, feasible: &[&'a Node], view: &ClusterView<'a>) -> Option<&'a str> {
    let scores = scores(pod, feasible, view);
    let best = *scores.values().max()?;
    scores.into_iter().find(|(_, score)| *score == best).map(|(node, _)| node)
}

/// The score of every node that would do.
pub(super) fn scores<'a>(pod: &Pod, feasible: &[&'a Node], view: &ClusterView<'a>) -> BTreeMap<&'a str, i64> {
    let of_each = |score: &dyn Fn(&Node) -> i64| -> Vec<i64> { feasible.iter().map(|node| score(node)).collect() };
    let preferences = Preferences::of(pod, view);
    let columns = [
        (TAINTS, fewest_best(&of_each(&|node| taints::unwelcoming(pod, node)))),
        (NODE_AFFINITY, most_best(&of_each(&|node| node_affinity::preference(pod, node)))),
        (POD_AFFINITY, stretched(&of_each(&|node| preferences.sum(node)))),
        (SPREAD, evenness(pod, feasible, view)),
        (ROOM_LEFT, of_each(&|node| resources::room_left(pod, node, view))),
        (BALANCE, of_each(&|node| resources::balance(pod, node, view))),
    ];
    let total = |row: usize| columns.iter().map(|(weight, column)| weight * column[row]).sum();
    feasible.iter().enumerate().map(|(row, node)| (name(&node.metadata), total(row))).collect()
}

/// In proportion to the highest, which gets 100.
fn most_best(values: &[i64]) -> Vec<i64> {
    let most = values.iter().copied().max().unwrap_or_default();
    values.iter().map(|value| (value * 100).checked_div(most).unwrap_or_default()).collect()
}

/// 100 for none, 0 for the highest.
fn fewest_best(values: &[i64]) -> Vec<i64> {
    most_best(values).into_iter().map(|value| 100 - value).collect()
}

/// The lowest gets 0, the highest 100. Nothing when all are the same.
fn stretched(values: &[i64]) -> Vec<i64> {
    let lowest = values.iter().copied().min().unwrap_or_default();
    let range = values.iter().copied().max().unwrap_or_default() - lowest;
    values.iter().map(|value| stretch(value - lowest, range)).collect()
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "rounded exactly as the real scheduler does")]
fn stretch(above: i64, range: i64) -> i64 {
    if range == 0 { 0 } else { (100.0 * (above as f64 / range as f64)) as i64 }
}

/// 100 for the least crowded, less in proportion; nothing for a node without the labels.
fn evenness(pod: &Pod, feasible: &[&Node], view: &ClusterView<'_>) -> Vec<i64> {
    let Some(evenness) = Evenness::of(pod, feasible, view) else { return vec![0; feasible.len()] };
    let crowding: Vec<_> = feasible.iter().map(|node| evenness.crowding(pod, node, view)).collect();
    let most = crowding.iter().flatten().copied().max().unwrap_or_default();
    let least = crowding.iter().flatten().copied().min().unwrap_or_default();
    let score = |crowding: i64| (100 * (most + least - crowding)).checked_div(most).unwrap_or(100);
    crowding.iter().map(|crowding| crowding.map_or(0, score)).collect()
}
