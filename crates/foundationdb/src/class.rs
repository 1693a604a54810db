//! Process classes: what a process is meant to do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

macro_rules! classes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The class of a process, in the order in which they are listed everywhere: by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ProcessClass {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl ProcessClass {
            /// Every class that processes can be counted for.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name FoundationDB knows it by.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

classes! {
    /// Runs backup workers.
    Backup = "backup",
    /// Runs the cluster controller.
    ClusterController = "cluster_controller",
    /// Runs commit proxies.
    CommitProxy = "commit_proxy",
    /// Serves as a coordinator and nothing else; it keeps their state on disk.
    Coordinator = "coordinator",
    /// Runs the data distributor.
    DataDistributor = "data_distributor",
    /// Runs restore workers.
    FastRestore = "fast_restore",
    /// Runs GRV proxies.
    GrvProxy = "grv_proxy",
    /// Keeps the transaction log on disk.
    Log = "log",
    /// Runs the master.
    Master = "master",
    /// Runs proxies of either kind.
    Proxy = "proxy",
    /// Runs the ratekeeper.
    Ratekeeper = "ratekeeper",
    /// Runs resolvers.
    Resolution = "resolution",
    /// Routes logs between regions.
    Router = "router",
    /// Runs any stateless role.
    Stateless = "stateless",
    /// Keeps data on disk.
    Storage = "storage",
    /// Keeps data in memory, for reading.
    StorageCache = "storage_cache",
    /// Runs test workloads; no part of the database.
    Test = "test",
    /// Runs test workloads; no part of the database.
    Tester = "tester",
    /// Keeps the transaction log on disk and takes other roles of the transaction system.
    Transaction = "transaction",
    /// Takes any role.
    Unset = "unset",
}

impl ProcessClass {
    /// Whether its processes keep state on disk, and so get a volume and may be coordinators.
    pub const fn is_stateful(self) -> bool {
        matches!(self, Self::Storage | Self::Log | Self::Transaction | Self::Coordinator)
    }
}

impl fmt::Display for ProcessClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no process class.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is no process class of FoundationDB")]
pub struct UnknownClass(pub String);

impl FromStr for ProcessClass {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|class| class.name() == text).ok_or_else(|| UnknownClass(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_read_back_from_its_name() {
        for class in ProcessClass::ALL {
            assert_eq!(class.name().parse(), Ok(*class));
        }
        assert_eq!("disk".parse::<ProcessClass>(), Err(UnknownClass("disk".to_owned())));
    }

    #[test]
    fn classes_are_listed_by_name() {
        let names: Vec<_> = ProcessClass::ALL.iter().map(|class| class.name()).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
    }

    #[test]
    fn four_classes_keep_state() {
        let stateful: Vec<_> = ProcessClass::ALL.iter().filter(|class| class.is_stateful()).map(|class| class.name()).collect();
        assert_eq!(stateful, ["coordinator", "log", "storage", "transaction"]);
    }
}
