//! How much a pod asks of its node.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::MAIN_CONTAINER;
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
        let asked = |name: &str| main.and_then(|main| request(main, name)).and_then(amount).unwrap_or_default();
        Self { cpu: asked("cpu"), memory: asked("memory") }
    }

    /// Whether something grew since then, so that the pod may no longer fit where it is.
    pub fn grew_since(self, earlier: Self) -> bool {
        self.cpu > earlier.cpu || self.memory > earlier.memory
    }
}

/// What a pod of a class asks for today.
pub fn requests(desired: &Desired, class: ProcessClass) -> Requests {
    let any = ProcessGroupId::new(desired.prefix.as_deref(), class, 0);
    let mut spec = desired.templates.get(&class).and_then(|template| template.pod.spec.clone()).unwrap_or_default();
    super::containers::complete(&mut spec, desired, class, &any);
    Requests::of(&spec)
}

fn request<'a>(container: &'a Container, name: &str) -> Option<&'a Quantity> {
    container.resources.as_ref()?.requests.as_ref()?.get(name)
}

/// The number behind a quantity such as `500m` or `8Gi`.
fn amount(quantity: &Quantity) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 15] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let text = quantity.0.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let (suffix, factor) = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix))?;
    text.strip_suffix(suffix)?.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers() {
        let of = |text: &str| amount(&Quantity(text.to_owned()));
        assert_eq!(of("8Gi"), Some(8_589_934_592.0));
        assert_eq!(of("500m"), Some(0.5));
        assert_eq!((of("2"), of("1.5"), of("1e3")), (Some(2.0), Some(1.5), Some(1000.0)));
        assert_eq!(of("much"), None);
    }

    #[test]
    fn growth_of_either_counts_and_less_of_one_does_not_make_up_for_it() {
        let (small, large) = (Requests { cpu: 1.0, memory: 8.0 }, Requests { cpu: 2.0, memory: 4.0 });
        assert!(large.grew_since(small));
        assert!(small.grew_since(large));
        assert!(!small.grew_since(small));
    }
}
