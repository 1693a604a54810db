//! Connection strings: `description:id@coordinator,coordinator`.

use std::fmt;

use super::exclusion::bare;

/// A connection string, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    pub description: String,
    pub id: String,
    /// As they are written, `:tls` too.
    pub coordinators: Vec<String>,
}

impl Connection {
    /// Reads it, as far as it can be one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, coordinators) = text.trim().split_once('@')?;
        let (description, id) = name.split_once(':')?;
        Some(Self {
            description: description.to_owned(),
            id: id.to_owned(),
            coordinators: coordinators.split(',').map(str::to_owned).collect(),
        })
    }

    /// The name coordinators know their state by.
    pub(super) fn name(&self) -> String {
        format!("{}:{}", self.description, self.id)
    }

    /// The addresses without `:tls`.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.coordinators.iter().map(|coordinator| bare(coordinator))
    }

    /// How many of them decide.
    pub(super) fn majority(&self) -> usize {
        self.coordinators.len() / 2 + 1
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}@{}", self.description, self.id, self.coordinators.join(","))
    }
}
