//! The database's own report. The operator reads it from a database that may be in any state, through a child that may be too.

use quorate_foundationdb::{DatabaseReport, ProcessGroupId};

pub fn check(status: &[u8]) {
    match DatabaseReport::parse(status) {
        Ok(report) => {
            // Asking about a group takes every address apart.
            let group = ProcessGroupId("storage-1".to_owned());
            report.of_group(&group, &["198.18.0.1".to_owned()]).count();
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
