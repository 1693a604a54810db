//! Where a fault injector takes hold: before and after each call of a client, and before each event of a watch.
//!
//! An interceptor is called while the API is locked, so it must not call the API.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::status::Status;

/// A call, as a fault injector sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallInfo {
    /// Tells calls apart.
    pub number: u64,
    /// Who calls; the name given to [`super::Kubernetes::client_of`].
    pub client: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// The plural with its group, such as `leases.coordination.k8s.io`.
    pub resource: String,
    /// Empty for objects without one and for calls across all.
    pub namespace: String,
    /// Empty for calls about many, and for creates.
    pub name: String,
    /// Such as `status`; empty for the object itself.
    pub subresource: String,
}

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// The HTTP status.
    pub code: u16,
    /// The object before.
    pub before: Option<&'a Arc<Value>>,
    /// The object after.
    pub after: Option<&'a Arc<Value>>,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is carried out and answered.
    Pass,
    /// It is not carried out; this is the answer.
    Refuse(Status),
    /// It is carried out, but this is the answer: the write happened and the client does not know.
    Mislead(Status),
    /// It is carried out, but never answered.
    Silence,
    /// It is neither carried out nor answered.
    Lose,
    /// It is carried out so much later, whether its sender still waits or not: a process that was paused, a packet that was held.
    Late(Duration),
    /// It is carried out at once, and answered so much later.
    Slow(Duration),
    /// A get or list is answered as things were at this revision: an API server that lags behind.
    Stale(u64),
}

/// What becomes of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is sent, after all that is still held for this watch.
    Now,
    /// It waits, and all that follows with it, until [`super::Kubernetes::release`].
    Hold,
    /// It never comes.
    Drop,
}

/// A watch, as a fault injector sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchInfo {
    /// Tells watches apart.
    pub id: u64,
    /// Who watches.
    pub client: String,
    /// The plural with its group.
    pub resource: String,
    /// Empty for a watch across all.
    pub namespace: String,
}

/// Decides what goes wrong. Everything passes unless it says otherwise.
pub trait Interceptor: Send + Sync {
    /// Before a call.
    fn before(&self, _call: &CallInfo) -> Verdict {
        Verdict::Pass
    }

    /// After a call that was carried out.
    fn after(&self, _call: &CallInfo, _done: &Done<'_>) {}

    /// Before an event (`ADDED`, `MODIFIED`, `DELETED`) about the object of this name is sent.
    fn deliver(&self, _watch: &WatchInfo, _event: &str, _name: &str) -> Delivery {
        Delivery::Now
    }
}

/// Nothing goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl Interceptor for NoFaults {}
