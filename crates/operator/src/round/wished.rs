//! The wish of a cluster, kept from round to round: its object is written for its status again and again, and its wish stays what it is.

use std::sync::Arc;

use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::Wish;

use crate::foundationdb::{checked_wish, is_one_wish};

/// The wish that was last read, and the object it was read from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wished(Option<(Arc<FoundationDBCluster>, Wish)>);

impl Wished {
    /// The wish of an object: the last one, if it is the same.
    pub(super) fn of(&self, object: &Arc<FoundationDBCluster>) -> Wish {
        let is_its = |read: &Arc<FoundationDBCluster>| Arc::ptr_eq(read, object) || is_one_wish(read, object);
        match &self.0 {
            Some((read, wish)) if is_its(read) => wish.clone(),
            _ => checked_wish(object).into(),
        }
    }

    /// Keeps the wish of an object for the next round.
    pub(super) fn keep(&mut self, object: &Arc<FoundationDBCluster>, wish: &Wish) {
        self.0 = Some((Arc::clone(object), wish.clone()));
    }
}
