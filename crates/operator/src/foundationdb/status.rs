//! The status: what it recorded is read before a decision, what was decided is written into it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use quorate_api::conditions::{AVAILABLE, DEPRECATED_FIELDS, FIELDS_WITHOUT_EFFECT, HELD, PROGRESSING};
use quorate_api::foundationdb::{
    BucketStatus, ClusterHealth, FoundationDBClusterStatus, Generations, HoldStatus, JournalEntry as RecordedEntry, LockStatus,
    ProcessGroupCondition, ProcessGroupStatus, QuorateStatus, SetAsideStatus,
};
use quorate_foundationdb::decide::{ClusterDecision, ClusterStatus};
use quorate_foundationdb::{Desired, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, Recorded, SetAside, reasons};
use quorate_quorum::buckets::Shown;
use quorate_quorum::{Epoch, Hold, Journal, JournalEntry};

use super::configuration;

/// So many holds of one reason are shown one by one.
const MOST_OF_A_REASON: usize = 100;

/// What an object's status recorded.
pub fn recorded_status(status: Option<&FoundationDBClusterStatus>) -> Recorded {
    let Some(status) = status else { return Recorded::default() };
    let quorate = status.quorate.clone().unwrap_or_default();
    let groups: BTreeMap<_, _> = status.process_groups.iter().flatten().filter_map(recorded_group).collect();
    // A status that was made by hand or by another operator has no last number; those in use tell.
    let highest = groups.keys().filter_map(ProcessGroupId::number).max().unwrap_or(0);
    Recorded {
        last_number: quorate.last_process_group_number.unwrap_or(0).max(highest),
        epoch: Epoch(quorate.epoch.unwrap_or(0)),
        reconciled: status.generations.as_ref().and_then(|generations| generations.reconciled),
        connection: status.connection_string.clone().filter(|connection| !connection.is_empty()),
        configured: status.configured == Some(true),
        running_version: status.running_version.clone().filter(|version| !version.is_empty()),
        set_aside: quorate.set_aside.iter().flatten().map(recorded_set_aside).collect(),
        groups,
    }
}

fn recorded_set_aside(aside: &SetAsideStatus) -> (String, SetAside) {
    let since = aside.since.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    (aside.fault_domain.clone(), SetAside { since, open_nodes: usize::try_from(aside.open_nodes).unwrap_or(0) })
}

/// What an object's status says was begun.
pub fn recorded_journal(status: Option<&FoundationDBClusterStatus>) -> Journal {
    let entries = status.and_then(|status| status.quorate.as_ref()).and_then(|quorate| quorate.journal.as_ref());
    let entry = |entry: &RecordedEntry| {
        let since = entry.since.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
        let recorded = JournalEntry { what: entry.what.clone(), uid: entry.uid.clone(), zone: entry.zone.clone(), since };
        (entry.name.clone(), recorded)
    };
    Journal(entries.into_iter().flatten().map(entry).collect())
}

/// Whether it can be read as a process group.
fn is_known(group: &ProcessGroupStatus) -> bool {
    group.process_group_id.is_some() && group.process_class.as_deref().is_some_and(|class| class.parse::<ProcessClass>().is_ok())
}

fn recorded_group(group: &ProcessGroupStatus) -> Option<(ProcessGroupId, ProcessGroup)> {
    let id = ProcessGroupId(group.process_group_id.clone()?);
    let class: ProcessClass = group.process_class.as_deref()?.parse().ok()?;
    let conditions = group.process_group_conditions.iter().flatten();
    let recorded = ProcessGroup {
        class,
        addresses: group.addresses.clone().unwrap_or_default(),
        fault_domain: group.fault_domain.clone(),
        packed: group.logical_fault_domain.unwrap_or(false),
        removal: group.removal_timestamp.as_ref().map(|time| time.0),
        exclusion: group.exclusion_timestamp.as_ref().map(|time| time.0),
        exclusion_skipped: group.exclusion_skipped.unwrap_or(false),
        conditions: conditions
            .filter_map(|condition| {
                let name = GroupCondition::from_name(condition.type_.as_deref()?)?;
                Some((name, Timestamp::from_second(condition.timestamp?).ok()?))
            })
            .collect(),
    };
    Some((id, recorded))
}

/// A status without its process groups: they are most of a large one, and made anew by every decision.
fn without_groups(status: &FoundationDBClusterStatus) -> FoundationDBClusterStatus {
    let FoundationDBClusterStatus {
        observed_generation,
        conditions,
        database_configuration,
        generations,
        health,
        required_addresses,
        has_incorrect_config_map,
        has_incorrect_service_config,
        needs_new_coordinators,
        running_version,
        connection_string,
        configured,
        has_listen_ips_for_all_pods,
        storage_servers_per_disk,
        log_servers_per_disk,
        image_types,
        process_groups: _,
        locks,
        maintenance_mode_info,
        desired_process_groups,
        reconciled_process_groups,
        quorate,
    } = status;
    FoundationDBClusterStatus {
        observed_generation: *observed_generation,
        conditions: conditions.clone(),
        database_configuration: database_configuration.clone(),
        generations: generations.clone(),
        health: health.clone(),
        required_addresses: required_addresses.clone(),
        has_incorrect_config_map: *has_incorrect_config_map,
        has_incorrect_service_config: *has_incorrect_service_config,
        needs_new_coordinators: *needs_new_coordinators,
        running_version: running_version.clone(),
        connection_string: connection_string.clone(),
        configured: *configured,
        has_listen_ips_for_all_pods: *has_listen_ips_for_all_pods,
        storage_servers_per_disk: storage_servers_per_disk.clone(),
        log_servers_per_disk: log_servers_per_disk.clone(),
        image_types: image_types.clone(),
        process_groups: None,
        locks: locks.clone(),
        maintenance_mode_info: maintenance_mode_info.clone(),
        desired_process_groups: *desired_process_groups,
        reconciled_process_groups: *reconciled_process_groups,
        quorate: quorate.clone(),
    }
}

/// The status that shows a decision. What is not ours in the status that was there stays.
pub(crate) fn shown_status(
    before: Option<&FoundationDBClusterStatus>,
    decision: &ClusterDecision,
    desired: &Desired,
    now: Timestamp,
) -> FoundationDBClusterStatus {
    let mut shown = before.map(without_groups).unwrap_or_default();
    let ClusterStatus {
        observed_generation,
        reconciled,
        epoch,
        groups,
        last_number,
        journal,
        desired_groups,
        reconciled_groups,
        available,
        healthy,
        full_replication,
        running_version,
        connection,
        configured,
        configuration,
        data_movement_priority,
        denied,
        set_aside,
        buckets,
    } = &decision.status;
    if !denied.is_empty() || shown.locks.is_some() {
        shown.locks = Some(LockStatus { lock_deny_list: (!denied.is_empty()).then(|| denied.clone()) });
    }
    shown.observed_generation = Some(*observed_generation);
    shown.generations = Some(Generations { reconciled: *reconciled, ..shown.generations.unwrap_or_default() });
    // What can't be read as a process group, such as one of a class that is not known here, is nobody's to forget.
    let unknown = before.and_then(|status| status.process_groups.as_ref()).into_iter().flatten();
    let unknown = unknown.filter(|group| !is_known(group)).cloned();
    shown.process_groups = Some(groups.iter().map(|(id, group)| shown_group(id, group)).chain(unknown).collect());
    shown.desired_process_groups = i32::try_from(*desired_groups).ok();
    shown.reconciled_process_groups = i32::try_from(*reconciled_groups).ok();
    shown.health = Some(ClusterHealth {
        available: *available,
        healthy: *healthy,
        full_replication: *full_replication,
        data_movement_priority: data_movement_priority.and_then(|priority| i32::try_from(priority).ok()),
    });
    shown.database_configuration = configuration::shown(shown.database_configuration, configuration);
    if connection.is_some() {
        shown.connection_string.clone_from(connection);
    }
    if *configured {
        // It never goes back.
        shown.configured = Some(true);
    }
    if running_version.is_some() {
        shown.running_version.clone_from(running_version);
    }
    shown.quorate = Some(QuorateStatus {
        epoch: Some(epoch.0),
        last_process_group_number: Some(*last_number),
        journal: Some(journal.0.iter().map(|(name, entry)| shown_entry(name, entry)).collect())
            .filter(|entries: &Vec<_>| !entries.is_empty()),
        holds: Some(shown_holds(&decision.holds, before, now)).filter(|holds| !holds.is_empty()),
        set_aside: Some(set_aside.iter().map(shown_set_aside).collect()).filter(|all: &Vec<_>| !all.is_empty()),
        buckets: Some(buckets.iter().map(shown_bucket).collect()).filter(|buckets: &Vec<_>| !buckets.is_empty()),
    });
    shown.conditions = Some(conditions(before, decision, desired, now));
    shown
}

fn shown_group(id: &ProcessGroupId, group: &ProcessGroup) -> ProcessGroupStatus {
    let ProcessGroup { class, addresses, fault_domain, packed, removal, exclusion, exclusion_skipped, conditions } = group;
    let condition = |(condition, since): (&GroupCondition, &Timestamp)| ProcessGroupCondition {
        type_: Some(condition.name().to_owned()),
        timestamp: Some(since.as_second()),
    };
    ProcessGroupStatus {
        process_group_id: Some(id.to_string()),
        process_class: Some(class.name().to_owned()),
        addresses: (!addresses.is_empty()).then(|| addresses.clone()),
        removal_timestamp: removal.map(|since| Time(whole_seconds(since))),
        exclusion_timestamp: exclusion.map(|since| Time(whole_seconds(since))),
        exclusion_skipped: exclusion_skipped.then_some(true),
        process_group_conditions: (!conditions.is_empty()).then(|| conditions.iter().map(condition).collect()),
        fault_domain: fault_domain.clone(),
        logical_fault_domain: packed.then_some(true),
    }
}

fn shown_set_aside((fault_domain, aside): (&String, &SetAside)) -> SetAsideStatus {
    SetAsideStatus {
        fault_domain: fault_domain.clone(),
        since: Some(Time(whole_seconds(aside.since))),
        open_nodes: i64::try_from(aside.open_nodes).unwrap_or(i64::MAX),
    }
}

fn shown_entry(name: &str, entry: &JournalEntry) -> RecordedEntry {
    let JournalEntry { what, uid, zone, since } = entry.clone();
    RecordedEntry { name: name.to_owned(), what, uid, zone, since: Some(Time(whole_seconds(since))) }
}

/// An object has limited room, and a status that does not fit stops everything. So where many wait for the same reason, all but the first of
/// them are one.
fn shown_holds(holds: &[Hold], before: Option<&FoundationDBClusterStatus>, now: Timestamp) -> Vec<HoldStatus> {
    let mut of_reason: BTreeMap<&str, Vec<&Hold>> = BTreeMap::new();
    let mut shown = Vec::new();
    for hold in holds {
        let alike = of_reason.entry(hold.reason.0).or_default();
        alike.push(hold);
        if alike.len() <= MOST_OF_A_REASON {
            shown.push(shown_hold(hold, before, now));
        }
    }
    let more = of_reason.values().filter_map(|alike| Some((alike.len().checked_sub(MOST_OF_A_REASON)?, alike.last()?)));
    let more = more.filter(|(more, _)| *more > 0).map(|(more, last)| {
        let sentence = format!("{more} more wait for the same reason, up to {}", last.about);
        let hold = Hold::new(last.reason, "others", sentence, last.released_by.clone()).compared(more, "none");
        shown_hold(&hold, before, now)
    });
    shown.extend(more);
    shown
}

/// What says nothing of when it began holds since it was first shown.
fn shown_hold(hold: &Hold, before: Option<&FoundationDBClusterStatus>, now: Timestamp) -> HoldStatus {
    let shown = before.and_then(|status| status.quorate.as_ref()?.holds.as_ref()).into_iter().flatten();
    let mut same = shown.filter(|shown| shown.reason == hold.reason.0 && shown.about == hold.about);
    let since = hold.since.or_else(|| Some(same.find_map(|shown| shown.since.as_ref())?.0)).unwrap_or(now);
    HoldStatus {
        reason: hold.reason.to_string(),
        about: hold.about.clone(),
        sentence: hold.sentence.clone(),
        measured: Some(hold.measured.clone()),
        threshold: Some(hold.threshold.clone()),
        since: Some(Time(whole_seconds(since))),
        released_by: hold.released_by.clone(),
    }
}

fn shown_bucket(bucket: &Shown) -> BucketStatus {
    let Shown { bucket, used, limit, held_by } = bucket.clone();
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    BucketStatus { bucket, used: number(used), limit: number(limit), held_by }
}

/// Kubernetes keeps whole seconds; anything finer would differ from what is read back, for ever.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn conditions(
    before: Option<&FoundationDBClusterStatus>,
    decision: &ClusterDecision,
    desired: &Desired,
    now: Timestamp,
) -> Vec<Condition> {
    let known = |yes: Option<bool>| yes.map_or("Unknown", |yes| if yes { "True" } else { "False" });
    let yes_no = |yes: bool| known(Some(yes));
    let first = reasons::most_urgent(&decision.holds);
    let held = match decision.holds.len() {
        0 => "nothing is held".to_owned(),
        1 => first.map(|hold| hold.sentence.clone()).unwrap_or_default(),
        many => format!("{} (and {} more)", first.map(|hold| hold.sentence.as_str()).unwrap_or_default(), many - 1),
    };
    let available = match decision.status.available {
        Some(true) => "the database can be read and written",
        Some(false) => "the database can't be used",
        None => "the database was not asked yet",
    };
    let doing = match decision.steps.as_slice() {
        [] => String::new(),
        [step] => format!("; now: {}", step.why),
        [step, others @ ..] => format!("; now: {} (and {} more)", step.why, others.len()),
    };
    let ready = format!(
        "{} of {} process groups are as they should be{doing}",
        decision.status.reconciled_groups, decision.status.desired_groups
    );
    let progressing =
        decision.status.reconciled != Some(desired.generation) || !decision.steps.is_empty() || !decision.holds.is_empty();
    let named = |fields: &[String], none: &str| if fields.is_empty() { none.to_owned() } else { fields.join("; ") };
    let wanted = [
        (AVAILABLE, known(decision.status.available), "DatabaseStatus", available.to_owned()),
        (PROGRESSING, yes_no(progressing), if progressing { "Working" } else { "AtRest" }, ready),
        (HELD, yes_no(first.is_some()), first.map_or("NothingHeld", |hold| hold.reason.0), held),
        (
            FIELDS_WITHOUT_EFFECT,
            yes_no(!desired.fields_without_effect.is_empty()),
            "SpecFields",
            named(&desired.fields_without_effect, "every field is acted on"),
        ),
        (
            DEPRECATED_FIELDS,
            yes_no(!desired.deprecated_fields.is_empty()),
            "SpecFields",
            named(&desired.deprecated_fields, "none is used"),
        ),
    ];
    let old = before.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let ours = wanted.map(|(type_, status, reason, message)| {
        let since = old.iter().find(|condition| condition.type_ == type_ && condition.status == status);
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            observed_generation: Some(desired.generation),
            last_transition_time: since
                .map_or_else(|| Time(whole_seconds(now)), |condition| condition.last_transition_time.clone()),
        }
    });
    let others = old.iter().filter(|condition| !ours.iter().any(|our| our.type_ == condition.type_)).cloned();
    others.chain(ours.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_quorum::Reason;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn shown(hold: &Hold, before: Option<&HoldStatus>, now: i64) -> HoldStatus {
        let quorate = before.map(|before| QuorateStatus { holds: Some(vec![before.clone()]), ..QuorateStatus::default() });
        let status = FoundationDBClusterStatus { quorate, ..FoundationDBClusterStatus::default() };
        shown_hold(hold, Some(&status), at(now))
    }

    #[test]
    fn a_hold_that_does_not_say_since_when_holds_since_it_was_first_shown() {
        let hold = |about: &str| Hold::new(Reason("NoHeadroom"), about, "too few would be left", "more of them").compared(1, 2);
        let since = |shown: &HoldStatus| shown.since.as_ref().map(|since| since.0);
        let first = shown(&hold("log-1"), None, 10);
        assert_eq!(since(&first), Some(at(10)));
        assert_eq!(since(&shown(&hold("log-1"), Some(&first), 20)), Some(at(10)), "it is the same one");
        assert_eq!(since(&shown(&hold("log-2"), Some(&first), 20)), Some(at(20)), "another one begins now");
        assert_eq!(since(&shown(&hold("log-1").since(at(5)), Some(&first), 20)), Some(at(5)), "its own word counts");
    }

    #[test]
    fn where_thousands_wait_for_the_same_reason_the_status_has_room_for_them() {
        let hold = |number: usize| {
            Hold::new(Reason("PodPending"), format!("storage-{number}"), "it finds no node", "a node with room").compared(1, 0)
        };
        let few: Vec<Hold> = (0..MOST_OF_A_REASON).map(hold).collect();
        assert_eq!(shown_holds(&few, None, at(10)).len(), MOST_OF_A_REASON, "these are shown one by one");
        let mut many: Vec<Hold> = (0..5000).map(hold).collect();
        many.push(Hold::new(Reason("NoHeadroom"), "log-1", "too few would be left", "more of them").compared(1, 2));
        let shown = shown_holds(&many, None, at(10));
        assert_eq!(shown.len(), MOST_OF_A_REASON + 2);
        assert_eq!(shown[MOST_OF_A_REASON].about, "log-1", "another reason is not lost among them");
        let others = &shown[MOST_OF_A_REASON + 1];
        assert_eq!(others.sentence, "4900 more wait for the same reason, up to storage-4999");
        assert!(serde_json::to_vec(&shown).unwrap().len() < 50_000);
    }
}
