//! A run that broke something, as a file.

use serde::{Deserialize, Serialize};

use super::invariants::Violation;
use super::run::{Report, play};
use super::script::Script;

/// What a failing run leaves behind: enough to play it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recording {
    /// The version that made it; another one may behave differently.
    pub quorate: String,
    /// What it broke.
    pub violation: Violation,
    /// What goes wrong in it.
    pub script: Script,
}

impl Recording {
    /// The run, again.
    pub fn play(&self) -> Report {
        play(&self.script)
    }
}
