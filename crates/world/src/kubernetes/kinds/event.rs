//! Events: two groups show the same objects under different names.

use serde_json::{Map, Value};

/// The names of a field in the core group, in which events are stored, and in `events.k8s.io`.
const NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(crate) fn to_events_group(event: Value) -> Value {
    renamed(event, |name| NAMES.iter().find(|(core, _)| *core == name).map(|(_, new)| *new))
}

pub(crate) fn from_events_group(event: Value) -> Value {
    let mut event = renamed(event, |name| NAMES.iter().find(|(_, new)| *new == name).map(|(core, _)| *core));
    event["apiVersion"] = "v1".into();
    event
}

fn renamed(event: Value, name: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Value::Object(fields) = event else { return event };
    let rename = |(key, value): (String, Value)| (name(&key).map_or(key, str::to_owned), value);
    Value::Object(fields.into_iter().map(rename).collect::<Map<_, _>>())
}
