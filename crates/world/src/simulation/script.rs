//! Everything that goes wrong in a run, written down beforehand. A run follows from its script alone, so a script that breaks something
//! can be kept, cut down and played again.

use serde::{Deserialize, Serialize};

use super::chance::Chance;
use super::scenario::Scenario;

/// What goes wrong, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    /// The scenario it was made for.
    pub scenario: String,
    /// The seed it was made from.
    pub seed: u64,
    /// In the order of their kinds and times.
    pub disturbances: Vec<Disturbance>,
}

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Disturbance {
    /// Something happens to the cluster, so many milliseconds after the beginning.
    At(u64, Trouble),
    /// A call of an operator goes wrong, by its number.
    Call(u64, CallFault),
    /// An event of an operator's watch goes wrong, by its number.
    Event(u64, EventFault),
}

/// Something that happens to the cluster. A `pick` chooses among what is there at that time; `seconds` says how long it lasts.
#[expect(missing_docs, reason = "the fields mean the same everywhere")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trouble {
    /// The database is filled.
    MuchData { bytes: u64 },
    /// A user deletes a pod.
    PodDeleted { pick: u64 },
    /// A node evicts a pod: it has failed, and stays as a record.
    PodEvicted { pick: u64 },
    /// A pod is deleted and does not go for a while, because somebody put a finalizer on it.
    PodStuckTerminating { pick: u64, seconds: u64 },
    /// Somebody else's pod takes the name of one of ours, and has ended.
    ForeignPod { pick: u64, seconds: u64 },
    /// Nothing is heard of a node.
    NodeLost { pick: u64, seconds: u64, keeps_running: bool },
    /// Nothing is heard of a whole zone.
    ZoneLost { pick: u64, seconds: u64, keeps_running: bool },
    /// No node takes new pods, so they stay pending.
    NodesCordoned { seconds: u64 },
    /// No volumes are made, so pods stay pending.
    VolumesStuck { seconds: u64 },
    /// A volume is lost: its claim is deleted by force, and its pod.
    VolumeLost { pick: u64 },
    /// A disk begins to fail: its process serves on, and complains.
    DiskWorn { pick: u64 },
    /// The clock of an operator jumps.
    ClockJump { seconds: i64 },
    /// All watches of the operators end.
    WatchesEnd,
    /// They end, and what happened before is forgotten: 410 Gone.
    HistoryForgotten,
    /// A user asks for one more log.
    Edit,
    /// A user asks for less storage, and takes it back.
    EditAndRevert { seconds: u64 },
    /// A user asks for another number of processes of a class.
    Resize { pick: u64 },
    /// A user asks for another number of logical fault domains, or for none.
    Domains { pick: u64 },
    /// A user asks for two logical fault domains, and for coordinators among storage alone: some of them share a domain.
    SharedDomains,
    /// A user asks for another shape of process groups, or for another way to go about it.
    Shape { pick: u64 },
    /// A user has automatic replacements counted in another way.
    Rationing { pick: u64 },
    /// A user sets a knob, for which servers must be restarted.
    Knob { pick: u64 },
    /// A user asks for other pods.
    Template { pick: u64 },
    /// A user asks for a process group to be removed.
    Remove { pick: u64 },
    /// A user asks for a process group to be removed as it is, with its data.
    RemoveAtOnce { pick: u64 },
    /// A server fails, and its monitor starts it again.
    ServerCrashed { pick: u64 },
    /// Nothing is heard of the node of a coordinator.
    CoordinatorLost { pick: u64, seconds: u64, keeps_running: bool },
    /// A node gets a taint that process groups leave it for.
    NodeTainted { pick: u64, seconds: u64 },
    /// Somebody excludes a process by hand, and includes it again.
    ExcludedByHand { pick: u64, seconds: u64 },
    /// Somebody changes the coordinators by hand.
    CoordinatorsByHand { pick: u64 },
    /// Somebody deletes all pods at once.
    AllPodsDeleted,
    /// Somebody deletes the object, and makes it again as it was, with the way to its database.
    ObjectMadeAgain { seconds: u64 },
    /// Somebody writes an empty status.
    StatusLost,
    /// A user asks for the cluster to be left alone for a while.
    Skip { seconds: u64 },
    /// Calls about leases fail for a while.
    LeaseOutage { seconds: u64 },
    /// Somebody deletes the lease.
    LeaseDeleted,
    /// A second operator starts; after a while the first one is asked to end.
    HandOver { seconds: u64 },
}

/// What happens to a call of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallFault {
    /// 429, not carried out.
    TooManyRequests,
    /// 429, and carried out.
    TooManyRequestsAfter,
    /// 500, not carried out.
    ServerError,
    /// 500, and carried out.
    ServerErrorAfter,
    /// 504, not carried out.
    TimeoutBefore,
    /// 504, and carried out.
    TimeoutAfter,
    /// 409, not carried out.
    Conflict,
    /// 409, and carried out: somebody in between sent it twice.
    ConflictAfter,
    /// The operator dies before it is carried out.
    CrashBefore,
    /// The operator dies after it was carried out.
    CrashAfter,
    /// Carried out and never answered.
    NoAnswer,
    /// Carried out so many seconds later.
    Late(u64),
    /// Carried out at once, and answered so many seconds later.
    SlowAnswer(u64),
    /// Answered as things were so many revisions ago.
    Stale(u64),
}

/// What happens to an event of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventFault {
    /// It comes so many seconds later, and all that follow it on this watch with it.
    Lag(u64),
    /// It never comes; so many seconds later the watch ends, and a list says how things are.
    Missed(u64),
}

/// So many calls and events have their fault written down; a run has fewer.
const LAST_NUMBER: u64 = 6_000;

impl Script {
    /// What goes wrong in this scenario with this seed.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let mut disturbances = Vec::new();
        let mut chance = Chance::new(seed, 0);
        let mut at = scenario.calm.as_secs() + chance.below(60);
        while at < (scenario.calm + scenario.disturbed).as_secs() {
            if let Some(trouble) = scenario.troubles(&mut chance) {
                disturbances.push(Disturbance::At(at * 1000 + chance.below(1000), trouble));
            }
            at += 5 + chance.below(90);
        }
        disturbances.extend(scenario.story.iter().map(|(at, trouble)| Disturbance::At(at * 1000, trouble.clone())));
        let mut chance = Chance::new(seed, 3);
        disturbances.extend(scenario.wished_at_birth(&mut chance).map(|wish| Disturbance::At(0, wish)));
        disturbances.extend(scenario.data(&mut chance).map(|data| Disturbance::At(scenario.calm.as_secs() * 1000, data)));
        let mut chance = Chance::new(seed, 1);
        for number in numbers(&mut chance, scenario.calls_one_in) {
            disturbances.push(Disturbance::Call(number, call_fault(&mut chance)));
        }
        let mut chance = Chance::new(seed, 2);
        for number in numbers(&mut chance, scenario.events_one_in) {
            let seconds = 1 + chance.below(40);
            let fault = if chance.one_in(6) { EventFault::Missed(seconds) } else { EventFault::Lag(seconds) };
            disturbances.push(Disturbance::Event(number, fault));
        }
        Self { scenario: scenario.name.to_owned(), seed, disturbances }
    }
}

/// Numbers with gaps that are `one_in` on average; none if that is 0.
fn numbers(chance: &mut Chance, one_in: u64) -> Vec<u64> {
    let (mut numbers, mut number) = (Vec::new(), 0);
    while one_in > 0 && number < LAST_NUMBER {
        number += 1 + chance.below(2 * one_in - 1);
        numbers.push(number);
    }
    numbers
}

fn call_fault(chance: &mut Chance) -> CallFault {
    match chance.below(17) {
        0 => CallFault::TooManyRequests,
        1 => CallFault::TooManyRequestsAfter,
        2 => CallFault::ServerError,
        3 => CallFault::ConflictAfter,
        4 => CallFault::TimeoutBefore,
        5 => CallFault::TimeoutAfter,
        6 => CallFault::ServerErrorAfter,
        7 => CallFault::Conflict,
        8 => CallFault::CrashBefore,
        9 => CallFault::CrashAfter,
        10 => CallFault::NoAnswer,
        11 => CallFault::SlowAnswer(1 + chance.below(20)),
        12..=14 => CallFault::Late(1 + chance.below(60)),
        _ => CallFault::Stale(1 + chance.below(40)),
    }
}
