//! One suite of behaviours, run against the embedded API and against the real kube-apiserver: the same assertions for both.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod custom;
mod deletion;
mod forgetting;
mod ground;
mod kinds;
mod patches;
mod reads;
mod watches;
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
        a_dry_run_of_a_subresource_writes_nothing,
        a_dry_run_under_a_taken_name_says_first_what_is_wrong,
        unknown_fields_are_dropped_warned_of_or_refused,
        a_namespace_must_be_there,
        leases_are_created_by_replace;
    patches:
        a_json_patch_is_taken_whole_or_not_at_all,
        a_merge_patch_removes_by_null,
        a_strategic_patch_knows_its_lists,
        a_custom_object_takes_no_strategic_patch;
    reads:
        labels_and_fields_select,
        a_list_comes_in_pages,
        a_list_can_be_asked_at_a_version,
        objects_come_as_tables_and_as_metadata,
        the_server_describes_itself;
    watches:
        a_watch_tells_what_happened_since,
        a_watch_from_nowhere_shows_all_there_is,
        an_object_enters_and_leaves_a_selection,
        a_list_can_be_streamed,
        history_that_is_forgotten_is_gone,
        a_watch_is_told_how_far_it_knows,
        a_watch_ends_in_time,
        a_pod_is_marked_before_it_goes;
    deletion:
        a_finalizer_holds_an_object,
        a_delete_can_be_conditional,
        a_pod_that_runs_nowhere_goes_at_once,
        a_pod_on_a_node_has_time_to_end,
        dependents_follow_their_owner,
        dependents_can_be_orphaned,
        an_owner_can_wait_for_its_dependents,
        a_collection_is_deleted,
        a_namespace_takes_its_content_with_it,
        an_eviction_asks_the_budget;
    custom:
        a_schema_refuses_with_causes,
        rules_refuse_with_their_sentence,
        a_rule_about_a_change_sees_the_old_object,
        status_and_spec_are_written_apart,
        a_set_is_scaled,
        a_definition_is_served_and_taken_back;
    kinds:
        a_pod_is_completed,
        a_pod_hardly_changes,
        a_service_gets_an_address,
        a_claim_waits_and_is_protected,
        events_are_the_same_in_both_groups,
        a_secret_takes_plain_text,
        keys_of_a_config_map_are_file_names;
}

/// A real server that forgets on demand would disturb all others, so these have one of their own.
mod forgetful {
    use super::forgetting::pages_that_are_forgotten_go_on_inconsistently;
    use super::ground::Ground;

    #[tokio::test]
    async fn embedded() {
        pages_that_are_forgotten_go_on_inconsistently(Ground::embedded("forgetting").await).await;
    }

    #[tokio::test]
    async fn real() {
        let (_control_plane, ground) = Ground::real_and_forgetful("forgetting").await;
        pages_that_are_forgotten_go_on_inconsistently(ground).await;
    }
}
