//! What is to be done, and what must still be true when it is.

use serde::Serialize;

use crate::{Epoch, Permit};

/// One step of a decision: an action and the conditions under which it still makes sense. Whoever carries it out checks the guard and
/// never decides again.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step<Creates, TakesAway> {
    /// What to do.
    pub effect: Effect<Creates, TakesAway>,
    /// What must still be true.
    pub guard: Guard,
    /// Why, in a few words; it reaches the log and the plan.
    pub why: String,
}

/// What a step does. Taking something away needs a permit, and only the budget makes those.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect<Creates, TakesAway> {
    /// Adds or changes something; harmless.
    Adds(Creates),
    /// Takes something away.
    TakesAway {
        /// What.
        action: TakesAway,
        /// The budget's word that it may go.
        permit: Permit,
    },
}

impl<Creates, TakesAway> Step<Creates, TakesAway> {
    /// A step that adds or changes something.
    pub fn adds(action: Creates, guard: Guard, why: impl Into<String>) -> Self {
        Self { effect: Effect::Adds(action), guard, why: why.into() }
    }

    /// A step that takes something away, by permission.
    pub fn takes_away(action: TakesAway, permit: Permit, guard: Guard, why: impl Into<String>) -> Self {
        Self { effect: Effect::TakesAway { action, permit }, guard, why: why.into() }
    }
}

/// What must be true when a step is carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Guard {
    /// We still lead, under this epoch.
    pub epoch: Epoch,
    /// The object is the one that was seen, unchanged.
    pub object: Option<ObjectGuard>,
    /// The lock in the database that must still be held.
    pub fence: Option<Fence>,
}

impl Guard {
    /// Only the leadership is asked for; enough where a name can't be taken twice.
    pub fn epoch(epoch: Epoch) -> Self {
        Self { epoch, ..Self::default() }
    }

    /// Also while this lock is held.
    #[must_use]
    pub fn and_fence(mut self, fence: Option<Fence>) -> Self {
        self.fence = fence;
        self
    }

    /// The object must be the one that was seen.
    #[must_use]
    pub fn and_object(mut self, uid: impl Into<String>, resource_version: impl Into<String>) -> Self {
        self.object = Some(ObjectGuard { uid: uid.into(), resource_version: resource_version.into() });
        self
    }
}

/// An object as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectGuard {
    /// Which one; a name can be used again, a uid never is.
    pub uid: String,
    /// In which state.
    pub resource_version: String,
}

/// A key in the database whose value says that we may act. Whoever changes it takes the right away, in the same instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fence {
    /// The key.
    pub key: Vec<u8>,
    /// What it must say.
    pub value: Vec<u8>,
}
