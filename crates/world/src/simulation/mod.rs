//! The operator in a simulated world: one thread, virtual time, one seed. The same seed gives the same story, to the byte.
//!
//! A [`Scenario`] and a seed make a [`Script`], which says everything that goes wrong; a script makes a run. A script that breaks an
//! invariant is cut down to what is needed for it ([`shrink`]) and kept as a file ([`Recording`]).

mod chance;
mod clock;
mod connection;
mod crashes;
mod faults;
mod hands;
mod invariants;
mod mutants;
mod news;
mod operators;
mod recording;
mod records;
mod rest;
mod run;
mod scenario;
mod script;
mod shrink;
mod trouble;
mod wishes;

pub use clock::SimulatedClock;
pub use crashes::{Change, Crashed, with_each_crash};
pub use invariants::Violation;
pub use mutants::{Noticed, first_to_notice};
pub use recording::Recording;
pub use run::{Report, Rested, play, simulate};
pub use scenario::Scenario;
pub use script::{CallFault, Disturbance, EventFault, Script, Trouble};
pub use shrink::{Shrunk, shrink};
