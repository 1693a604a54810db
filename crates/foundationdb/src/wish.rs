//! A wish, with what follows from it alone. Many decisions are made for one wish; what the pods, volumes and documents of a class are held
//! against is found out once for all of them.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use quorate_quorum::Shared;

use crate::monitor::CommandLine;
use crate::objects::{self, Tags};
use crate::{Desired, ProcessClass, ProcessGroup, ProcessGroupId};

/// What the user asked for. Copies share it, and what was found out of it. Whoever changes it gets one of their own, of which nothing was
/// found out yet.
#[derive(Clone)]
pub struct Wish {
    desired: Shared<Desired>,
    /// In the order of the classes.
    found: Arc<[OnceLock<Box<OfClass>>; ProcessClass::ALL.len()]>,
}

/// What was found out of a wish for one class, as far as anybody asked.
#[derive(Default)]
struct OfClass {
    pod_asked_for: OnceLock<String>,
    claim_asked_for: OnceLock<String>,
    given: OnceLock<Given>,
    /// In logical fault domains or not, and with servers running or not.
    documents: [[OnceLock<Document>; 2]; 2],
}

/// Labels and annotations that the pods and claims of a class are given.
pub(crate) struct Given {
    pub pod: Tags,
    pub claim: Tags,
}

/// What monitors are asked to follow.
pub(crate) struct Document {
    /// As it is written into the ConfigMap.
    pub text: String,
    /// How servers are started by it, if that can be said.
    pub line: Option<CommandLine>,
}

impl Wish {
    fn of(&self, class: ProcessClass) -> &OfClass {
        self.found[class as usize].get_or_init(Box::default)
    }

    /// The digest of what the pod of a process group is asked to be.
    pub(crate) fn pod_asked_for(&self, class: ProcessClass, group: &ProcessGroupId) -> Cow<'_, str> {
        if self.buggify.concerns(group) {
            return objects::asked_for(self, class, group).into();
        }
        self.of(class).pod_asked_for.get_or_init(|| objects::asked_for(self, class, group)).into()
    }

    /// The pod of a process group, as [`objects::pod`] says.
    pub(crate) fn pod(&self, group: &ProcessGroupId, of: &ProcessGroup, service_address: Option<&str>) -> Pod {
        objects::pod_asked_for(self, group, of, service_address, self.pod_asked_for(of.class, group).into_owned())
    }

    /// The digest of what the volumes of a class are asked to be.
    pub(crate) fn claim_asked_for(&self, class: ProcessClass) -> &str {
        self.of(class).claim_asked_for.get_or_init(|| objects::claim_asked_for(self, class))
    }

    /// What a user gives to the objects of a class.
    pub(crate) fn given(&self, class: ProcessClass) -> &Given {
        let found = || Given { pod: objects::pod_tags(self, class), claim: objects::claim_tags(self, class) };
        self.of(class).given.get_or_init(found)
    }

    /// The monitor's document of a class, in logical fault domains or not.
    pub(crate) fn document(&self, class: ProcessClass, packed: bool, connection: Option<&str>) -> &Document {
        let runs = objects::runs_servers(self, connection);
        self.of(class).documents[usize::from(packed)][usize::from(runs)].get_or_init(|| {
            let configuration = objects::monitor_configuration(self, class, packed, connection);
            Document { text: objects::monitor_text(&configuration), line: configuration.taken_apart().ok() }
        })
    }

    /// The ConfigMap, as [`objects::config_map`] says.
    pub(crate) fn config_map(
        &self,
        connection: Option<&str>,
        kinds: impl IntoIterator<Item = (ProcessClass, bool)>,
    ) -> ConfigMap {
        objects::config_map_of(self, connection, kinds, |class, packed| self.document(class, packed, connection).text.clone())
    }
}

impl From<Desired> for Wish {
    fn from(desired: Desired) -> Self {
        Self { desired: desired.into(), found: Arc::default() }
    }
}

impl Deref for Wish {
    type Target = Desired;

    fn deref(&self) -> &Desired {
        &self.desired
    }
}

impl DerefMut for Wish {
    fn deref_mut(&mut self) -> &mut Desired {
        self.found = Arc::default();
        &mut self.desired
    }
}

impl PartialEq for Wish {
    fn eq(&self, other: &Self) -> bool {
        self.desired == other.desired
    }
}

impl fmt::Debug for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.desired.fmt(f)
    }
}
