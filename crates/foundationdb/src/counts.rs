//! How many process groups a cluster has of each class, where its user did not say.

use std::collections::BTreeMap;

use crate::{ProcessClass, RedundancyMode};

/// What the user asked for, per class: 0 is inferred, below 0 is none.
pub type AskedCounts = BTreeMap<ProcessClass, i32>;

/// How many of each role the database recruits, where the user said so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the role of that name")]
pub struct RoleCounts {
    pub storage: Option<i32>,
    pub logs: Option<i32>,
    pub proxies: Option<i32>,
    pub commit_proxies: Option<i32>,
    pub grv_proxies: Option<i32>,
    pub resolvers: Option<i32>,
    pub remote_logs: Option<i32>,
    pub log_routers: Option<i32>,
}

/// How many process groups there are of each class; classes without any are left out.
///
/// With F zones tolerated: storage is what the role says or 2F + 1, logs are the roles and F spare ones, and stateless processes are one
/// for each role that has no class of its own, or as many as log routers if those are more, and F spare ones.
pub fn process_counts(mode: RedundancyMode, roles: RoleCounts, asked: &AskedCounts) -> BTreeMap<ProcessClass, u32> {
    let asked_for = |class: ProcessClass| asked.get(&class).copied().unwrap_or(0);
    let inferred = |class: ProcessClass| match class {
        ProcessClass::Storage => storage(mode, roles),
        ProcessClass::Log => logs(mode, roles),
        ProcessClass::Stateless => stateless(mode, roles, asked),
        _ => 0,
    };
    ProcessClass::ALL
        .iter()
        .map(|class| (*class, if asked_for(*class) == 0 { inferred(*class) } else { asked_for(*class) }))
        .filter_map(|(class, count)| u32::try_from(count).ok().filter(|count| *count > 0).map(|count| (class, count)))
        .collect()
}

fn spare(mode: RedundancyMode) -> i32 {
    i32::try_from(mode.fault_tolerance()).unwrap_or(0)
}

fn role(asked: Option<i32>, default: i32) -> i32 {
    asked.filter(|count| *count > 0).unwrap_or(default)
}

fn storage(mode: RedundancyMode, roles: RoleCounts) -> i32 {
    // Six copies over three datacenters need six zones; nine leave room to move.
    let default = if mode == RedundancyMode::ThreeDatacenter { 9 } else { 2 * spare(mode) + 1 };
    role(roles.storage, default)
}

fn logs(mode: RedundancyMode, roles: RoleCounts) -> i32 {
    let default = if mode.spans_halls() { 4 } else { 3 };
    role(roles.logs, default).max(roles.remote_logs.unwrap_or(0)) + spare(mode)
}

fn stateless(mode: RedundancyMode, roles: RoleCounts, asked: &AskedCounts) -> i32 {
    let has_own = |class: ProcessClass| asked.get(&class).is_some_and(|count| *count > 0);
    let unless_own = |class: ProcessClass, count: i32| if has_own(class) { 0 } else { count };
    let is_asked = |role: Option<i32>| role.is_some_and(|count| count > 0);
    let proxies = if is_asked(roles.commit_proxies) || is_asked(roles.grv_proxies) {
        unless_own(ProcessClass::GrvProxy, role(roles.grv_proxies, 1))
            + unless_own(ProcessClass::CommitProxy, role(roles.commit_proxies, 2))
    } else {
        unless_own(ProcessClass::Proxy, role(roles.proxies, 3))
    };
    let singletons =
        [ProcessClass::Master, ProcessClass::ClusterController, ProcessClass::Ratekeeper, ProcessClass::DataDistributor];
    let singles: i32 = singletons.into_iter().map(|class| unless_own(class, 1)).sum();
    let one_each = singles + unless_own(ProcessClass::Resolution, role(roles.resolvers, 1)) + proxies;
    let needed = one_each.max(roles.log_routers.unwrap_or(0));
    // Where every role has a class of its own, there is nobody to have spare ones of.
    if needed > 0 { needed + spare(mode) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(mode: RedundancyMode, roles: RoleCounts, asked: &[(ProcessClass, i32)]) -> Vec<(&'static str, u32)> {
        process_counts(mode, roles, &asked.iter().copied().collect())
            .into_iter()
            .map(|(class, count)| (class.name(), count))
            .collect()
    }

    #[test]
    fn a_double_cluster_gets_three_storage_four_logs_and_nine_stateless() {
        assert_eq!(counts(RedundancyMode::Double, RoleCounts::default(), &[]), [("log", 4), ("stateless", 9), ("storage", 3)]);
    }

    #[test]
    fn other_modes_follow_their_tolerance() {
        let of = |mode| counts(mode, RoleCounts::default(), &[]);
        assert_eq!(of(RedundancyMode::Single), [("log", 3), ("stateless", 8), ("storage", 1)]);
        assert_eq!(of(RedundancyMode::Triple), [("log", 5), ("stateless", 10), ("storage", 5)]);
        assert_eq!(of(RedundancyMode::ThreeDataHall), [("log", 6), ("stateless", 10), ("storage", 5)]);
        assert_eq!(of(RedundancyMode::ThreeDatacenter), [("log", 6), ("stateless", 10), ("storage", 9)]);
    }

    #[test]
    fn a_class_of_its_own_takes_its_role_from_the_stateless_ones() {
        let asked = [(ProcessClass::ClusterController, 1), (ProcessClass::Master, 1)];
        assert_eq!(
            counts(RedundancyMode::Double, RoleCounts::default(), &asked),
            [("cluster_controller", 1), ("log", 4), ("master", 1), ("stateless", 7), ("storage", 3)]
        );
    }

    #[test]
    fn where_every_role_has_a_class_of_its_own_there_are_no_stateless_ones() {
        use ProcessClass::{ClusterController, CommitProxy, DataDistributor, GrvProxy, Master, Proxy, Ratekeeper, Resolution};
        let singles = [Master, ClusterController, Ratekeeper, DataDistributor, Resolution].map(|class| (class, 1));
        let stateless = |roles: RoleCounts, of_proxies: &[(ProcessClass, i32)]| {
            let asked: Vec<_> = singles.iter().chain(of_proxies).copied().collect();
            counts(RedundancyMode::Double, roles, &asked).into_iter().find(|(class, _)| *class == "stateless")
        };
        let apart = RoleCounts { commit_proxies: Some(4), grv_proxies: Some(2), ..RoleCounts::default() };
        assert_eq!(stateless(RoleCounts::default(), &[(Proxy, 3)]), None);
        assert_eq!(stateless(apart, &[(Proxy, 3)]), Some(("stateless", 7)), "proxies of both kinds are of other classes");
        assert_eq!(stateless(apart, &[(GrvProxy, 2), (CommitProxy, 4)]), None);
        let none_asked = RoleCounts { proxies: Some(7), grv_proxies: Some(0), ..RoleCounts::default() };
        assert_eq!(stateless(none_asked, &[]), Some(("stateless", 8)));
    }

    #[test]
    fn minus_one_means_none() {
        assert_eq!(
            counts(RedundancyMode::Double, RoleCounts::default(), &[(ProcessClass::Stateless, -1)]),
            [("log", 4), ("storage", 3)]
        );
    }

    #[test]
    fn roles_that_were_asked_for_count() {
        let roles = RoleCounts {
            storage: Some(12),
            logs: Some(5),
            commit_proxies: Some(4),
            grv_proxies: Some(2),
            ..RoleCounts::default()
        };
        assert_eq!(counts(RedundancyMode::Triple, roles, &[]), [("log", 7), ("stateless", 13), ("storage", 12)]);
        for (log_routers, stateless) in [(8, 9), (9, 10), (20, 21)] {
            let roles = RoleCounts { log_routers: Some(log_routers), ..RoleCounts::default() };
            let all = counts(RedundancyMode::Double, roles, &[]);
            assert_eq!(all, [("log", 4), ("stateless", stateless), ("storage", 3)], "{log_routers} log routers");
        }
    }
}
