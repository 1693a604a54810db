//! One suite of behaviours, run against the embedded API and against the real kube-apiserver: the same assertions for both.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ground;
mod writes;

/// Makes two tests of each behaviour.
macro_rules! behaviours {
    ($($module:ident: $($name:ident),* $(,)?;)*) => {
        mod embedded {
            $($(#[tokio::test] async fn $name() { super::$module::$name(super::ground::Ground::embedded(stringify!($name)).await).await; })*)*
        }
        mod real {
            $($(#[tokio::test] async fn $name() { super::$module::$name(super::ground::Ground::real(stringify!($name)).await).await; })*)*
        }
    };
}

behaviours! {
    writes:
        an_object_is_created_read_and_deleted,
        a_name_is_taken_once,
        what_is_not_there_is_not_found,
        an_old_version_is_refused,
        a_replace_without_a_version,
        a_write_that_changes_nothing_is_no_write,
        names_are_checked,
        labels_are_checked,
        a_name_can_be_generated,
        a_dry_run_writes_nothing,
        unknown_fields_are_dropped_warned_of_or_refused,
        a_namespace_must_be_there,
        leases_are_created_by_replace;
}
