//! Which processes are given the roles of the transaction system.
//!
//! The order is FoundationDB's: fitness of the class first, then how many roles a process has already. Where FoundationDB draws lots
//! among equals, the model takes the smallest address, but for the master: at a recovery it goes to another equal if there is one,
//! because its move restarts data distribution, and a recovery that does so is the one to be prepared for.

use std::collections::BTreeMap;

use super::Database;
use super::configuration::Configuration;
use super::fitness::{Fitness, Role, fitness};
use super::policy::Localities;
use super::process::Process;

/// Who has which role. Addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Roles {
    pub master: String,
    pub commit_proxies: Vec<String>,
    pub grv_proxies: Vec<String>,
    pub resolvers: Vec<String>,
    pub logs: Vec<String>,
    /// How good the places are; smaller is better.
    pub rank: Rank,
}

/// How good the places of a generation are: the worst log, how many logs are missing, the worst of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u8, usize, u8);

impl Roles {
    /// Everyone whose loss ends the generation.
    pub(super) fn holders(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.master)
            .chain(&self.commit_proxies)
            .chain(&self.grv_proxies)
            .chain(&self.resolvers)
            .chain(&self.logs)
            .filter(|address| !address.is_empty())
    }
}

/// How often each process is used already, and who got a role of the last kind that was handed out.
#[derive(Clone, Default)]
struct Used {
    times: BTreeMap<String, usize>,
    lately: Vec<String>,
}

impl Used {
    fn of(&self, address: &str) -> usize {
        self.times.get(address).copied().unwrap_or(0)
    }

    fn add(&mut self, address: &str) {
        *self.times.entry(address.to_owned()).or_default() += 1;
    }
}

impl Database {
    /// The class that counts: the one set in the database, or the one of the command line.
    pub(super) fn class<'a>(&'a self, process: &'a Process) -> &'a str {
        let set = self.configuration.as_ref().and_then(|configuration| configuration.classes.get(process.address()));
        set.filter(|class| *class != "default").map_or(process.spec.class.as_str(), String::as_str)
    }

    /// Whether the configuration excludes a process.
    pub(super) fn excludes(&self, address: &str, localities: &Localities) -> bool {
        self.configuration
            .as_ref()
            .is_some_and(|configuration| configuration.exclusions.iter().any(|exclusion| exclusion.covers(address, localities)))
    }

    /// How fit a process is for a role, exclusion considered.
    pub(super) fn fit(&self, process: &Process, role: Role) -> Fitness {
        let fitness = fitness(self.class(process), role);
        let excluded = self.excludes(process.address(), process.localities());
        if excluded { fitness.max(Fitness::Excluded) } else { fitness }
    }

    /// The process that leads next, and how fit it is.
    pub(super) fn next_controller(&self) -> Option<(String, Fitness)> {
        self.joined()
            .map(|process| (self.fit(process, Role::ClusterController), process.address() != self.controller, process.address()))
            .filter(|(fitness, _, _)| *fitness < Fitness::Never)
            .min()
            .map(|(fitness, _, address)| (address.to_owned(), fitness))
    }

    /// The roles of a new generation; `None` if the log policy can't be met or nobody can take a role.
    pub(super) fn recruit(&self, configuration: &Configuration) -> Option<Roles> {
        let controller = self.processes.get(&self.controller)?;
        let mut used = Used::default();
        used.add(&self.controller);
        let (master, _) = self.pick(Role::Master, controller.datacenter(), &used)?;
        used.add(&master);
        let logs = self.recruit_logs(configuration, controller.datacenter(), &used)?;
        for log in &logs {
            used.add(log);
        }
        let mut level = 0;
        let mut first = |role, used: &mut Used| {
            let (address, _) = self.pick(role, controller.datacenter(), used)?;
            level = level.max(used.of(&address));
            used.add(&address);
            used.lately.push(address.clone());
            Some(address)
        };
        let commit_proxy = first(Role::CommitProxy, &mut used)?;
        let grv_proxy = first(Role::GrvProxy, &mut used)?;
        let resolver = first(Role::Resolver, &mut used)?;
        let mut more = |role, first: String, wanted| self.more(role, first, wanted, level, &mut used);
        let mut roles = Roles {
            master,
            commit_proxies: more(Role::CommitProxy, commit_proxy, configuration.commit_proxies),
            grv_proxies: more(Role::GrvProxy, grv_proxy, configuration.grv_proxies),
            resolvers: more(Role::Resolver, resolver, configuration.resolvers),
            logs,
            rank: Rank::default(),
        };
        roles.rank = self.rank(&roles, configuration)?;
        Some(roles)
    }

    /// How good the places are in which the roles are.
    pub(super) fn rank(&self, roles: &Roles, configuration: &Configuration) -> Option<Rank> {
        let worst = |addresses: &[String], role| {
            let fits = addresses.iter().map(|address| Some(self.fit(self.processes.get(address)?, role) as u8));
            fits.collect::<Option<Vec<u8>>>().map(|fits| fits.into_iter().max().unwrap_or(u8::MAX))
        };
        let others = [
            worst(std::slice::from_ref(&roles.master), Role::Master)?,
            worst(&roles.commit_proxies, Role::CommitProxy)?,
            worst(&roles.grv_proxies, Role::GrvProxy)?,
            worst(&roles.resolvers, Role::Resolver)?,
        ];
        let wanted = configuration.logs.max(configuration.log_replicas);
        Some(Rank(
            worst(&roles.logs, Role::Log)?,
            wanted.saturating_sub(roles.logs.len()),
            others.into_iter().max().unwrap_or(u8::MAX),
        ))
    }

    /// The best process of a datacenter for a role.
    fn pick(&self, role: Role, datacenter: &str, used: &Used) -> Option<(String, Fitness)> {
        self.joined()
            .filter(|process| process.datacenter() == datacenter)
            .map(|process| {
                let address = process.address();
                let again = (role == Role::Master && address == self.roles.master) || used.lately.iter().any(|it| it == address);
                (self.fit(process, role), used.of(address), again, address)
            })
            .filter(|(fitness, ..)| *fitness < Fitness::Never)
            .min()
            .map(|(fitness, _, _, address)| (address.to_owned(), fitness))
    }

    /// More of a role, on processes as fit as the first one and used no more than the least fortunate of the first picks.
    fn more(&self, role: Role, first: String, wanted: usize, level: usize, used: &mut Used) -> Vec<String> {
        let Some(like) = self.processes.get(&first) else { return vec![first] };
        let best = self.fit(like, role).max(Fitness::Good);
        let mut equals: Vec<(usize, &str)> = self
            .joined()
            .filter(|process| process.datacenter() == like.datacenter() && process.address() != first)
            .filter(|process| self.fit(process, role) <= best && used.of(process.address()) <= level)
            .map(|process| (used.of(process.address()), process.address()))
            .collect();
        equals.sort_unstable();
        let mut all = vec![first];
        for (_, address) in equals.into_iter().take(wanted.saturating_sub(1)) {
            used.add(address);
            all.push(address.to_owned());
        }
        all
    }

    /// Log servers: the fittest processes that together satisfy the policy, away from the controller's datacenter if possible.
    fn recruit_logs(&self, configuration: &Configuration, datacenter: &str, used: &Used) -> Option<Vec<String>> {
        let mut candidates: Vec<_> = self
            .joined()
            .filter(|process| self.fit(process, Role::Log) <= Fitness::Worst)
            .map(|process| {
                let tier = (self.fit(process, Role::Log), used.of(process.address()), process.datacenter() == datacenter);
                (tier, process.address(), process.localities())
            })
            .collect();
        candidates.sort_by_key(|(tier, address, _)| (*tier, *address));
        let wanted = configuration.logs.max(configuration.log_replicas);
        let mut considered = 0;
        while considered < candidates.len() {
            let tier = candidates[considered].0;
            considered += candidates[considered..].iter().take_while(|(other, ..)| *other == tier).count();
            let localities: Vec<&Localities> = candidates[..considered].iter().map(|(_, _, localities)| *localities).collect();
            let Some(chosen) = configuration.log_policy.select(&localities) else { continue };
            if considered < configuration.log_replicas {
                continue;
            }
            let others = (0..considered).filter(|position| !chosen.contains(position));
            let positions = chosen.iter().copied().chain(others).take(wanted.max(chosen.len()));
            return Some(positions.map(|position| candidates[position].1.to_owned()).collect());
        }
        None
    }
}
