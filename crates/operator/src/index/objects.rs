//! The objects of one cluster, as facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::{ClaimFacts, ConfigMapFacts, DisruptionBudgetFacts, PodFacts, ServiceFacts};
use quorate_quorum::Shared;

use super::Kind;

/// What is kept of an object that belongs to a cluster.
#[derive(Debug)]
pub(crate) enum Facts {
    Pod(PodFacts),
    Claim(ClaimFacts),
    Service(ServiceFacts),
    ConfigMap(ConfigMapFacts),
    Budget(DisruptionBudgetFacts),
}

/// What is known of one cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) object: Option<Arc<FoundationDBCluster>>,
    pub(crate) pods: BTreeMap<String, Shared<PodFacts>>,
    pub(crate) claims: BTreeMap<String, Shared<ClaimFacts>>,
    pub(crate) services: BTreeMap<String, ServiceFacts>,
    pub(crate) config_maps: BTreeMap<String, ConfigMapFacts>,
    pub(crate) budgets: BTreeMap<String, DisruptionBudgetFacts>,
    /// What monitors say they run with: a few texts, which all pods share.
    pub(crate) configurations: BTreeSet<Arc<str>>,
}

impl Known {
    /// Keeps an object, and says whether that may matter to a decision.
    pub(super) fn keep(&mut self, name: String, facts: Facts) -> bool {
        match facts {
            Facts::Pod(mut facts) => {
                facts.active_configuration = facts.active_configuration.map(|text| self.configuration(text));
                self.pods.insert(name, facts.into());
            }
            Facts::Claim(facts) => drop(self.claims.insert(name, facts.into())),
            Facts::Service(facts) => drop(self.services.insert(name, facts)),
            Facts::ConfigMap(facts) => drop(self.config_maps.insert(name, facts)),
            Facts::Budget(facts) => return self.keep_budget(name, facts),
        }
        true
    }

    /// The same text, as others have it. A new one comes with a change, and then the old ones go one by one.
    fn configuration(&mut self, text: Arc<str>) -> Arc<str> {
        if let Some(known) = self.configurations.get(&text) {
            return Arc::clone(known);
        }
        self.configurations.retain(|known| Arc::strong_count(known) > 1);
        self.configurations.insert(Arc::clone(&text));
        text
    }

    /// A budget's status changes with every pod, and no decision reads it: then only the state to write against is new.
    fn keep_budget(&mut self, name: String, facts: DisruptionBudgetFacts) -> bool {
        let same = self.budgets.get(&name).is_some_and(|before| {
            let DisruptionBudgetFacts { uid, resource_version: _, owner, min_available, given } = before;
            (uid, owner, min_available, given) == (&facts.uid, &facts.owner, &facts.min_available, &facts.given)
        });
        self.budgets.insert(name, facts);
        !same
    }

    pub(super) fn drop(&mut self, kind: Kind, name: &str) {
        match kind {
            Kind::Pods => drop(self.pods.remove(name)),
            Kind::Claims => drop(self.claims.remove(name)),
            Kind::Services => drop(self.services.remove(name)),
            Kind::ConfigMaps => drop(self.config_maps.remove(name)),
            Kind::Budgets => drop(self.budgets.remove(name)),
            Kind::Clusters | Kind::Nodes | Kind::StorageClasses => {}
        }
    }

    /// The state in which an object was last seen.
    pub(crate) fn state(&self, kind: Kind, name: &str) -> Option<&str> {
        let state = match kind {
            Kind::Pods => self.pods.get(name).map(|facts| &facts.resource_version),
            Kind::Claims => self.claims.get(name).map(|facts| &facts.resource_version),
            Kind::Services => self.services.get(name).map(|facts| &facts.resource_version),
            Kind::ConfigMaps => self.config_maps.get(name).map(|facts| &facts.resource_version),
            Kind::Budgets => self.budgets.get(name).map(|facts| &facts.resource_version),
            Kind::Clusters | Kind::Nodes | Kind::StorageClasses => None,
        };
        state.map(String::as_str)
    }
}
