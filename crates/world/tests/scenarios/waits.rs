//! Waits side by side: a long one delays no short one.

use serde_json::json;

use super::stage::Stage;

#[tokio::test(start_paused = true)]
async fn five_minutes_for_the_coordinators_delay_no_replacement_after_ten_seconds() {
    let waits = json!({"automationOptions": {
        "replacements": {"failureDetectionTimeSeconds": 10},
        "safetyTimers": {"minimumUptimeForCoordinatorChangeWithUndesiredProcess": "5m"},
    }});
    let stage = Stage::born_as(waits).await;
    // Reconfigured, the database recovers, and the five minutes begin.
    stage.apply(json!({"databaseConfiguration": {"logs": 2}}));
    stage.until("it recovers", |view| view.configuration()["logs"] == 2).await;
    stage.apply(json!({"coordinatorSelection": [{"processClass": "storage", "priority": 0}]}));
    stage.until("the coordinators wait", |view| view.held("CoordinatorsHeld")).await;
    let id = stage.view().live("storage").into_iter().find(|id| !stage.view().coordinators().contains(id)).unwrap();
    stage.part(&id);
    stage.until("it is replaced", |view| view.groups().get(&id).is_none_or(|group| group.going)).await;
    assert!(stage.view().held("CoordinatorsHeld"), "the coordinators still wait");
    stage.rest().await;
    assert!(stage.view().coordinators().iter().all(|id| id.starts_with("storage")));
}

#[tokio::test(start_paused = true)]
async fn an_hour_until_replacement_delays_no_restart_after_ten_seconds() {
    let waits = json!({"automationOptions": {"replacements": {"failureDetectionTimeSeconds": 3600}}});
    let stage = Stage::born_as(waits).await;
    let id = stage.view().live("stateless").remove(0);
    stage.part(&id);
    stage.until("it is missed", |view| view.conditions(&id).contains("MissingProcesses")).await;
    let knob = json!({"customParameters": ["knob_max_trace_lines=200000"]});
    stage.apply(json!({"processes": {"storage": knob}}));
    stage.until("storage runs with it", |view| view.all_run_with("storage", "--knob_max_trace_lines=200000")).await;
    assert!(!stage.view().groups()[&id].going, "the hour is not over");
    stage.rejoin(&id);
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_being_done_and_what_is_waited_for_is_said_with_numbers() {
    let stage = Stage::born().await;
    let says = |view: super::view::View<'_>, kind: &str| view.condition(kind).map(|(_, message)| message).unwrap_or_default();
    assert_eq!(says(stage.view(), "Progressing"), "11 of 11 process groups are as they should be");
    stage.apply(json!({"processCounts": {"storage": 5}}));
    stage
        .until("what is done is said", |view| {
            says(view, "Progressing").contains("of 12 process groups are as they should be; now: ")
        })
        .await;
    stage.rest().await;
    assert_eq!(says(stage.view(), "Progressing"), "12 of 12 process groups are as they should be");
    let id = stage.view().live("storage").remove(0);
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage.until("what is waited for is said", |view| says(view, "Held").contains(&id)).await;
    let status = stage.view().status();
    let held = &status["quorate"]["holds"][0];
    let has = |field: &&str| held[*field].as_str().is_some_and(|text| !text.is_empty());
    assert!(["measured", "threshold", "releasedBy"].iter().all(has), "{held}");
    stage.rest().await;
    assert_eq!(says(stage.view(), "Held"), "nothing is held");
}
