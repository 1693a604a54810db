//! How often what was asked, so that a benchmark is a count.

use std::collections::BTreeMap;

/// Calls by verb and resource; a subresource is named after a slash, as in `pods/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<(String, String), u64>);

impl Counts {
    pub(crate) fn add(&mut self, verb: &str, resource: &str) {
        *self.0.entry((verb.to_owned(), resource.to_owned())).or_default() += 1;
    }

    pub(crate) fn all(&self) -> BTreeMap<(String, String), u64> {
        self.0.clone()
    }
}
