//! Notices become Events. Written here and not with kube's recorder, which stamps them with the machine's clock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use quorate_quorum::{Notice, Severity};
use tracing::warn;

use crate::Clock;

const COMPONENT: &str = "quorate";
/// What Kubernetes takes at most.
const LONGEST_NOTE: usize = 1024;

/// Writes Events about objects.
#[derive(Clone)]
pub(crate) struct Recorder {
    client: Client,
    clock: Arc<dyn Clock>,
    written: Arc<AtomicU64>,
    /// What was last said of an object for a reason that lasts.
    said: Arc<Mutex<BTreeMap<(String, &'static str), String>>>,
}

impl Recorder {
    pub(crate) fn new(client: Client, clock: Arc<dyn Clock>) -> Self {
        Self { client, clock, written: Arc::default(), said: Arc::default() }
    }

    /// Writes a notice about something that lasts: once, until it says something else.
    pub(crate) async fn publish_once(&self, about: &ObjectReference, notice: &Notice) {
        let key = (about.uid.clone().unwrap_or_default(), notice.reason);
        let before = self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(key, notice.note.clone());
        if before.as_ref() != Some(&notice.note) {
            self.publish(about, notice).await;
        }
    }

    /// Writes a notice. An Event that is lost is not worth failing for.
    pub(crate) async fn publish(&self, about: &ObjectReference, notice: &Notice) {
        let now = self.clock.now();
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let namespace = about.namespace.clone().unwrap_or_default();
        let name = about.name.clone().unwrap_or_default();
        let event = Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}.{number:x}", now.as_nanosecond())),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            involved_object: about.clone(),
            type_: Some(match notice.severity {
                Severity::Normal => "Normal".to_owned(),
                Severity::Warning => "Warning".to_owned(),
            }),
            reason: Some(notice.reason.to_owned()),
            message: Some(shortened(&notice.note)),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
            ..Event::default()
        };
        let events: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        if let Err(error) = events.create(&PostParams::default(), &event).await {
            warn!(%error, reason = notice.reason, "an Event could not be written");
        }
    }
}

fn shortened(note: &str) -> String {
    if note.len() <= LONGEST_NOTE {
        return note.to_owned();
    }
    let end = note.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST_NOTE - 4).last().unwrap_or(0);
    format!("{} …", &note[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_where_a_character_ends() {
        assert_eq!(shortened("short"), "short");
        let long = shortened(&"ä".repeat(2000));
        assert!(long.len() <= LONGEST_NOTE && long.ends_with(" …"), "{}", long.len());
    }
}
