//! The chapters, each with the story it plays.

pub(super) mod birth;
pub(super) mod buckets;
pub(super) mod coordinator;
pub(super) mod domains;
pub(super) mod knob;
pub(super) mod losses;
