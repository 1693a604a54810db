//! Get, list and watch.

use std::sync::Arc;

use serde_json::{Value, json};

use super::request::Call;
use super::selector::Selector;
use super::state::{Outcome, Reply, State};
use super::status::{Cause, Status};
use super::store::Key;
use super::watch::Interest;

/// Where a list that was cut goes on: at which revision, or as things are by then, and after which object.
struct Continue {
    revision: Option<u64>,
    after: Key,
}

impl Continue {
    fn token(&self) -> String {
        let text = json!([self.revision, self.after.namespace, self.after.name]).to_string();
        text.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    fn parse(token: &str, storage: &str) -> Option<Self> {
        let bytes: Option<Vec<u8>> =
            (0..token.len()).step_by(2).map(|at| u8::from_str_radix(token.get(at..at + 2)?, 16).ok()).collect();
        let (revision, namespace, name): (Option<u64>, String, String) = serde_json::from_slice(&bytes?).ok()?;
        Some(Self { revision, after: Key::new(storage, &namespace, &name) })
    }
}

const LIST_EXPIRED: &str = "The resourceVersion for the provided list is too old.";

impl State {
    pub(crate) fn get(&self, call: &Call, stale: Option<u64>) -> Result<Reply, Status> {
        let asked = call.options.resource_version()?.unwrap_or(0);
        if asked > self.store.revision() {
            return Err(Status::too_large_version(asked, self.store.revision()));
        }
        let object = match stale {
            Some(revision) => self
                .store
                .list_at(revision, &call.resource.storage, &call.namespace)
                .and_then(|objects| objects.get(&Self::key(call)).cloned())
                .ok_or_else(|| Status::not_found(&call.resource, &call.name))?,
            None => self.existing(call)?,
        };
        Ok(Outcome::Object { code: 200, resource: Arc::clone(&call.resource), object }.into())
    }

    pub(crate) fn list(&self, call: &Call, stale: Option<u64>) -> Result<Reply, Status> {
        let storage = &call.resource.storage;
        let options = &call.options;
        let selector = Selector::parse(&call.resource, options.text("labelSelector"), options.text("fieldSelector"))?;
        let current = self.store.revision();
        let asked = options.resource_version()?;
        self.check_list_options(call, asked)?;
        let token = match options.text("continue") {
            "" => None,
            token => Some(Continue::parse(token, storage).ok_or_else(|| {
                Status::bad_request("invalid continue token: continue key is not valid: it is not one of this server")
            })?),
        };
        let exact = options.text("resourceVersionMatch") == "Exact"
            || (options.number("limit").unwrap_or(0) > 0 && options.text("resourceVersionMatch").is_empty());
        let (revision, asked_for) = match (&token, asked, stale) {
            (Some(token), _, _) => (token.revision.unwrap_or(current), true),
            (None, Some(asked), _) if asked > 0 && exact => (asked, true),
            (None, _, Some(stale)) => (stale, false),
            (None, _, None) => (current, false),
        };
        let is_gone = asked_for && revision < self.store.compacted();
        let objects = self.store.list_at(revision, storage, &call.namespace).filter(|_| !is_gone);
        let after = token.map(|token| token.after);
        let objects = objects.ok_or_else(|| match &after {
            Some(after) => Status::expired_page(Continue { revision: None, after: after.clone() }.token()),
            None => Status::expired(LIST_EXPIRED),
        })?;
        let mut rest = objects
            .into_iter()
            .filter(|(key, _)| after.as_ref().is_none_or(|after| key > after))
            .filter(|(_, object)| selector.matches(object));
        // Who takes any version is answered from memory, and that has no pages.
        let limit =
            options.number("limit").filter(|limit| *limit > 0 && asked != Some(0)).and_then(|limit| usize::try_from(limit).ok());
        let page: Vec<(Key, Arc<Value>)> = rest.by_ref().take(limit.unwrap_or(usize::MAX)).collect();
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        let remaining = rest.count();
        if let (Some((last, _)), true) = (page.last(), remaining > 0) {
            metadata["continue"] = Continue { revision: Some(revision), after: last.clone() }.token().into();
            // With a selector the server does not know how many more there are.
            if selector.is_everything() {
                metadata["remainingItemCount"] = remaining.into();
            }
        }
        let items = page.into_iter().map(|(_, object)| object).collect();
        Ok(Outcome::List { resource: Arc::clone(&call.resource), items, metadata }.into())
    }

    fn check_list_options(&self, call: &Call, asked: Option<u64>) -> Result<(), Status> {
        let options = &call.options;
        let matching = options.text("resourceVersionMatch");
        let forbidden = |field: &str, detail: &str| Err(Status::invalid_options("ListOptions", &Cause::forbidden(field, detail)));
        if !matching.is_empty() && asked.is_none() {
            return forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !matching.is_empty() && !options.text("continue").is_empty() {
            return forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
        }
        if matching == "Exact" && asked == Some(0) {
            return forbidden("resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        if options.text("continue").is_empty() && asked.is_some_and(|asked| asked > self.store.revision()) {
            return Err(Status::too_large_version(asked.unwrap_or_default(), self.store.revision()));
        }
        Ok(())
    }

    pub(crate) fn watch(&mut self, call: &Call) -> Result<Reply, Status> {
        let options = &call.options;
        let selector = Selector::parse(&call.resource, options.text("labelSelector"), options.text("fieldSelector"))?;
        let asked = options.resource_version()?.unwrap_or(0);
        let streams_list = options.is_true("sendInitialEvents");
        if streams_list && options.text("resourceVersionMatch") != "NotOlderThan" {
            let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            return Err(Status::invalid_options("ListOptions", &Cause::forbidden("resourceVersionMatch", detail)));
        }
        let current = self.store.revision();
        let shows_all = streams_list || (asked == 0 && !options.has("sendInitialEvents"));
        let watch = self.watchers.add(Interest {
            client: Arc::clone(&call.client),
            resource: Arc::clone(&call.resource),
            namespace: call.namespace.clone(),
            selector: selector.clone(),
            form: call.form,
            bookmarks: options.is_true("allowWatchBookmarks"),
            after: if shows_all || asked == 0 { current } else { asked },
        });
        if shows_all {
            for (_, object) in self.store.list(&call.resource.storage, &call.namespace) {
                if selector.matches(object) {
                    self.watchers.show(watch.id, object, self.now);
                }
            }
            if streams_list {
                self.watchers.bookmark(watch.id, current, true);
            }
        } else if asked > 0 {
            let compacted = self.store.compacted();
            if let Some(changes) = self.store.since(asked) {
                changes.for_each(|change| self.watchers.replay(watch.id, change, self.now));
            } else {
                let status = Status::expired(format!("too old resource version: {asked} ({compacted})"));
                self.watchers.fail(watch.id, &status);
            }
        }
        Ok(Outcome::Watch(watch).into())
    }
}
