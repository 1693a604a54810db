//! Which things may go wrong in a run, by name.

use std::time::Duration;

use super::chance::Chance;
use super::script::Trouble;
use crate::scenery::NODES;

/// A kind of run.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// For how long nothing goes wrong at first.
    pub(crate) calm: Duration,
    /// For how long things go wrong then.
    pub(crate) disturbed: Duration,
    /// One call of an operator in so many goes wrong; 0 for none.
    pub(crate) calls_one_in: u64,
    /// One event of a watch in so many goes wrong; 0 for none.
    pub(crate) events_one_in: u64,
    /// The nodes there are.
    pub(crate) nodes: &'static [&'static str],
    /// How much data there is, if it is so much that a copy takes minutes to make.
    bytes: Option<u64>,
    /// What may happen to the cluster, as often as it is written here.
    kinds: &'static [Kind],
    /// The same; where everything happens.
    more_kinds: &'static [Kind],
    /// What happens in every world of it, and after how many seconds.
    pub(super) story: &'static [(u64, Trouble)],
}

/// A kind of trouble, before chance has filled in the rest.
#[derive(Clone, Copy, Debug)]
enum Kind {
    PodDeleted,
    PodEvicted,
    PodStuckTerminating,
    ForeignPod,
    NodeLost,
    ZoneLost,
    NodesCordoned,
    VolumesStuck,
    VolumeLost,
    DiskWorn,
    ClockJump,
    WatchesEnd,
    HistoryForgotten,
    Edit,
    EditAndRevert,
    Skip,
    LeaseOutage,
    LeaseDeleted,
    HandOver,
    Resize,
    Domains,
    Shape,
    Knob,
    Template,
    Remove,
    RemoveAtOnce,
    ServerCrashed,
    CoordinatorLost,
    NodeTainted,
    ExcludedByHand,
    CoordinatorsByHand,
    AllPodsDeleted,
    ObjectMadeAgain,
    StatusLost,
}

const CALM: Duration = Duration::from_secs(60);
const DISTURBED: Duration = Duration::from_secs(900);
/// One node in each zone.
const FEW_NODES: &[&str] = &[NODES[0], NODES[2], NODES[4]];
/// The copies of one of four storage processes take five minutes.
const MUCH_DATA: u64 = 96_000_000_000;

/// What goes wrong by itself, and what users ask for without changing the shape of the cluster.
const MISHAPS: &[Kind] = &[
    Kind::PodDeleted,
    Kind::PodDeleted,
    Kind::PodEvicted,
    Kind::PodEvicted,
    Kind::PodStuckTerminating,
    Kind::ForeignPod,
    Kind::NodeLost,
    Kind::NodeLost,
    Kind::ZoneLost,
    Kind::NodesCordoned,
    Kind::VolumesStuck,
    Kind::VolumeLost,
    Kind::DiskWorn,
    Kind::ClockJump,
    Kind::WatchesEnd,
    Kind::HistoryForgotten,
    Kind::Edit,
    Kind::EditAndRevert,
    Kind::Skip,
    Kind::LeaseOutage,
    Kind::LeaseDeleted,
    Kind::HandOver,
    Kind::HandOver,
    Kind::Resize,
    Kind::Knob,
    Kind::Template,
    Kind::Remove,
    Kind::RemoveAtOnce,
    Kind::ServerCrashed,
    Kind::CoordinatorLost,
    Kind::NodeTainted,
    Kind::ExcludedByHand,
    Kind::CoordinatorsByHand,
    Kind::AllPodsDeleted,
];

/// What changes the shape of the cluster, or takes away what is known of it.
const UPHEAVALS: &[Kind] = &[Kind::Domains, Kind::Domains, Kind::Shape, Kind::Shape, Kind::ObjectMadeAgain, Kind::StatusLost];

/// What most scenarios have in common.
const USUAL: Scenario = Scenario {
    name: "",
    about: "",
    calm: CALM,
    disturbed: DISTURBED,
    calls_one_in: 40,
    events_one_in: 40,
    nodes: &NODES,
    bytes: None,
    kinds: &[],
    more_kinds: &[],
    story: &[],
};

/// What a cluster is asked for in its life, one thing after the other: five storage processes, a knob, other pods, one to go, three fault
/// domains, three logs. Each is carried out before the next.
const CHANGES: &[(u64, Trouble)] = &[
    (150, Trouble::Resize { pick: 6 }),
    (270, Trouble::Knob { pick: 1 }),
    (480, Trouble::Template { pick: 2 }),
    (1200, Trouble::Remove { pick: 3 }),
    (1500, Trouble::Domains { pick: 5 }),
    (2400, Trouble::Resize { pick: 1 }),
];

impl Scenario {
    /// All scenarios; the first is the usual one.
    pub const ALL: &[Self] = &[
        Self {
            name: "everything",
            about: "whatever can go wrong does, and whatever can be asked for is",
            calls_one_in: 12,
            events_one_in: 15,
            kinds: MISHAPS,
            more_kinds: UPHEAVALS,
            ..USUAL
        },
        Self {
            name: "mishaps",
            about: "whatever can go wrong does, while the cluster keeps its shape",
            calls_one_in: 12,
            events_one_in: 15,
            kinds: MISHAPS,
            ..USUAL
        },
        Self { name: "calm", about: "nothing goes wrong", calls_one_in: 0, events_one_in: 0, kinds: &[], ..USUAL },
        Self {
            name: "changes",
            about: "a cluster is born and changed in every way, and nothing goes wrong by itself: where crashes are enumerated",
            calm: Duration::ZERO,
            disturbed: Duration::from_secs(2700),
            calls_one_in: 0,
            events_one_in: 0,
            story: CHANGES,
            ..USUAL
        },
        Self {
            name: "api",
            about: "the API server refuses, delays, forgets and lies; the operator crashes",
            calls_one_in: 6,
            events_one_in: 6,
            // Evictions are what makes the operator delete something.
            kinds: &[
                Kind::PodEvicted,
                Kind::PodEvicted,
                Kind::PodEvicted,
                Kind::PodEvicted,
                Kind::PodDeleted,
                Kind::WatchesEnd,
                Kind::HistoryForgotten,
                Kind::ClockJump,
            ],
            ..USUAL
        },
        Self {
            name: "nodes",
            about: "nodes, zones, pods and volumes are lost",
            calls_one_in: 0,
            events_one_in: 30,
            kinds: &[
                Kind::NodeLost,
                Kind::ZoneLost,
                Kind::PodEvicted,
                Kind::PodStuckTerminating,
                Kind::NodesCordoned,
                Kind::VolumesStuck,
                Kind::VolumeLost,
            ],
            ..USUAL
        },
        Self {
            name: "users",
            about: "users edit, revert, delete and pause",
            events_one_in: 10,
            kinds: &[Kind::PodDeleted, Kind::ForeignPod, Kind::Edit, Kind::EditAndRevert, Kind::Skip, Kind::VolumeLost],
            ..USUAL
        },
        Self {
            name: "hand-over",
            about: "several operators at once, and a lease that is lost, deleted and not renewed",
            calls_one_in: 12,
            events_one_in: 15,
            kinds: &[
                Kind::HandOver,
                Kind::HandOver,
                Kind::LeaseDeleted,
                Kind::LeaseOutage,
                Kind::ClockJump,
                Kind::PodEvicted,
                Kind::PodDeleted,
            ],
            ..USUAL
        },
        Self {
            name: "birth",
            about: "nodes and volumes are missing while the database is to be created",
            calm: Duration::ZERO,
            calls_one_in: 30,
            events_one_in: 30,
            kinds: &[
                Kind::NodesCordoned,
                Kind::ZoneLost,
                Kind::ZoneLost,
                Kind::NodeLost,
                Kind::NodeLost,
                Kind::VolumesStuck,
                Kind::PodDeleted,
            ],
            ..USUAL
        },
        Self {
            name: "replacements",
            about: "process groups fail, are asked to go and are replaced",
            kinds: &[
                Kind::NodeLost,
                Kind::ZoneLost,
                Kind::VolumeLost,
                Kind::DiskWorn,
                Kind::Remove,
                Kind::Remove,
                Kind::RemoveAtOnce,
                Kind::Resize,
                Kind::NodeTainted,
                Kind::NodesCordoned,
                Kind::ServerCrashed,
                Kind::ExcludedByHand,
            ],
            ..USUAL
        },
        Self {
            name: "restarts",
            about: "servers and pods are asked to be others, while others fail",
            kinds: &[
                Kind::Knob,
                Kind::Knob,
                Kind::Knob,
                Kind::Template,
                Kind::Template,
                Kind::ServerCrashed,
                Kind::PodDeleted,
                Kind::NodeLost,
                Kind::AllPodsDeleted,
            ],
            ..USUAL
        },
        Self {
            name: "coordinators",
            about: "coordinators are lost, excluded, removed and changed by hand",
            kinds: &[
                Kind::CoordinatorLost,
                Kind::CoordinatorLost,
                Kind::CoordinatorsByHand,
                Kind::Remove,
                Kind::Remove,
                Kind::ExcludedByHand,
                Kind::Template,
                Kind::ServerCrashed,
            ],
            ..USUAL
        },
        Self {
            name: "domains",
            about: "users turn logical fault domains on and off and ask for more or fewer, while nodes fail",
            kinds: &[
                Kind::Domains,
                Kind::Domains,
                Kind::Domains,
                Kind::Domains,
                Kind::Resize,
                Kind::Resize,
                Kind::Template,
                Kind::Remove,
                Kind::CoordinatorsByHand,
                Kind::PodDeleted,
                Kind::NodeLost,
                Kind::ZoneLost,
                Kind::NodesCordoned,
            ],
            ..USUAL
        },
        Self {
            name: "shapes",
            about: "users ask for other servers per pod, names, volumes, roles, copies, locks and strategies, while nodes fail",
            kinds: &[
                Kind::Shape,
                Kind::Shape,
                Kind::Shape,
                Kind::Shape,
                Kind::Resize,
                Kind::Template,
                Kind::Knob,
                Kind::Remove,
                Kind::PodDeleted,
                Kind::NodeLost,
                Kind::VolumeLost,
                Kind::ServerCrashed,
            ],
            ..USUAL
        },
        Self {
            name: "repairs",
            about: "copies are lost and take minutes to make again, while pods are asked to be others",
            bytes: Some(MUCH_DATA),
            kinds: &[
                Kind::VolumeLost,
                Kind::VolumeLost,
                Kind::RemoveAtOnce,
                Kind::RemoveAtOnce,
                Kind::Template,
                Kind::Template,
                Kind::Template,
                Kind::Remove,
                Kind::Knob,
                Kind::NodeLost,
            ],
            ..USUAL
        },
        Self {
            name: "shared",
            about: "coordinators share logical fault domains, while pods are asked to be others",
            kinds: &[
                Kind::Template,
                Kind::Template,
                Kind::Template,
                Kind::PodDeleted,
                Kind::ServerCrashed,
                Kind::NodeLost,
                Kind::CoordinatorsByHand,
            ],
            ..USUAL
        },
        Self {
            name: "records",
            about: "the object is deleted and made again, and its status is lost, while nodes fail",
            kinds: &[
                Kind::ObjectMadeAgain,
                Kind::ObjectMadeAgain,
                Kind::StatusLost,
                Kind::Resize,
                Kind::Template,
                Kind::Remove,
                Kind::PodDeleted,
                Kind::NodeLost,
                Kind::HandOver,
            ],
            ..USUAL
        },
        Self {
            name: "hosts",
            about: "there is hardly a host more than copies, and hosts are lost and left",
            nodes: FEW_NODES,
            kinds: &[
                Kind::NodeTainted,
                Kind::NodeTainted,
                Kind::NodeTainted,
                Kind::NodeLost,
                Kind::NodeLost,
                Kind::Remove,
                Kind::Template,
                Kind::Resize,
            ],
            ..USUAL
        },
    ];

    /// The scenario of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|scenario| scenario.name == name)
    }

    /// What is asked for before anybody has seen the object. Where fault domains come and go, half of the worlds are born with some; where
    /// there is much to replace, half of them count replacements in another way.
    pub(super) fn wished_at_birth(&self, chance: &mut Chance) -> Option<Trouble> {
        if self.name == "shared" {
            return Some(Trouble::SharedDomains);
        }
        let has = |wanted: fn(&Kind) -> bool| self.kinds.iter().chain(self.more_kinds).any(wanted);
        let pick = chance.below(1 << 32);
        if matches!(self.name, "everything" | "replacements") && chance.one_in(2) {
            return Some(Trouble::Rationing { pick });
        }
        (has(|kind| matches!(kind, Kind::Domains)) && chance.one_in(2)).then_some(Trouble::Domains { pick })
    }

    /// What the database is filled with when the calm ends; in one of ten worlds where everything happens.
    pub(super) fn data(&self, chance: &mut Chance) -> Option<Trouble> {
        let bytes = self.bytes.or_else(|| (self.name == "everything" && chance.one_in(10)).then_some(MUCH_DATA));
        bytes.map(|bytes| Trouble::MuchData { bytes })
    }

    /// The next trouble; none where nothing ever happens.
    pub(super) fn troubles(&self, chance: &mut Chance) -> Option<Trouble> {
        let kind = *chance.pick(&[self.kinds, self.more_kinds].concat())?;
        let pick = chance.below(1 << 32);
        let seconds = 20 + chance.below(400);
        let keeps_running = chance.one_in(2);
        Some(match kind {
            Kind::PodDeleted => Trouble::PodDeleted { pick },
            Kind::PodEvicted => Trouble::PodEvicted { pick },
            Kind::PodStuckTerminating => Trouble::PodStuckTerminating { pick, seconds },
            Kind::ForeignPod => Trouble::ForeignPod { pick, seconds },
            Kind::NodeLost => Trouble::NodeLost { pick, seconds, keeps_running },
            Kind::ZoneLost => Trouble::ZoneLost { pick, seconds, keeps_running },
            Kind::NodesCordoned => Trouble::NodesCordoned { seconds },
            Kind::VolumesStuck => Trouble::VolumesStuck { seconds },
            Kind::VolumeLost => Trouble::VolumeLost { pick },
            Kind::DiskWorn => Trouble::DiskWorn { pick },
            Kind::ClockJump => Trouble::ClockJump { seconds: i64::try_from(seconds).unwrap_or(0) - 220 },
            Kind::WatchesEnd => Trouble::WatchesEnd,
            Kind::HistoryForgotten => Trouble::HistoryForgotten,
            Kind::Edit => Trouble::Edit,
            Kind::EditAndRevert => Trouble::EditAndRevert { seconds },
            Kind::Skip => Trouble::Skip { seconds },
            Kind::LeaseOutage => Trouble::LeaseOutage { seconds: seconds / 4 },
            Kind::LeaseDeleted => Trouble::LeaseDeleted,
            Kind::HandOver => Trouble::HandOver { seconds },
            Kind::Resize => Trouble::Resize { pick },
            Kind::Domains => Trouble::Domains { pick },
            Kind::Shape => Trouble::Shape { pick },
            Kind::Knob => Trouble::Knob { pick },
            Kind::Template => Trouble::Template { pick },
            Kind::Remove => Trouble::Remove { pick },
            Kind::RemoveAtOnce => Trouble::RemoveAtOnce { pick },
            Kind::ServerCrashed => Trouble::ServerCrashed { pick },
            Kind::CoordinatorLost => Trouble::CoordinatorLost { pick, seconds, keeps_running },
            Kind::NodeTainted => Trouble::NodeTainted { pick, seconds },
            Kind::ExcludedByHand => Trouble::ExcludedByHand { pick, seconds },
            Kind::CoordinatorsByHand => Trouble::CoordinatorsByHand { pick },
            Kind::AllPodsDeleted => Trouble::AllPodsDeleted,
            Kind::ObjectMadeAgain => Trouble::ObjectMadeAgain { seconds },
            Kind::StatusLost => Trouble::StatusLost,
        })
    }
}
