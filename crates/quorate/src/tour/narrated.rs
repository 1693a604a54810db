//! What the operator did, in words: what it does many times in one second is one line.

use std::time::Duration;

use quorate_fdb_client::{Call, Change, Commit, Management};
use quorate_world::stage::{Did, Entry};

/// A line per second and kind of call, with the time of the first.
pub(super) fn narrated(entries: &[Entry]) -> Vec<(Duration, String)> {
    let mut lines: Vec<Line> = Vec::new();
    for Entry { at, did } in entries {
        let Some((verb, kind, name)) = told(did) else { continue };
        let same = |line: &&mut Line| line.at.as_secs() == at.as_secs() && (&line.verb, &line.kind) == (&verb, &kind);
        match lines.iter_mut().find(same) {
            Some(line) => line.names.push(name),
            None => lines.push(Line { at: *at, verb, kind, names: vec![name] }),
        }
    }
    lines.into_iter().map(|line| (line.at, line.text())).collect()
}

struct Line {
    at: Duration,
    verb: String,
    kind: String,
    names: Vec<String>,
}

impl Line {
    fn text(&self) -> String {
        let Self { verb, kind, names, .. } = self;
        match names.as_slice() {
            [name] => format!("{verb} {kind} {name}").trim_end().to_owned(),
            [one, other] => format!("{verb} {kind}s {one} and {other}"),
            [first, .., last] => format!("{verb} {} {kind}s, {first} to {last}", names.len()),
            [] => String::new(),
        }
    }
}

/// Verb, kind and name. Leases, events and the status are written all the time; who wants to know counts them.
fn told(did: &Did) -> Option<(String, String, String)> {
    match did {
        Did::Refused(failure) => Some(("the database did not do that:".to_owned(), failure.to_string(), String::new())),
        _ if !did.writes() => None,
        Did::Kubernetes(call, _) => {
            if call.subresource == "status" || call.resource.starts_with("leases") || call.resource.starts_with("events") {
                return None;
            }
            let verb = match call.verb {
                "create" => "creates",
                "delete" => "deletes",
                _ => "changes",
            };
            Some((format!("quorate {verb}"), kind(&call.resource).to_owned(), call.name.clone()))
        }
        Did::Database(call) => {
            let (verb, what) = asked(call)?;
            Some((format!("quorate {verb}"), what, String::new()))
        }
    }
}

fn kind(resource: &str) -> &str {
    match resource.split('.').next().unwrap_or(resource) {
        "pods" => "pod",
        "persistentvolumeclaims" => "volume claim",
        "services" => "service",
        "configmaps" => "config map",
        "poddisruptionbudgets" => "disruption budget",
        other => other,
    }
}

fn asked(call: &Call) -> Option<(&'static str, String)> {
    Some(match call {
        Call::Look(_) => return None,
        Call::Kill(addresses) => ("restarts", format!("{} servers, all at once", addresses.len())),
        Call::Commit(Commit { manage, .. }) => match manage.as_ref()? {
            Management::Configure(Change { new: Some(_), .. }) => ("creates", "the database (configure new)".to_owned()),
            Management::Configure(Change { keys, .. }) => {
                ("configures", keys.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            Management::Exclude(places) => ("excludes", places.join(", ")),
            Management::Include(places) => ("includes again", places.join(", ")),
            Management::Coordinators(addresses) => ("changes the coordinators to", addresses.join(", ")),
            other => ("asks the database for", format!("{other:?}")),
        },
    })
}

/// How often something was asked of a database.
pub(super) fn times(entries: &[Entry], which: impl Fn(&Call) -> bool) -> usize {
    entries.iter().filter(|entry| matches!(&entry.did, Did::Database(call) if which(call))).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_world::kubernetes::CallInfo;

    fn entry(second: u64, verb: &'static str, resource: &str, name: &str, subresource: &str) -> Entry {
        let call = CallInfo {
            number: 0,
            client: "operator".to_owned(),
            verb,
            resource: resource.to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
        };
        Entry { at: Duration::from_secs(second), did: Did::Kubernetes(call, 200) }
    }

    #[test]
    fn what_is_done_many_times_in_a_second_is_one_line_and_reads_are_none() {
        let entries = [
            entry(1, "create", "pods", "a", ""),
            entry(1, "create", "pods", "b", ""),
            entry(1, "create", "pods", "c", ""),
            entry(1, "update", "foundationdbclusters.apps.foundationdb.org", "x", "status"),
            entry(1, "list", "pods", "", ""),
            entry(2, "delete", "pods", "b", ""),
        ];
        let lines: Vec<String> = narrated(&entries).into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines, ["quorate creates 3 pods, a to c", "quorate deletes pod b"]);
    }
}
