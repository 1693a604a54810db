//! An embedded Kubernetes API that behaves as kube-apiserver does for all that an operator and everyday kubectl use.
//!
//! The core is synchronous and deterministic: time comes from outside, uids and generated names from a counter, and everything that a
//! controller of a real cluster would do on its own is a step that the world takes ([`Kubernetes::collect_garbage`],
//! [`Kubernetes::compute_budgets`]). On top of it are a [`kube::Client`] without sockets and a server for kubectl. The same suite of
//! behaviours runs against it and against the real kube-apiserver (`e2e/tests/kubernetes_behaviour`).
//!
//! It has no server-side apply, no managed fields, no authentication and no admission webhooks.

mod counts;
mod custom;
mod delete;
mod direct;
mod discovery;
mod disruption;
mod eviction;
mod faults;
mod fields;
mod garbage;
mod http;
mod ids;
mod kinds;
mod metadata;
mod object;
mod openapi;
mod patch;
mod present;
mod read;
mod request;
mod resource;
mod schemas;
mod selector;
mod service;
mod state;
mod status;
mod store;
mod subresources;
mod table;
mod watch;
mod write;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::{HeaderValue, Request, Response, header};
use jiff::Timestamp;
use serde_json::Value;

pub use self::http::serve;
pub use direct::Object;
pub use faults::{CallInfo, Delivery, Done, Interceptor, NoFaults, Verdict, WatchInfo};
pub(crate) use object::Metadata;
pub use resource::Resource;
pub use service::Body;
pub use status::Status;
pub use watch::Watch;

use request::{Call, Target, Verb};
use state::{Outcome, Reply, State};

/// The API. Clones share one state.
#[derive(Clone)]
pub struct Kubernetes {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
}

/// An object that was written, or, if it is none, deleted.
pub(crate) struct Written {
    /// The plural, and for custom kinds the group.
    pub(crate) storage: String,
    /// Namespace and name.
    pub(crate) key: (String, String),
    pub(crate) object: Option<Arc<Value>>,
}

impl Written {
    fn of(key: &store::Key, object: Option<Arc<Value>>) -> Self {
        Self { storage: key.storage.clone(), key: (key.namespace.clone(), key.name.clone()), object }
    }
}

/// What a cluster begins with. Objects are shared, so a copy is cheap.
#[derive(Clone)]
pub struct Image {
    store: store::Store,
    registry: resource::Registry,
    ids: ids::Ids,
}

/// What a request is answered with.
#[derive(Debug)]
pub enum Answer {
    /// A whole response.
    Whole(Response<Vec<u8>>),
    /// Events, as they happen.
    Watch {
        /// Where they come from.
        watch: Watch,
        /// After which time the server ends it, if the client asked for that.
        timeout: Option<Duration>,
    },
    /// Nothing, on purpose; see [`Verdict::Silence`].
    Never,
    /// Nothing yet: the call is still on its way; see [`Verdict::Late`].
    Late(Duration, Delayed),
    /// This, after a while; see [`Verdict::Slow`].
    Slow(Duration, Box<Answer>),
}

/// A call that has not arrived yet; [`Kubernetes::arrive`] lets it.
#[derive(Debug)]
pub struct Delayed(Box<Call>, u64);

impl Kubernetes {
    /// An empty cluster, whose time is what `now` says.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let state = State::new(now());
        Self { shared: Arc::new(Shared { state: Mutex::new(state), now: Box::new(now) }) }
    }

    /// All objects and kinds as they are now, to begin other worlds with.
    pub fn image(&self) -> Image {
        self.with_state(|state| Image { store: state.store.clone(), registry: state.registry.clone(), ids: state.ids.clone() })
    }

    /// A cluster that begins as another one was.
    pub fn from_image(image: &Image, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let Image { store, registry, ids } = image.clone();
        let state = State { store, registry, ids, ..State::empty(now()) };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), now: Box::new(now) }) }
    }

    /// Answers one request.
    pub fn call(&self, request: Request<Vec<u8>>) -> Answer {
        self.call_as(&"raw".into(), request)
    }

    /// A client without sockets. Its calls are counted, and an interceptor may disturb them.
    pub fn client(&self, namespace: &str) -> kube::Client {
        self.client_of("client", namespace)
    }

    /// A client under a name, by which interceptors and counts can tell it from others.
    pub fn client_of(&self, name: &str, namespace: &str) -> kube::Client {
        kube::Client::new(service::Service { kubernetes: self.clone(), client: name.into() }, namespace)
    }

    /// How often clients called, by verb and resource; a subresource is named after a slash, as in `pods/status`.
    pub fn counts(&self) -> BTreeMap<(String, String), u64> {
        self.with_state(|state| state.counts.all())
    }

    /// Lets an interceptor decide what goes wrong from now on.
    pub fn intercept(&self, interceptor: Arc<dyn Interceptor>) {
        self.with_state(|state| state.interceptor = interceptor);
    }

    /// Sends up to `count` events that were held back from a watch; says how many are still held.
    pub fn release(&self, watch: u64, count: usize) -> usize {
        self.with_state(|state| state.watchers.release(watch, count))
    }

    /// All open watches, with how many events are held back from each.
    pub fn watches(&self) -> Vec<(WatchInfo, usize)> {
        self.with_state(|state| state.watchers.infos())
    }

    /// Ends watches, as a lost connection does.
    pub fn end_watches(&self, which: impl Fn(&WatchInfo) -> bool) {
        self.with_state(|state| state.watchers.end(which));
    }

    /// Tells a watch, if it wants to know, that it knows everything.
    pub(crate) fn send_bookmark(&self, watch: u64) {
        self.with_state(|state| {
            let revision = state.store.revision();
            state.watchers.bookmark(watch, revision, false);
        });
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.with_state(|state| state.store.revision())
    }

    /// What was written after a revision, oldest first, and the revision that is now; none if part of it is forgotten.
    pub(crate) fn changes_since(&self, revision: u64) -> Option<(u64, Vec<Written>)> {
        self.with_state(|state| {
            let changes = state.store.since(revision)?;
            let changes = changes.map(|change| Written::of(&change.key, change.after.clone())).collect();
            Some((state.store.revision(), changes))
        })
    }

    /// All there is, as if it had just been written.
    pub(crate) fn everything(&self) -> (u64, Vec<Written>) {
        self.with_state(|state| {
            let all = state.store.all().map(|(key, object)| Written::of(key, Some(Arc::clone(object)))).collect();
            (state.store.revision(), all)
        })
    }

    /// Forgets how things were before a revision: who asks for it is told 410 Gone.
    pub fn compact(&self, revision: u64) {
        self.with_state(|state| state.store.compact(revision));
    }

    /// One pass of the garbage collector and the namespace controller; says how many objects it changed.
    pub fn collect_garbage(&self) -> usize {
        self.with_state(State::collect_garbage)
    }

    /// Computes what each disruption budget allows; says how many changed.
    pub fn compute_budgets(&self) -> usize {
        self.with_state(State::compute_budgets)
    }

    /// Carries out a call that was delayed.
    pub(crate) fn arrive(&self, Delayed(call, number): Delayed) -> Answer {
        self.with_state(|state| {
            let interceptor = Arc::clone(&state.interceptor);
            executed(state, &call, &info(&call, number), None, interceptor.as_ref())
        })
    }

    fn with_state<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = (self.shared.now)();
        work(&mut state)
    }

    pub(crate) fn call_as(&self, client: &Arc<str>, request: Request<Vec<u8>>) -> Answer {
        let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        self.with_state(|state| match request::parse(&state.registry, client, request) {
            Err(status) => refused(&status),
            Ok(Target::Server(path)) => match discovery::answer(&state.registry, &path, &accept) {
                Ok(document) => Answer::Whole(response(200, document.content_type, document.body)),
                Err(status) => refused(&status),
            },
            Ok(Target::Objects(call)) => intercepted(state, *call),
        })
    }
}

/// Carries out a call as the interceptor lets it.
fn intercepted(state: &mut State, call: Call) -> Answer {
    state.calls += 1;
    let info = info(&call, state.calls);
    let name =
        if call.subresource.is_empty() { info.resource.clone() } else { format!("{}/{}", info.resource, call.subresource) };
    state.counts.add(info.verb, &name);
    let interceptor = Arc::clone(&state.interceptor);
    let verdict = interceptor.before(&info);
    let as_of = match verdict {
        Verdict::Refuse(status) => return refused(&status),
        Verdict::Lose => return Answer::Never,
        Verdict::Late(after) => return Answer::Late(after, Delayed(Box::new(call), info.number)),
        Verdict::Stale(revision) => Some(revision),
        Verdict::Pass | Verdict::Mislead(_) | Verdict::Silence | Verdict::Slow(_) => None,
    };
    let answer = executed(state, &call, &info, as_of, interceptor.as_ref());
    match verdict {
        Verdict::Mislead(status) => refused(&status),
        Verdict::Silence => Answer::Never,
        Verdict::Slow(after) => Answer::Slow(after, Box::new(answer)),
        _ => answer,
    }
}

fn info(call: &Call, number: u64) -> CallInfo {
    CallInfo {
        number,
        client: call.client.to_string(),
        verb: call.verb.as_str(),
        resource: call.resource.qualified(),
        namespace: call.namespace.clone(),
        name: call.name.clone(),
        subresource: call.subresource.clone(),
    }
}

fn executed(state: &mut State, call: &Call, info: &CallInfo, as_of: Option<u64>, interceptor: &dyn Interceptor) -> Answer {
    let key = State::key(call);
    let before = state.store.get(&key).cloned();
    let reply = state.execute(call, as_of);
    let made = match &reply {
        // The call does not name what it creates.
        Ok(Reply { outcome: Outcome::Object { object, .. }, .. }) if call.name.is_empty() => Some(Arc::clone(object)),
        _ => None,
    };
    let (answer, code) = match reply {
        Ok(reply) => shown(state, call, reply),
        Err(status) => (refused(&status), status.code),
    };
    let after = made.or_else(|| state.store.get(&key).cloned());
    interceptor.after(info, &Done { code, before: before.as_ref(), after: after.as_ref() });
    answer
}

fn shown(state: &State, call: &Call, reply: Reply) -> (Answer, u16) {
    // Only reads are shown in another form.
    let form = if matches!(call.verb, Verb::Get | Verb::List) { call.form } else { present::Form::Object };
    let (code, body) = match reply.outcome {
        Outcome::Watch(watch) => {
            let timeout = call.options.number("timeoutSeconds").filter(|seconds| *seconds > 0).map(Duration::from_secs);
            return (Answer::Watch { watch, timeout }, 200);
        }
        Outcome::Object { code, resource, object } => {
            let text = match form {
                present::Form::Object => present::versioned_text(&resource, &object),
                other => present::object(other, &resource, &object, state.now).to_string(),
            };
            (code, text)
        }
        Outcome::List { resource, items, metadata } => (200, present::list_text(form, &resource, &items, &metadata, state.now)),
        // A JSON value can always be written, and its `Display` takes twice as long.
        Outcome::Other { code, body } => (code, serde_json::to_string(&body).unwrap_or_default()),
    };
    let mut response = response(code, "application/json", body.into_bytes());
    for warning in reply.warnings {
        let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    (Answer::Whole(response), code)
}

fn refused(status: &Status) -> Answer {
    let mut response = response(status.code, "application/json", status.object().to_string().into_bytes());
    if let Some(seconds) = status.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    Answer::Whole(response)
}

fn response(code: u16, content_type: &'static str, body: Vec<u8>) -> Response<Vec<u8>> {
    let mut response = Response::new(body);
    *response.status_mut() = ::http::StatusCode::from_u16(code).unwrap_or(::http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
