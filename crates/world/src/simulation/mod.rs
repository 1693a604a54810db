//! The operator in a simulated world: one thread, virtual time, one seed. The same seed gives the same story, to the byte.

mod chance;
mod clock;
mod faults;
mod invariants;
mod run;

pub use clock::SimulatedClock;
pub use invariants::Violation;
pub use run::{Report, simulate};
