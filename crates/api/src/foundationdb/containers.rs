//! Images, TLS and probes of the two containers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What differs from the defaults in one container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerOverrides {
    /// Whether processes talk TLS.
    pub enable_tls: Option<bool>,
    /// Which certificates of peers are accepted.
    #[schemars(length(max = 10000))]
    pub peer_verification_rules: Option<String>,
    /// Images; for each part the first that fits the version and is set counts.
    #[schemars(length(max = 100))]
    pub image_configs: Option<Vec<ImageConfig>>,
    /// Whether there is a liveness probe; unset means yes.
    pub enable_liveness_probe: Option<bool>,
    /// Whether there is a readiness probe; unset means no.
    pub enable_readiness_probe: Option<bool>,
}

/// One way to name an image.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageConfig {
    /// Only for this version of FoundationDB; unset fits all.
    #[schemars(length(max = 20))]
    pub version: Option<String>,
    /// The image without its tag.
    #[schemars(length(max = 200))]
    pub base_image: Option<String>,
    /// The tag.
    #[schemars(length(max = 100))]
    pub tag: Option<String>,
    /// Put behind the version when no tag is given.
    #[schemars(length(max = 50))]
    pub tag_suffix: Option<String>,
}
