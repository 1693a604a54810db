//! Who may act at all, that nothing recorded goes back, and that waiting is explained: 18, 28, 62 and 63.

use std::time::Duration;

use quorate_api::foundationdb::FoundationDBCluster;
use serde_json::Value;
use tokio::time::Instant;

use super::super::news::Arrival;
use super::Invariants;

/// For so long an operator may act after it last held the lease.
const LEASE: Duration = Duration::from_secs(15);

/// What is known of an operator.
#[derive(Default)]
pub(super) struct Known {
    /// When it last wrote the lease as its holder, and the epoch it then had.
    held: Option<(Instant, i64)>,
    /// Whether the object asked to be left alone when it last wrote its status.
    skipped: bool,
}

impl Invariants {
    fn operator(&mut self, client: &str) -> &mut Known {
        self.operators.entry(client.to_owned()).or_default()
    }

    pub(super) fn note_leadership(&mut self, arrival: &Arrival) {
        let Some(spec) = arrival.after.as_ref().map(|lease| &lease["spec"]) else { return };
        if spec["holderIdentity"] == arrival.client.as_str() {
            let epoch = spec["leaseTransitions"].as_i64().unwrap_or(0);
            self.operator(&arrival.client).held = Some((arrival.at, epoch));
        }
    }

    /// 28: nobody acts much later than it last held the lease.
    pub(super) fn only_leaders_act(&mut self, client: &str, what: &str, at: Instant) {
        let held = self.operator(client).held;
        self.demand(28, held.is_some(), || format!("{client} sent {what} and never held the lease"));
        let Some((held, _)) = held else { return };
        let ago = at - held;
        self.demand(28, ago <= LEASE, || format!("{client} sent {what}, {} s after it last held the lease", ago.as_secs()));
    }

    /// 28: nobody writes a status over that of a later leadership.
    pub(super) fn status_is_fenced(&mut self, arrival: &Arrival) {
        let epoch_in =
            |object: Option<&Value>| object.and_then(|object| object["status"]["quorate"]["epoch"].as_i64()).unwrap_or(0);
        let recorded = epoch_in(arrival.before.as_deref());
        let skipped = arrival.before.as_ref().is_some_and(|object| object["spec"]["skip"] == true);
        let client = arrival.client.clone();
        let known = self.operator(&client);
        known.skipped = skipped;
        if let Some((_, epoch)) = known.held {
            self.demand(28, epoch >= recorded, || format!("{client} of epoch {epoch} wrote over a status of epoch {recorded}"));
        }
    }

    /// 63: a cluster that asks to be left alone is left alone by whoever saw that it asks; what was sent before may still arrive.
    pub(super) fn skip_means_skip(&mut self, client: &str, what: &str) {
        let says_so = what.contains("foundationdbclusters");
        let skipped = self.operator(client).skipped && !says_so;
        self.demand(63, !skipped, || format!("{client} sent {what} although spec.skip is set"));
    }

    /// 28: an operator that lost its leadership changes nothing: the epoch in the status never goes back.
    pub(super) fn epochs_never_go_back(&mut self, cluster: &FoundationDBCluster) {
        let quorate = cluster.status.as_ref().and_then(|status| status.quorate.as_ref());
        let epoch = quorate.and_then(|quorate| quorate.epoch).unwrap_or(0);
        let before = self.epoch;
        self.demand(28, epoch >= before, || format!("the epoch went from {before} back to {epoch}"));
        self.epoch = epoch.max(before);
    }

    /// 18: the connection string that is recorded is never replaced by an older one.
    pub(super) fn connections_never_go_back(&mut self, cluster: &FoundationDBCluster) {
        let Some(connection) = cluster.status.as_ref().and_then(|status| status.connection_string.clone()) else { return };
        if self.connections.last() == Some(&connection) {
            return;
        }
        let old = self.connections.contains(&connection);
        self.demand(18, !old, || format!("{connection} is recorded again, and others were since"));
        self.connections.push(connection);
    }

    /// 62: a cluster that is not as it should be says why, or is being worked on.
    pub(super) fn waiting_is_explained(&mut self, cluster: &FoundationDBCluster) {
        let Some(status) = &cluster.status else { return };
        let progressing = status.conditions.iter().flatten().find(|condition| condition.type_ == "Progressing");
        let complete = status.reconciled_process_groups == status.desired_process_groups;
        let said = progressing.is_some_and(|condition| condition.status == "True");
        let held = status.quorate.as_ref().and_then(|quorate| quorate.holds.as_ref()).is_some_and(|holds| !holds.is_empty());
        self.demand(62, complete || said || held, || {
            "process groups are missing, and the status neither names a reason nor says that it is being worked on".to_owned()
        });
    }
}
