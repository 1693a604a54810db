//! Who is who: the processes the database sees, put to the process groups they belong to. Made once per decision, so that no concern
//! walks through all processes for each group.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::roster::LookedUp;
use crate::report::host;
use crate::{DatabaseReport, ProcessGroup, ProcessGroupId, ProcessReport};

/// A process the database sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server<'a> {
    /// Where, as `ip:port`, with `:tls` where that is spoken.
    pub address: &'a str,
    /// What it says.
    pub process: &'a ProcessReport,
}

/// The processes of a report, by group.
#[derive(Default)]
pub(super) struct Members<'a> {
    /// Looked up for every group by nearly every concern.
    named: LookedUp<&'a ProcessGroupId, SmallVec<[Server<'a>; 1]>>,
    /// Those that say nothing yet, by their host.
    silent: BTreeMap<&'a str, Vec<Server<'a>>>,
}

impl<'a> Members<'a> {
    pub(super) fn new(report: Option<&'a DatabaseReport>) -> Self {
        let mut members = Self::default();
        members.named.reserve(report.map_or(0, |report| report.processes.len()));
        for (address, process) in report.iter().flat_map(|report| &report.processes) {
            let server = Server { address, process };
            match &process.group {
                Some(group) => members.named.entry(group).or_default().push(server),
                None => members.silent.entry(host(address)).or_default().push(server),
            }
        }
        members
    }

    /// The processes of a group: by what they say, and by their address, for a process that just started says nothing yet.
    pub(super) fn of(&self, id: &ProcessGroupId, group: &ProcessGroup) -> Cow<'_, [Server<'a>]> {
        let named = self.named.get(id).map_or(&[][..], SmallVec::as_slice);
        if self.silent.is_empty() {
            return Cow::Borrowed(named);
        }
        let silent = group.addresses.iter().filter_map(|address| self.silent.get(address.as_str())).flatten();
        Cow::Owned(named.iter().chain(silent).copied().collect())
    }

    /// Whether some say nothing of themselves yet, as for some seconds after their start. Who says nothing for longer never will: it was
    /// started by somebody else, without the name of a process group.
    pub(super) fn are_still_joining(&self) -> bool {
        self.silent.values().any(|servers| are_joining(servers))
    }

    /// Whether some that say nothing yet are at addresses that nobody is known by: each may belong to any group.
    pub(super) fn has_strangers(&self, groups: &BTreeMap<ProcessGroupId, ProcessGroup>) -> bool {
        if self.silent.is_empty() {
            return false;
        }
        let known: BTreeSet<&str> = groups.values().flat_map(|group| group.addresses.iter().map(String::as_str)).collect();
        self.silent.iter().any(|(host, servers)| are_joining(servers) && !known.contains(host))
    }

    /// Every process, with the group it names, in the order of their names.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'a ProcessGroupId, Server<'a>)> + '_ {
        let mut named: Vec<_> = self.named.iter().collect();
        named.sort_unstable_by_key(|(group, _)| **group);
        named.into_iter().flat_map(|(group, servers)| servers.iter().map(move |server| (*group, *server)))
    }
}

fn are_joining(servers: &[Server<'_>]) -> bool {
    servers.iter().any(|server| server.process.has_just_started())
}
