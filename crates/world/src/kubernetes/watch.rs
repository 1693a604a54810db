//! Watches: who is told of which change, in which order, and what is held back on purpose.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use serde_json::{Value, json};

use super::faults::{Delivery, Interceptor, WatchInfo};
use super::present::{self, Form};
use super::resource::Resource;
use super::selector::Selector;
use super::status::Status;
use super::store::Change;

/// The receiving end of a watch: lines of JSON, one per event. Dropping it ends the watch.
#[derive(Debug)]
pub struct Watch {
    /// Tells watches apart; see [`super::Kubernetes::release`].
    pub id: u64,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    lines: VecDeque<Bytes>,
    ended: bool,
    abandoned: bool,
    waker: Option<Waker>,
}

impl Watch {
    /// The next line, if one is there.
    pub fn try_next(&self) -> Option<Bytes> {
        lock(&self.queue).lines.pop_front()
    }

    /// Whether the server ended it; lines may still be there.
    pub fn has_ended(&self) -> bool {
        lock(&self.queue).ended
    }

    /// The next line, as a stream gives it.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut queue = lock(&self.queue);
        if let Some(line) = queue.lines.pop_front() {
            return Poll::Ready(Some(line));
        }
        if queue.ended {
            return Poll::Ready(None);
        }
        queue.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        lock(&self.queue).abandoned = true;
    }
}

fn lock(queue: &Mutex<Queue>) -> std::sync::MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a watch is about.
#[derive(Clone, Debug)]
pub(crate) struct Interest {
    pub(crate) client: Arc<str>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: String,
    pub(crate) selector: Selector,
    pub(crate) form: Form,
    pub(crate) bookmarks: bool,
    /// Only changes after it are told.
    pub(crate) after: u64,
}

#[derive(Debug)]
struct Watcher {
    interest: Interest,
    info: WatchInfo,
    queue: Arc<Mutex<Queue>>,
    held: VecDeque<Bytes>,
    /// A table's columns are sent with its first event only.
    told: bool,
}

/// Everyone who watches.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    next: u64,
    watchers: BTreeMap<u64, Watcher>,
}

impl Watchers {
    pub(crate) fn add(&mut self, interest: Interest) -> Watch {
        self.next += 1;
        let queue = Arc::new(Mutex::new(Queue::default()));
        let info = WatchInfo {
            id: self.next,
            client: interest.client.to_string(),
            resource: interest.resource.qualified(),
            namespace: interest.namespace.clone(),
        };
        let watcher = Watcher { interest, info, queue: Arc::clone(&queue), held: VecDeque::new(), told: false };
        self.watchers.insert(self.next, watcher);
        Watch { id: self.next, queue }
    }

    /// Tells one watcher of an object that is there from the start.
    pub(crate) fn show(&mut self, id: u64, object: &Value, now: jiff::Timestamp) {
        if let Some(watcher) = self.watchers.get_mut(&id) {
            let line = watcher.line("ADDED", object, now);
            watcher.send(line);
        }
    }

    /// Tells one watcher of a change that was before it came.
    pub(crate) fn replay(&mut self, id: u64, change: &Change, now: jiff::Timestamp) {
        if let Some(watcher) = self.watchers.get_mut(&id)
            && let Some((_, line)) = watcher.event(change, now)
        {
            watcher.send(line);
        }
    }

    /// Tells one watcher, if it wants to know, that it knows everything up to a revision. One that is held back must not hear that.
    pub(crate) fn bookmark(&mut self, id: u64, revision: u64, initial: bool) {
        let listens = |watcher: &&mut Watcher| watcher.interest.bookmarks && watcher.held.is_empty();
        if let Some(watcher) = self.watchers.get_mut(&id).filter(listens) {
            let resource = &watcher.interest.resource;
            let mut object = json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": {"resourceVersion": revision.to_string(), "creationTimestamp": null}});
            if initial {
                object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
            }
            let object = present::bookmark(watcher.interest.form, object);
            watcher.send(line_of("BOOKMARK", &object.to_string()));
        }
    }

    /// Tells one watcher that it can't go on, and ends it.
    pub(crate) fn fail(&mut self, id: u64, status: &Status) {
        if let Some(watcher) = self.watchers.remove(&id) {
            watcher.send(line_of("ERROR", &status.object().to_string()));
            watcher.end();
        }
    }

    /// Tells everyone of a change.
    pub(crate) fn publish(&mut self, change: &Change, interceptor: &dyn Interceptor, now: jiff::Timestamp) {
        self.watchers.retain(|_, watcher| !lock(&watcher.queue).abandoned);
        for watcher in self.watchers.values_mut() {
            let Some((kind, line)) = watcher.event(change, now) else { continue };
            match interceptor.deliver(&watcher.info, kind, &change.key.name) {
                Delivery::Drop => {}
                Delivery::Now if watcher.held.is_empty() => watcher.send(line),
                // What came later must not overtake what is held.
                Delivery::Now | Delivery::Hold => watcher.held.push_back(line),
            }
        }
    }

    /// Sends up to `count` events that were held back; says how many are still held.
    pub(crate) fn release(&mut self, id: u64, count: usize) -> usize {
        let Some(watcher) = self.watchers.get_mut(&id) else { return 0 };
        for _ in 0..count {
            let Some(line) = watcher.held.pop_front() else { break };
            watcher.send(line);
        }
        watcher.held.len()
    }

    /// Ends watches, as a lost connection does.
    pub(crate) fn end(&mut self, which: impl Fn(&WatchInfo) -> bool) {
        self.watchers.retain(|_, watcher| {
            let ends = which(&watcher.info);
            if ends {
                watcher.end();
            }
            !ends
        });
    }

    pub(crate) fn infos(&self) -> Vec<(WatchInfo, usize)> {
        self.watchers
            .values()
            .filter(|watcher| !lock(&watcher.queue).abandoned)
            .map(|watcher| (watcher.info.clone(), watcher.held.len()))
            .collect()
    }
}

impl Watcher {
    /// A change as this watcher sees it: an object that begins to match is new to it, one that stops matching is gone for it.
    fn event(&mut self, change: &Change, now: jiff::Timestamp) -> Option<(&'static str, Bytes)> {
        let Interest { resource, namespace, selector, after, .. } = &self.interest;
        let concerns = change.key.storage == resource.storage
            && (namespace.is_empty() || *namespace == change.key.namespace)
            && change.revision > *after;
        if !concerns {
            return None;
        }
        let was_selected = change.before.as_deref().filter(|object| selector.matches(object));
        let is_selected = change.after.as_deref().filter(|object| selector.matches(object));
        match (was_selected, is_selected) {
            (None, None) => None,
            (None, Some(after)) => Some(("ADDED", self.line("ADDED", after, now))),
            (Some(_), Some(after)) => Some(("MODIFIED", self.line("MODIFIED", after, now))),
            // The last state, at the revision of its end.
            (Some(before), None) => {
                let mut last = before.clone();
                last["metadata"]["resourceVersion"] = change.revision.to_string().into();
                Some(("DELETED", self.line("DELETED", &last, now)))
            }
        }
    }

    fn line(&mut self, kind: &str, object: &Value, now: jiff::Timestamp) -> Bytes {
        let first = !std::mem::replace(&mut self.told, true);
        line_of(kind, &present::event_text(self.interest.form, &self.interest.resource, object, now, first))
    }

    fn send(&self, line: Bytes) {
        let mut queue = lock(&self.queue);
        queue.lines.push_back(line);
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }

    fn end(&self) {
        let mut queue = lock(&self.queue);
        queue.ended = true;
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }
}

fn line_of(kind: &str, object: &str) -> Bytes {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into()
}
