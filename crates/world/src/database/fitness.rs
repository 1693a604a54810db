//! How well a class of process suits a role, as FoundationDB 7.3 ranks it.

/// From the best to never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fitness {
    /// Made for it.
    Best,
    /// Meant for it among others.
    Good,
    /// No class was given.
    Unset,
    /// It will do.
    Okay,
    /// Only when nobody else is left.
    Worst,
    /// Excluded: only when really nobody else is left, and never for what keeps data.
    Excluded,
    /// Never.
    Never,
}

/// A role that the cluster controller or the data distributor gives to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Keeps data.
    Storage,
    /// Keeps the transaction log.
    Log,
    /// Takes commits; the other proxies, the resolver and the master rank classes alike, but for their own.
    CommitProxy,
    /// Hands out read versions.
    GrvProxy,
    /// Finds conflicts.
    Resolver,
    /// Leads a generation of the transaction system. The singletons live beside it.
    Master,
    /// Leads the cluster.
    ClusterController,
}

/// How well a class suits a role.
pub(super) fn fitness(class: &str, role: Role) -> Fitness {
    // The old name of a class.
    let class = if class == "proxy" { "commit_proxy" } else { class };
    match role {
        Role::Storage => match class {
            "storage" => Fitness::Best,
            "unset" => Fitness::Unset,
            "log" | "transaction" => Fitness::Worst,
            _ => Fitness::Never,
        },
        Role::Log => match class {
            "log" => Fitness::Best,
            "transaction" => Fitness::Good,
            "unset" => Fitness::Unset,
            "storage" => Fitness::Worst,
            _ => Fitness::Never,
        },
        Role::CommitProxy => stateless(class, "commit_proxy"),
        Role::GrvProxy => stateless(class, "grv_proxy"),
        Role::Resolver => stateless(class, "resolution"),
        Role::Master => stateless(class, "master"),
        Role::ClusterController => match class {
            "master" | "resolution" | "commit_proxy" | "grv_proxy" | "router" => Fitness::Okay,
            _ => stateless(class, "cluster_controller"),
        },
    }
}

fn stateless(class: &str, own: &str) -> Fitness {
    match class {
        _ if class == own => Fitness::Best,
        "stateless" => Fitness::Good,
        "unset" => Fitness::Unset,
        "transaction" => Fitness::Okay,
        "coordinator" | "test" | "tester" | "storage_cache" | "blob_worker" => Fitness::Never,
        _ => Fitness::Worst,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_can_hold_logs_and_logs_can_hold_storage_but_stateless_holds_neither() {
        assert_eq!(fitness("storage", Role::Log), Fitness::Worst);
        assert_eq!(fitness("log", Role::Storage), Fitness::Worst);
        assert_eq!(fitness("stateless", Role::Log), Fitness::Never);
        assert_eq!(fitness("stateless", Role::Storage), Fitness::Never);
        assert_eq!(fitness("coordinator", Role::ClusterController), Fitness::Never);
    }
}
