//! What an operator sent and what came of it, on its way from where calls are met to whoever judges them.

use std::sync::Arc;

use quorate_fdb_client::Call;
use serde_json::Value;
use tokio::time::Instant;

use crate::database::Database;

/// What the world has to deal with.
#[derive(Default)]
pub(crate) struct News {
    /// Operators that have just died.
    pub(crate) crashes: Vec<String>,
    /// Watches whose events are held back, until when.
    pub(crate) lagging: Vec<(u64, Instant)>,
    /// Whose watches of what missed an event, and when they end.
    pub(crate) missed: Vec<(String, String, Instant)>,
    /// What operators sent, and what it led to, in order.
    pub(crate) effects: Vec<Effect>,
}

/// A write of an operator.
pub(crate) enum Effect {
    /// It was sent.
    Sent { client: String, what: String, at: Instant },
    /// It was carried out, whenever it was sent.
    Done(Box<Arrival>),
    /// A database was asked to change something.
    Asked(Box<Asked>),
    /// A database has killed servers, as it was asked to.
    Killed(Box<Asked>),
}

/// What an operator asked of a database, and how that was before.
pub(crate) struct Asked {
    pub(crate) client: String,
    pub(crate) call: Call,
    pub(crate) before: Option<Database>,
    /// Whether its last report of the database left nobody out.
    pub(crate) saw_everything: bool,
    pub(crate) at: Instant,
}

/// A write that was carried out.
pub(crate) struct Arrival {
    pub(crate) client: String,
    pub(crate) verb: &'static str,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) before: Option<Arc<Value>>,
    pub(crate) after: Option<Arc<Value>>,
    /// When the operator sent it.
    pub(crate) sent: Instant,
    /// Whether its last report of the database left nobody out then.
    pub(crate) saw_everything: bool,
    /// When it was carried out.
    pub(crate) at: Instant,
}
