//! Who leads.
//!
//! The rules are client-go's: another process's timestamps are never compared with our clock, only *when we saw* its lease change; and
//! every write carries the resourceVersion it was made against. A lease is not mutual exclusion, so there is a fencing epoch too: the
//! number of times the lease changed hands goes into every status that is written, and an operator with a smaller one changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use quorate_quorum::{Epoch, Gate};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::Clock;

/// How a lease is kept.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// The Lease object's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are; different for every process.
    pub identity: String,
    /// How long a lease holds after it was last seen to change.
    pub duration: Duration,
    /// After how long without a successful renewal we stop.
    pub renew_deadline: Duration,
    /// How often it is tried.
    pub retry: Duration,
}

impl LeaseSettings {
    /// The usual times.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, identity: impl Into<String>) -> Self {
        let (namespace, name, identity) = (namespace.into(), name.into(), identity.into());
        let seconds = Duration::from_secs;
        Self { namespace, name, identity, duration: seconds(15), renew_deadline: seconds(10), retry: seconds(2) }
    }
}

/// The leadership as others see it: the epoch while we lead, nothing otherwise.
#[derive(Clone, Debug)]
pub struct Leadership {
    epoch: watch::Receiver<Option<Epoch>>,
    at_least: Arc<AtomicI64>,
}

impl Leadership {
    /// The epoch, while we lead.
    pub fn epoch(&self) -> Option<Epoch> {
        // A keeper that is gone keeps no lease.
        if self.is_over() { None } else { *self.epoch.borrow() }
    }

    /// Whether a step that was decided under this epoch may still be carried out.
    pub fn is_current(&self, epoch: Epoch) -> bool {
        self.epoch() == Some(epoch)
    }

    /// Whether nobody keeps the lease any more. It may have been taken and lost between two looks: then nobody ever saw us lead, and
    /// waiting to would be for ever.
    pub(crate) fn is_over(&self) -> bool {
        self.epoch.has_changed().is_err()
    }

    /// Waits for a change, or for the end of it.
    pub(crate) async fn changed(&mut self) {
        self.epoch.changed().await.ok();
    }

    /// A status was seen with a larger epoch than ours, though we hold the lease: somebody deleted and made it anew. The next renewal
    /// goes beyond it; being a compare-and-set on the lease, it can only succeed for whoever really holds it.
    pub(crate) fn go_beyond(&self, seen: Epoch) {
        self.at_least.fetch_max(seen.0.saturating_add(1), Ordering::Relaxed);
    }
}

/// Keeps the lease until it is cancelled, or until it is lost after having been held: then it returns, and the process should end.
pub(crate) struct LeaseKeeper {
    leases: Api<Lease>,
    settings: LeaseSettings,
    clock: Arc<dyn Clock>,
    epoch: watch::Sender<Option<Epoch>>,
    at_least: Arc<AtomicI64>,
    seen: Option<Seen>,
    renewed: Option<Instant>,
}

/// The lease as it was last seen, and when we saw it change.
struct Seen {
    resource_version: Option<String>,
    since: Instant,
}

impl LeaseKeeper {
    pub(crate) fn new(client: Client, settings: LeaseSettings, clock: Arc<dyn Clock>) -> (Self, Leadership) {
        let (sender, receiver) = watch::channel(None);
        let at_least = Arc::new(AtomicI64::new(0));
        let leadership = Leadership { epoch: receiver, at_least: Arc::clone(&at_least) };
        let leases = Api::namespaced(client, &settings.namespace);
        (Self { leases, settings, clock, epoch: sender, at_least, seen: None, renewed: None }, leadership)
    }

    pub(crate) async fn keep(mut self, stop: CancellationToken) {
        loop {
            // All attempts together have this long since the last success; a slow one must not get the whole time again.
            match timeout(self.time_left(), self.try_once()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn!(%error, "the lease could not be read or written"),
                Err(_) => warn!("the API server did not answer about the lease in time"),
            }
            if self.time_left().is_zero() {
                warn!("the lease could not be renewed for {} s; stopping all effects", self.settings.renew_deadline.as_secs());
                self.epoch.send_replace(None);
                return;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = sleep(self.settings.retry.min(self.time_left())) => {}
            }
        }
        self.release().await;
    }

    /// How long it may still take until the next success; for whoever does not lead, as long as ever.
    fn time_left(&self) -> Duration {
        let spent =
            self.renewed.filter(|_| Gate::StopsWhenNotLeading.stands()).map_or(Duration::ZERO, |renewed| renewed.elapsed());
        self.settings.renew_deadline.saturating_sub(spent)
    }

    async fn try_once(&mut self) -> Result<(), kube::Error> {
        let Some(lease) = self.leases.get_opt(&self.settings.name).await? else {
            // Whoever led before goes on under a new number; the old one may be known to somebody else by now.
            let led = self.epoch.borrow().map_or(0, |epoch| epoch.0).max(self.at_least.load(Ordering::Relaxed) - 1);
            let transitions = i32::try_from(led.saturating_add(1)).unwrap_or(i32::MAX);
            let sent = Instant::now();
            let created = self.leases.create(&PostParams::default(), &self.lease(None, transitions)).await?;
            self.lead(&created, sent);
            return Ok(());
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let ours = spec.holder_identity.as_deref() == Some(&self.settings.identity);
        let transitions = spec.lease_transitions.unwrap_or(0);
        if ours {
            let wanted = i32::try_from(self.at_least.load(Ordering::Relaxed)).unwrap_or(i32::MAX).max(transitions);
            let sent = Instant::now();
            let renewed = self.write(&lease, wanted).await?;
            self.lead(&renewed, sent);
            return Ok(());
        }
        if !Gate::StopsWhenNotLeading.passes(self.renewed.is_none()) {
            warn!(holder = spec.holder_identity.as_deref().unwrap_or("nobody"), "the lease was taken over; stopping all effects");
            self.renewed = Some(Instant::now() - self.settings.renew_deadline);
            self.epoch.send_replace(None);
            return Ok(());
        }
        if self.is_free(&lease, &spec) {
            let (sent, next) = (Instant::now(), transitions.saturating_add(1));
            let taken = self.write(&lease, next).await?;
            info!(identity = self.settings.identity, epoch = next, "took the lease");
            self.lead(&taken, sent);
        }
        Ok(())
    }

    /// Nobody holds it, or we have not seen it change for as long as it holds.
    fn is_free(&mut self, lease: &Lease, spec: &LeaseSpec) -> bool {
        let now = Instant::now();
        let resource_version = lease.metadata.resource_version.clone();
        if self.seen.as_ref().is_none_or(|seen| seen.resource_version != resource_version) {
            self.seen = Some(Seen { resource_version, since: now });
        }
        let held_for = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(self.settings.duration, Duration::from_secs);
        let unchanged_for = self.seen.as_ref().map_or(Duration::ZERO, |seen| now - seen.since);
        spec.holder_identity.as_deref().is_none_or(str::is_empty) || unchanged_for > held_for
    }

    /// Others count from when they saw the write, so we count from when it was sent, not from when its answer came.
    fn lead(&mut self, lease: &Lease, sent: Instant) {
        self.renewed = Some(sent);
        let transitions = lease.spec.as_ref().and_then(|spec| spec.lease_transitions).unwrap_or(0);
        let epoch = Some(Epoch(i64::from(transitions)));
        self.epoch.send_if_modified(|current| std::mem::replace(current, epoch) != epoch);
    }

    async fn write(&self, read: &Lease, transitions: i32) -> Result<Lease, kube::Error> {
        self.leases.replace(&self.settings.name, &PostParams::default(), &self.lease(Some(read), transitions)).await
    }

    /// The lease as we hold it; the resourceVersion it was read with makes the write a compare-and-set.
    fn lease(&self, read: Option<&Lease>, transitions: i32) -> Lease {
        let now = MicroTime(self.clock.now());
        let before = read.and_then(|lease| lease.spec.as_ref());
        let kept = before
            .filter(|spec| spec.holder_identity.as_deref() == Some(&self.settings.identity))
            .and_then(|spec| spec.acquire_time.clone());
        Lease {
            metadata: read.map_or_else(
                || ObjectMeta { name: Some(self.settings.name.clone()), ..ObjectMeta::default() },
                |lease| lease.metadata.clone(),
            ),
            spec: Some(LeaseSpec {
                holder_identity: Some(self.settings.identity.clone()),
                lease_duration_seconds: i32::try_from(self.settings.duration.as_secs()).ok(),
                acquire_time: kept.or_else(|| Some(now.clone())),
                renew_time: Some(now),
                lease_transitions: Some(transitions),
                ..before.cloned().unwrap_or_default()
            }),
        }
    }

    /// On a graceful end the next one need not wait.
    async fn release(mut self) {
        self.epoch.send_replace(None);
        if self.renewed.take().is_none() {
            return;
        }
        let Ok(Ok(Some(mut lease))) = timeout(self.settings.retry, self.leases.get_opt(&self.settings.name)).await else {
            return;
        };
        let Some(spec) = lease.spec.as_mut().filter(|spec| spec.holder_identity.as_deref() == Some(&self.settings.identity))
        else {
            return;
        };
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        let params = PostParams::default();
        timeout(self.settings.retry, self.leases.replace(&self.settings.name, &params, &lease)).await.ok();
    }
}
