//! Halls and datacenters: a mode that spans them loses any one of them and goes on. So there are three, each can hold its share of the
//! copies, and none of them ever has a majority of the coordinators.

use std::collections::{BTreeMap, BTreeSet};

use crate::objects::monitor_configuration;
use crate::tolerance::holds_copies;
use crate::{DatabaseReport, Desired, PodFacts, ProcessClass, RedundancyMode};

/// So many there are.
const HALLS: usize = 3;
/// In so many of them logs have their copies.
const FULL_HALLS: usize = 2;

/// Zones of those that can hold copies, by their hall or datacenter.
#[derive(Default)]
pub(super) struct Halls(BTreeMap<String, BTreeSet<String>>);

impl Halls {
    /// As the database sees them.
    pub(super) fn of_report(report: &DatabaseReport, mode: RedundancyMode) -> Self {
        let mut halls = Self::default();
        let able = report.processes.values().filter(|process| process.class.is_some_and(holds_copies));
        for process in able.filter(|process| process.excluded != Some(true)) {
            if let (Some(hall), Some(zone)) = (process.hall_of(mode), process.physical()) {
                halls.add(hall.to_owned(), zone.to_owned());
            }
        }
        halls
    }

    pub(super) fn add(&mut self, hall: String, zone: String) {
        self.0.entry(hall).or_default().insert(zone);
    }

    /// What there is and what it takes, if that is not enough: the server accepts the mode with less, and stays down.
    pub(super) fn lack(&self, mode: RedundancyMode) -> Option<(String, String)> {
        let (each, most) = zones_in(mode);
        let full = self.0.values().filter(|hall| hall.len() >= most).count();
        if self.0.len() == HALLS && self.0.values().all(|hall| hall.len() >= each) && full >= FULL_HALLS {
            return None;
        }
        let there: Vec<String> = self.0.iter().map(|(hall, zones)| format!("{hall} with {} zones", zones.len())).collect();
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        let needed = if each == most {
            format!("exactly {HALLS}, each with {each} zones")
        } else {
            format!("exactly {HALLS}, {FULL_HALLS} of them with {most} zones")
        };
        Some((there, needed))
    }
}

/// In how many zones of each hall there must be storage or log processes, and in how many of two: logs have two copies in each of two halls, and
/// data has one in each, or two in each datacenter.
fn zones_in(mode: RedundancyMode) -> (usize, usize) {
    if mode == RedundancyMode::ThreeDatacenter { (2, 2) } else { (1, 2) }
}

/// How many of so many coordinators one hall or datacenter may have, where a mode spans them.
pub(super) fn coordinators_in_one(mode: RedundancyMode, coordinators: usize) -> Option<usize> {
    mode.spans_halls().then(|| coordinators.div_ceil(HALLS))
}

/// What the servers of a pod are started with, or will be: its hall or datacenter.
pub(super) fn of_pod(desired: &Desired, class: ProcessClass, packed: bool, pod: &PodFacts) -> Option<String> {
    let argument =
        if desired.redundancy_mode() == RedundancyMode::ThreeDataHall { "--locality_data_hall=" } else { "--locality_dcid=" };
    // What else the monitor has not said yet does not matter here.
    let arguments = monitor_configuration(desired, class, packed, None).arguments;
    let mut known = arguments.iter().filter_map(|part| part.resolved(&pod.environment, 1).ok());
    known.find_map(|part| part.strip_prefix(argument).map(str::to_owned))
}
