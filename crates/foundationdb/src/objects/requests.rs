//! How much a pod asks of its node, and how many servers it runs.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::MAIN_CONTAINER;
use super::containers::PROCESS_COUNT;
use crate::quantity::amount;
use crate::{Desired, ProcessClass, ProcessGroupId};

/// What the main container of a pod asks of its node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    /// Processors.
    pub cpu: f64,
    /// Bytes of memory.
    pub memory: f64,
}

impl Requests {
    /// What the main container of this pod asks for.
    pub fn of(spec: &PodSpec) -> Self {
        let main = spec.containers.iter().find(|container| container.name == MAIN_CONTAINER);
        let asked = |name: &str| main.and_then(|main| request(main, name)).and_then(|asked| amount(&asked.0)).unwrap_or_default();
        Self { cpu: asked("cpu"), memory: asked("memory") }
    }

    /// Whether something grew since then, so that the pod may no longer fit where it is.
    pub fn grew_since(self, earlier: Self) -> bool {
        self.cpu > earlier.cpu || self.memory > earlier.memory
    }
}

/// How many servers a pod runs, by what its monitor was told.
pub fn servers_in(spec: &PodSpec) -> u32 {
    let main = spec.containers.iter().find(|container| container.name == MAIN_CONTAINER);
    let mut args = main.and_then(|main| main.args.as_deref()).unwrap_or_default().iter();
    let told = args.find(|arg| *arg == PROCESS_COUNT).and_then(|_| args.next());
    told.and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// What a pod of a class asks for today.
pub fn requests(desired: &Desired, class: ProcessClass) -> Requests {
    let any = ProcessGroupId::new(desired.prefix.as_deref(), class, 0);
    let mut spec = desired.templates.get(&class).and_then(|template| template.pod.spec.clone()).unwrap_or_default();
    super::containers::complete(&mut spec, desired, class, &any, None);
    Requests::of(&spec)
}

fn request<'a>(container: &'a Container, name: &str) -> Option<&'a Quantity> {
    container.resources.as_ref()?.requests.as_ref()?.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_either_counts_and_less_of_one_does_not_make_up_for_it() {
        let (small, large) = (Requests { cpu: 1.0, memory: 8.0 }, Requests { cpu: 2.0, memory: 4.0 });
        assert!(large.grew_since(small));
        assert!(small.grew_since(large));
        assert!(!small.grew_since(small));
    }
}
