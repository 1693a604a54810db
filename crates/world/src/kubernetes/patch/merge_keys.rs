//! By which field the items of a list are told apart in a strategic merge patch, as Kubernetes' types declare it.

/// How a list takes a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListType {
    /// Items are objects with this key; the patch changes those it names.
    Keyed(&'static str),
    /// Items are plain values; the patch adds those that are missing.
    Set,
    /// The patch replaces it.
    Atomic,
}

/// The type of a list, by the names on the way to it: the last ones decide.
pub(super) fn list_type(path: &[String]) -> ListType {
    let mut names = path.iter().rev().map(String::as_str);
    let last = names.next().unwrap_or_default();
    let parent = names.next().unwrap_or_default();
    match last {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims"
        | "secrets" => ListType::Keyed("name"),
        "ports" if parent == "spec" => ListType::Keyed("port"),
        "ports" => ListType::Keyed("containerPort"),
        "volumeMounts" => ListType::Keyed("mountPath"),
        "volumeDevices" => ListType::Keyed("devicePath"),
        "hostAliases" | "podIPs" | "hostIPs" => ListType::Keyed("ip"),
        "topologySpreadConstraints" => ListType::Keyed("topologyKey"),
        "ownerReferences" => ListType::Keyed("uid"),
        "conditions" | "addresses" => ListType::Keyed("type"),
        "taints" if parent == "spec" => ListType::Keyed("key"),
        "finalizers" => ListType::Set,
        _ => ListType::Atomic,
    }
}
