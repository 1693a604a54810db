//! A process group: one pod, its volume and its processes, under one name for its whole life.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use crate::ProcessClass;
use crate::tolerance::holds_copies;

/// The name of a process group, `[prefix-]class-number`. A number is never used twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ProcessGroupId(pub String);

impl ProcessGroupId {
    /// A new name.
    pub fn new(prefix: Option<&str>, class: ProcessClass, number: i64) -> Self {
        Self(prefix.map_or_else(|| format!("{class}-{number}"), |prefix| format!("{prefix}-{class}-{number}")))
    }

    /// The locality that everything of it is excluded by.
    pub fn locality(&self) -> String {
        format!("locality_instance_id:{}", self.0)
    }

    /// Whether it is named as a group of this prefix and class is.
    pub fn has_prefix(&self, prefix: Option<&str>, class: ProcessClass) -> bool {
        let Some((stem, _)) = self.0.rsplit_once('-') else { return false };
        prefix.map_or(stem == class.name(), |prefix| {
            stem.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-')) == Some(class.name())
        })
    }

    /// Its number, from the end of the name.
    pub fn number(&self) -> Option<i64> {
        self.0.rsplit_once('-').and_then(|(_, number)| number.parse().ok())
    }
}

impl fmt::Display for ProcessGroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a logical fault domain, `[prefix-]class-number`. The prefix keeps those of several cluster objects on one database apart.
pub fn domain_key(prefix: Option<&str>, class: ProcessClass, domain: u32) -> String {
    ProcessGroupId::new(prefix, class, domain.into()).0
}

/// What is recorded of a process group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessGroup {
    /// Its class.
    pub class: ProcessClass,
    /// Every address it was seen with.
    pub addresses: Vec<String>,
    /// Its zone: where the database sees it, or the logical fault domain it was made for.
    pub fault_domain: Option<String>,
    /// Whether its zone is a logical fault domain, which it never leaves.
    pub packed: bool,
    /// Since when it is to be removed.
    pub removal: Option<Timestamp>,
    /// Since when the database confirms that nothing is left on it.
    pub exclusion: Option<Timestamp>,
    /// Whether it is removed without moving data away.
    pub exclusion_skipped: bool,
    /// What is not as it should be, and since when.
    pub conditions: BTreeMap<GroupCondition, Timestamp>,
}

impl ProcessGroup {
    /// A new one.
    pub fn new(class: ProcessClass) -> Self {
        Self {
            class,
            addresses: Vec::new(),
            fault_domain: None,
            packed: false,
            removal: None,
            exclusion: None,
            exclusion_skipped: false,
            conditions: BTreeMap::new(),
        }
    }

    /// A new one in a logical fault domain.
    pub fn packed_into(class: ProcessClass, prefix: Option<&str>, domain: u32) -> Self {
        Self { fault_domain: Some(domain_key(prefix, class, domain)), packed: true, ..Self::new(class) }
    }

    /// Its logical fault domain: the whole name, which is also its zone.
    pub fn domain_key(&self) -> Option<&str> {
        self.fault_domain.as_deref().filter(|_| self.packed)
    }

    /// The number of its logical fault domain.
    pub fn domain(&self) -> Option<u32> {
        self.domain_key()?.rsplit_once('-')?.1.parse().ok()
    }

    /// Whether it is to go and its data is still on its way.
    pub fn is_in_flight(&self) -> bool {
        self.removal.is_some() && !self.may_go()
    }

    /// Whether it is to go and may still hold copies that nobody has confirmed to be elsewhere.
    pub fn goes_with_copies(&self) -> bool {
        let held = holds_copies(self.class) && !self.addresses.is_empty();
        self.removal.is_some() && self.exclusion.is_none() && held
    }

    /// Whether nothing keeps its objects any more: the database confirmed that it is empty, or a user asked for it to go as it is.
    pub fn may_go(&self) -> bool {
        self.removal.is_some() && (self.exclusion.is_some() || self.exclusion_skipped)
    }

    /// Where it is reached now. One that is to go keeps every address it ever had, for all of them must be empty.
    pub fn reached_at(&mut self, addresses: Vec<String>) {
        if self.removal.is_some() {
            for address in addresses {
                if !self.addresses.contains(&address) {
                    self.addresses.push(address);
                }
            }
        } else if !addresses.is_empty() {
            self.addresses = addresses;
        }
    }

    /// Records that a condition holds or no longer holds; the time of its beginning is kept.
    pub fn note(&mut self, condition: GroupCondition, holds: bool, now: Timestamp) {
        if holds {
            self.conditions.entry(condition).or_insert(now);
        } else {
            self.conditions.remove(&condition);
        }
    }
}

/// What can be wrong with a process group, under the names of the existing operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum GroupCondition {
    /// Its pod is not as it was asked to be.
    IncorrectPodSpec,
    /// Its pod or its volume claim has other labels or annotations than were asked for.
    IncorrectPodMetadata,
    /// Its monitor runs with an older configuration.
    IncorrectConfigMap,
    /// Its servers were started otherwise than they should be.
    IncorrectCommandLine,
    /// Its pod does not exist.
    MissingPod,
    /// Its volume does not exist.
    #[serde(rename = "MissingPVC")]
    MissingPvc,
    /// The database does not see its processes.
    MissingProcesses,
    /// Its service does not exist.
    MissingService,
    /// Its node has a taint that counts.
    NodeTaintDetected,
    /// Its node has had a taint that counts for too long.
    NodeTaintReplacing,
    /// Its pod has ended or does not get ready.
    PodFailing,
    /// Its pod was not placed on a node yet.
    PodPending,
    /// Its servers complain of their disk.
    #[serde(rename = "ProcessHasIOError")]
    ProcessHasIoError,
    /// Its processes are excluded, and nobody asked for it.
    ProcessIsMarkedAsExcluded,
    /// Its objects are being deleted.
    ResourcesTerminating,
}

impl GroupCondition {
    /// Every condition.
    pub const ALL: [Self; 15] = [
        Self::IncorrectPodSpec,
        Self::IncorrectPodMetadata,
        Self::IncorrectConfigMap,
        Self::IncorrectCommandLine,
        Self::MissingPod,
        Self::MissingPvc,
        Self::MissingProcesses,
        Self::MissingService,
        Self::NodeTaintDetected,
        Self::NodeTaintReplacing,
        Self::PodFailing,
        Self::PodPending,
        Self::ProcessHasIoError,
        Self::ProcessIsMarkedAsExcluded,
        Self::ResourcesTerminating,
    ];

    /// Its name in the status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IncorrectPodSpec => "IncorrectPodSpec",
            Self::IncorrectPodMetadata => "IncorrectPodMetadata",
            Self::IncorrectConfigMap => "IncorrectConfigMap",
            Self::IncorrectCommandLine => "IncorrectCommandLine",
            Self::MissingPod => "MissingPod",
            Self::MissingPvc => "MissingPVC",
            Self::MissingProcesses => "MissingProcesses",
            Self::MissingService => "MissingService",
            Self::NodeTaintDetected => "NodeTaintDetected",
            Self::NodeTaintReplacing => "NodeTaintReplacing",
            Self::PodFailing => "PodFailing",
            Self::PodPending => "PodPending",
            Self::ProcessHasIoError => "ProcessHasIOError",
            Self::ProcessIsMarkedAsExcluded => "ProcessIsMarkedAsExcluded",
            Self::ResourcesTerminating => "ResourcesTerminating",
        }
    }

    /// Reads a name back; one this version does not know is none of ours.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|condition| condition.name() == name)
    }

    /// Whether a process group in which it lasts too long is replaced.
    pub const fn is_failure(self) -> bool {
        !matches!(
            self,
            Self::IncorrectPodSpec
                | Self::IncorrectPodMetadata
                | Self::IncorrectConfigMap
                | Self::IncorrectCommandLine
                | Self::NodeTaintDetected
                | Self::ResourcesTerminating
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_prefix_class_and_number() {
        assert_eq!(ProcessGroupId::new(None, ProcessClass::ClusterController, 7).to_string(), "cluster_controller-7");
        let id = ProcessGroupId::new(Some("dc1"), ProcessClass::Storage, 12);
        assert_eq!(id.to_string(), "dc1-storage-12");
        assert_eq!(id.number(), Some(12));
    }

    #[test]
    fn a_logical_fault_domain_is_one_word_everywhere() {
        let group = ProcessGroup::packed_into(ProcessClass::Storage, Some("dc1"), 12);
        assert_eq!((group.domain_key(), group.domain()), (Some("dc1-storage-12"), Some(12)));
        // A node may be called whatever it likes.
        let on_a_node = ProcessGroup { packed: false, ..group };
        assert_eq!((on_a_node.domain_key(), on_a_node.domain()), (None, None));
    }

    #[test]
    fn a_prefix_is_whole_or_none() {
        let id = |text: &str| ProcessGroupId(text.into());
        assert!(id("dc1-log-4").has_prefix(Some("dc1"), ProcessClass::Log));
        assert!(!id("dc10-log-4").has_prefix(Some("dc1"), ProcessClass::Log));
        assert!(!id("dc1-log-4").has_prefix(None, ProcessClass::Log));
        assert!(id("log-4").has_prefix(None, ProcessClass::Log));
    }

    #[test]
    fn the_beginning_of_a_condition_is_kept() {
        let mut group = ProcessGroup::new(ProcessClass::Log);
        let (first, later) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(60));
        group.note(GroupCondition::MissingPod, true, first);
        group.note(GroupCondition::MissingPod, true, later);
        assert_eq!(group.conditions[&GroupCondition::MissingPod], first);
        group.note(GroupCondition::MissingPod, false, later);
        assert!(group.conditions.is_empty());
    }

    #[test]
    fn conditions_are_read_back_from_their_names() {
        for condition in GroupCondition::ALL {
            assert_eq!(GroupCondition::from_name(condition.name()), Some(condition));
        }
        assert_eq!(GroupCondition::from_name("SomethingNew"), None);
    }
}
