//! Which image the pods run.

use quorate_api::foundationdb::{FoundationDBClusterSpec, ImageConfig, ImageType};

use super::problems::Problems;

const DEFAULT_IMAGE: &str = "foundationdb/fdb-kubernetes-monitor";

/// For each part of the image, the first setting that fits the version and is not empty.
pub(super) fn image(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> String {
    if spec.image_type() == ImageType::Split {
        problems.add("spec.imageType", "Quorate runs the unified image only", "unified");
    }
    let configs = spec.main_container.as_ref().and_then(|container| container.image_configs.as_deref()).unwrap_or_default();
    let fitting = || {
        configs
            .iter()
            .filter(|config| config.version.as_deref().is_none_or(|version| version.is_empty() || version == spec.version))
    };
    let first = |pick: fn(&ImageConfig) -> Option<&String>| fitting().filter_map(pick).find(|text| !text.is_empty()).cloned();
    let base = first(|config| config.base_image.as_ref()).unwrap_or_else(|| DEFAULT_IMAGE.to_owned());
    let suffix = first(|config| config.tag_suffix.as_ref()).unwrap_or_default();
    let tag = first(|config| config.tag.as_ref()).unwrap_or_else(|| format!("{}{suffix}", spec.version));
    format!("{base}:{tag}")
}
