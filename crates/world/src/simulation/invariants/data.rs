//! No data is ever lost. Volumes that the script takes are only such as nothing depends on, so whatever is lost, an operator lost.

use super::{Invariants, Stage};

impl Invariants {
    /// 19: every shard has a copy, every commit a log, and the coordinators remember.
    pub(super) fn nothing_is_lost(&mut self, stage: Stage<'_>) {
        let lost = stage.database.and_then(crate::database::Database::data_lost);
        self.demand(19, lost.is_none(), || format!("data is lost: {}", lost.map(|lost| lost.to_string()).unwrap_or_default()));
    }
}
