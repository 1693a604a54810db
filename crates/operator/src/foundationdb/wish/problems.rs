//! What can't be carried out as it was written, collected: one problem never hides another, and nothing readable is lost.

use quorate_foundationdb::FieldProblem;

#[derive(Default)]
pub(super) struct Problems(Vec<FieldProblem>);

impl Problems {
    /// Notes what is wrong with a field, and what would be right.
    pub(super) fn add(&mut self, field: impl Into<String>, problem: impl Into<String>, right: impl Into<String>) {
        self.0.push(FieldProblem { field: field.into(), problem: problem.into(), right: right.into() });
    }

    /// The value of something that was read, or its default with a problem.
    pub(super) fn unless_wrong<T, E: ToString>(&mut self, field: &str, read: Result<T, E>, default: T, right: &str) -> T {
        read.unwrap_or_else(|error| {
            self.add(field, error.to_string(), right);
            default
        })
    }

    pub(super) fn into_list(self) -> Vec<FieldProblem> {
        self.0
    }
}
