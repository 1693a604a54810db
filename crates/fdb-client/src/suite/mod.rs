//! The contract as cases. Whoever speaks the contract, a real FoundationDB through the children, a recording of one, or a model, is put on
//! a [`Bench`] and held to all of them. A case says only what is determined: what must come out, not how long it takes.

mod bench;
mod configuration;
mod coordinators;
mod coverage;
mod exclusion;
mod maintenance;
mod outage;
mod recording;
mod restart;
mod session;
mod transactions;

use futures::future::BoxFuture;

pub use bench::{Bench, Process, poll_until};
pub use coverage::{ALL_CALLS, ALL_FAILURES, Coverage};
pub use recording::{Player, Recorder, Recording};
pub use session::Session;

/// A case: on a bench on which nothing runs yet.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it is about; also the name of its recording.
    pub name: &'static str,
    /// Plays it, and says what was not as it should be.
    pub run: for<'a> fn(&'a mut Session<'_>) -> BoxFuture<'a, Result<(), String>>,
}

/// Stops a case with a sentence.
macro_rules! ensure {
    ($holds:expr, $($sentence:tt)+) => {
        if !$holds {
            return Err(format!($($sentence)+));
        }
    };
}
use ensure;

macro_rules! cases {
    ($($module:ident::$case:ident),+ $(,)?) => {
        /// Every case.
        pub const CASES: &[Case] =
            &[$(Case { name: stringify!($case), run: |session| Box::pin($module::$case(session)) }),+];
    };
}

cases![
    configuration::a_database_is_created_once_and_by_whom_is_known,
    configuration::a_configuration_is_changed_together_with_a_claim,
    transactions::what_is_expected_is_compared_in_the_transaction,
    transactions::ranges_are_read_at_one_version,
    transactions::of_two_who_race_one_wins,
    transactions::what_cant_be_right_is_not_sent,
    exclusion::an_excluded_process_is_drained_and_included_again,
    exclusion::a_stale_fence_excludes_nobody,
    exclusion::excluding_everybody_is_refused_in_the_databases_own_words,
    exclusion::a_database_without_logs_is_included_blindly,
    maintenance::a_zone_is_maintained_until_it_is_not,
    maintenance::a_process_gets_another_class_and_its_own_back,
    coordinators::coordinators_are_changed_and_a_second_time_is_no_change,
    coordinators::a_coordinator_that_nobody_reaches_is_refused_for_now,
    restart::known_processes_are_restarted_and_with_one_unknown_none,
    outage::a_database_without_coordinators_still_reports,
];
