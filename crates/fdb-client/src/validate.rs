//! What can't be right is not sent. FoundationDB takes more than it should: an even number of coordinators, a maintenance time that is no
//! number (an unknown error comes back), the same coordinator twice ("unreachable, try again").

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::str::FromStr;

use crate::connection::{ConnectionString, Coordinator, Host};
use crate::contract::{Call, Change, Commit, Expectation, Failure, Look, Management, Range, Target, Write};

/// The only keys that are written as such; everything else is written by management changes.
pub const OWN_KEYS: &[u8] = b"\xff\x02/org.foundationdb.kubernetes-operator/";

const CLASSES: [&str; 23] = [
    "default",
    "unset",
    "storage",
    "transaction",
    "resolution",
    "stateless",
    "log",
    "commit_proxy",
    "grv_proxy",
    "proxy",
    "master",
    "router",
    "cluster_controller",
    "fast_restore",
    "data_distributor",
    "coordinator",
    "ratekeeper",
    "storage_cache",
    "backup",
    "blob_manager",
    "blob_worker",
    "encrypt_key_proxy",
    "consistency_scan",
];

/// What a new database must be told. FoundationDB accepts one without policies, and then its cluster controller fails an assertion again
/// and again (seen with 7.3.63).
const MANDATORY: [&str; 7] = [
    "log_anti_quorum",
    "log_engine",
    "log_replicas",
    "log_replication_policy",
    "storage_engine",
    "storage_replicas",
    "storage_replication_policy",
];

/// Set by the client itself, with the rest of what creating a database takes.
const INITIALIZED: &str = "initialized";

type Checked = Result<(), Failure>;

fn wrong<T>(field: &str, problem: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Invalid { field: field.to_owned(), problem: problem.into() })
}

/// Checks a call before anything of it is sent.
pub fn validate(target: &Target, call: &Call) -> Checked {
    if let Err(problem) = ConnectionString::from_str(&target.connection) {
        return wrong("connection", problem);
    }
    match call {
        Call::Look(Look { exclusions: _, ranges }) => ranges.iter().try_for_each(|range| readable("ranges", range)),
        Call::Commit(commit) => self::commit(commit),
        Call::Kill(addresses) => {
            some_and_unique("addresses", addresses)?;
            addresses.iter().try_for_each(|address| socket("addresses", address))
        }
    }
}

fn commit(commit: &Commit) -> Checked {
    for expectation in &commit.expect {
        match expectation {
            Expectation::Key(key, _) if key.0.starts_with(b"\xff\xff") => {
                return wrong("expect", format!("{key} is no key of the database"));
            }
            Expectation::Key(..) => {}
            Expectation::Range(range, rows) => {
                readable("expect", range)?;
                if rows.iter().any(|row| row.key < range.begin || row.key >= range.end) {
                    return wrong("expect", "a row lies outside its range");
                }
                if !rows.is_sorted_by(|one, next| one.key < next.key) {
                    return wrong("expect", "the rows are not in the order of their keys");
                }
            }
        }
    }
    commit.writes.iter().try_for_each(write)?;
    commit.manage.as_ref().map_or(Ok(()), |change| management(change, commit))
}

fn write(write: &Write) -> Checked {
    let own = |key: &[u8]| key.starts_with(OWN_KEYS) && key.len() > OWN_KEYS.len();
    match write {
        Write::Set(key, _) | Write::Clear(key) if !own(&key.0) => wrong("writes", format!("{key} is none of our keys")),
        Write::Set(..) | Write::Clear(_) => Ok(()),
        Write::ClearRange(Range { begin, end }) => {
            let mut after = OWN_KEYS.to_vec();
            if let Some(last) = after.last_mut() {
                *last += 1;
            }
            if begin >= end || !begin.0.starts_with(OWN_KEYS) || end.0 > after {
                return wrong("writes", format!("{begin} to {end} is not a range of our keys"));
            }
            Ok(())
        }
    }
}

fn management(change: &Management, commit: &Commit) -> Checked {
    match change {
        Management::Exclude(who) => excludable("exclude", who),
        Management::Include(who) => excludable("include", who),
        Management::IncludeBlindly(who) => {
            if !commit.expect.is_empty() || !commit.writes.is_empty() {
                return wrong("includeBlindly", "a database that is down can't be read or written besides");
            }
            excludable("includeBlindly", who)
        }
        Management::Coordinators(addresses) => {
            if !commit.writes.is_empty() {
                return wrong("writes", "a change of coordinators loses every other write");
            }
            coordinators(addresses)
        }
        Management::Configure(Change { new, keys }) => configure(new.as_deref(), keys.keys().map(String::as_str), commit),
        Management::Maintain { zone, seconds } => {
            if zone == "IgnoreSSFailures" {
                return wrong("zone", "IgnoreSSFailures is a word of the database's own");
            }
            if zone.is_empty() || !zone.bytes().all(|byte| byte.is_ascii_graphic()) {
                return wrong("zone", format!("`{zone}` is no zone"));
            }
            if *seconds == 0 { wrong("seconds", "0 would end at once") } else { Ok(()) }
        }
        Management::EndMaintenance => Ok(()),
        Management::ProcessClass { address, class } => {
            if !CLASSES.contains(&class.as_str()) {
                return wrong("class", format!("`{class}` is no class"));
            }
            socket("address", address)
        }
    }
}

fn configure<'a>(new: Option<&str>, keys: impl Iterator<Item = &'a str>, commit: &Commit) -> Checked {
    let keys: BTreeSet<&str> = keys.collect();
    if keys.is_empty() {
        return wrong("configure", "there is nothing to change");
    }
    let word = |key: &str| !key.is_empty() && key.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    if let Some(key) = keys.iter().find(|key| !word(key) || **key == INITIALIZED) {
        return wrong("configure", format!("`{key}` is nothing that can be configured"));
    }
    let Some(id) = new else { return Ok(()) };
    if id.len() != 32 || !id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return wrong("new", format!("`{id}` is not 16 bytes in lower-case hex"));
    }
    if let Some(missing) = MANDATORY.iter().find(|key| !keys.contains(*key)) {
        return wrong("configure", format!("a new database must be told `{missing}`"));
    }
    if !commit.expect.is_empty() || !commit.writes.is_empty() {
        return wrong("new", "in a database that does not exist nothing can be expected or written besides");
    }
    Ok(())
}

fn coordinators(addresses: &[String]) -> Checked {
    some_and_unique("coordinators", addresses)?;
    if addresses.len().is_multiple_of(2) {
        return wrong("coordinators", format!("{} is an even number: one less survives as much", addresses.len()));
    }
    let mut places = BTreeSet::new();
    for address in addresses {
        match Coordinator::from_str(address) {
            Ok(coordinator) => {
                if !places.insert((coordinator.host, coordinator.port)) {
                    return wrong("coordinators", format!("{address} is there twice"));
                }
            }
            Err(problem) => return wrong("coordinators", problem),
        }
    }
    Ok(())
}

/// `ip`, `ip:port`, or a locality; never with `:tls`.
fn excludable(field: &str, who: &[String]) -> Checked {
    some_and_unique(field, who)?;
    for one in who {
        let fits = match one.strip_prefix("locality_") {
            Some(locality) => locality.split_once(':').is_some_and(|(key, value)| {
                let word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
                word(key) && word(value)
            }),
            None => {
                is_socket(one) || matches!(Host::from_str(one), Ok(Host::Address(_))) || one.parse::<std::net::Ipv6Addr>().is_ok()
            }
        };
        if !fits {
            return wrong(field, format!("`{one}` is no address, no address and port, and no locality"));
        }
    }
    Ok(())
}

fn is_socket(text: &str) -> bool {
    SocketAddr::from_str(text).is_ok_and(|address| address.port() != 0)
}

fn socket(field: &str, text: &str) -> Checked {
    if is_socket(text) { Ok(()) } else { wrong(field, format!("`{text}` is no address and port")) }
}

fn readable(field: &str, range: &Range) -> Checked {
    if range.begin > range.end || range.end.0.as_slice() > b"\xff\xff".as_slice() {
        return wrong(field, format!("{} to {} is no range of keys", range.begin, range.end));
    }
    Ok(())
}

fn some_and_unique(field: &str, list: &[String]) -> Checked {
    if list.is_empty() {
        return wrong(field, "there is none");
    }
    let mut seen = BTreeSet::new();
    match list.iter().find(|one| !seen.insert(one.as_str())) {
        Some(twice) => wrong(field, format!("`{twice}` is there twice")),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
