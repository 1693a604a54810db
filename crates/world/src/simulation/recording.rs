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
    /// The digest of the executable that made it: two builds of one version may behave differently, too. Older files don't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
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
