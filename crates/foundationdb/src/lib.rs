//! FoundationDB's rules: what its words mean and what follows from them.
//!
//! Everything here is pure: no clock, no chance, no I/O. Who looks for a rule opens the file named after it; who wants to know what
//! happens to a cluster begins with [`decide`].

mod bucket;
mod class;
pub mod configuration;
mod counts;
pub mod decide;
mod desired;
mod facts;
pub mod forecast;
pub mod lock;
pub mod monitor;
mod node_fit;
pub mod objects;
mod obstacle;
mod process_group;
mod quantity;
pub mod reasons;
mod redundancy;
pub mod report;
pub mod tolerance;
mod version;
mod wish;

pub use bucket::Bucket;
pub use class::{ProcessClass, UnknownClass};
pub use counts::{AskedCounts, RoleCounts, process_counts};
pub use decide::decide;
pub use desired::{
    AtMost, AtOnce, Automation, BucketLimits, Buggify, ClassTemplate, DatabaseWish, Desired, Distribution, FieldProblem, Labels,
    LockWish, PodUpdate, Replacements, Routing, SafetyTimers, Topology, Zone,
};
pub use facts::{
    ClaimFacts, ConfigMapFacts, DisruptionBudgetFacts, KubeFacts, NodeFacts, PodFacts, PodPhase, Recorded, ServiceFacts, SetAside,
};
pub use objects::{annotations, labels};
pub use process_group::{GroupCondition, ProcessGroup, ProcessGroupId, domain_key};
pub use redundancy::{RedundancyMode, UnknownRedundancyMode};
pub use report::{DatabaseReport, ProcessReport, ReportError};
pub use version::{Version, VersionError};
pub use wish::Wish;
