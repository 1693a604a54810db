//! How long things take, measured on a real 7.3 server unless `uncertain` says otherwise.

use jiff::SignedDuration;

const fn ms(milliseconds: i64) -> SignedDuration {
    SignedDuration::from_millis(milliseconds)
}

/// A dead process stays in the report for so long (seen: 5 to 9 s).
pub(super) const LINGERS: SignedDuration = ms(7_000);
/// A process says nothing but its address and class for so long after its start.
pub(super) const MUTE: SignedDuration = ms(200);
/// It says who it is only after so long.
pub(super) const SILENT: SignedDuration = ms(5_300);
/// A storage server that comes back at another address is known by the one before until it has opened its disk (uncertain: it depends on what is
/// on it, and may be sooner than it says who it is, or much later).
pub(super) const OPENS_ITS_DISK: SignedDuration = ms(9_000);
/// A killed process has ended after so long.
pub(super) const EXITS: SignedDuration = ms(100);

/// A new leader, from when a quorum of coordinators can elect one that had none.
pub(super) const ELECTION_AFTER_QUORUM: SignedDuration = ms(1_400);
/// A new leader, from when the old one died.
pub(super) const ELECTION_AFTER_DEATH: SignedDuration = ms(2_400);
/// A new leader where only processes with other duties are left: better ones are waited for.
pub(super) const ELECTION_OF_THE_UNFIT: SignedDuration = ms(15_500);
/// From the first processes of a cluster to its leader.
pub(super) const FIRST_ELECTION: SignedDuration = ms(1_000);
/// From a leader, or from all that was lost being back, to accepting commits.
pub(super) const RECRUITS: SignedDuration = ms(600);
/// The status has no recovery state for so long after an election.
pub(super) const RECOVERY_UNKNOWN: SignedDuration = ms(300);
/// From the death of a process with a role in the transaction system to accepting commits without it.
pub(super) const RECOVERS_WITHOUT: SignedDuration = ms(4_500);
/// A recovery that nobody's death caused: exclusion, inclusion, a better place.
pub(super) const RECOVERS_AT_WILL: SignedDuration = ms(200);
/// A change of coordinators, from commit to commit.
pub(super) const CHANGES_COORDINATORS: SignedDuration = ms(1_200);
/// A change of the configuration.
pub(super) const CONFIGURES: SignedDuration = ms(1_000);
/// The creation of a database.
pub(super) const CREATES: SignedDuration = ms(3_300);
/// The same where no process is fit for stateless roles.
pub(super) const CREATES_WITH_THE_UNFIT: SignedDuration = ms(15_500);

/// A new data distributor answers so long after a recovery.
pub(super) const DISTRIBUTOR_RECRUITED: SignedDuration = ms(1_000);
/// It begins to move data so long after the recovery.
pub(super) const DISTRIBUTOR_READY: SignedDuration = ms(36_000);
/// Old logs are drained.
pub(super) const DRAINS_LOGS: SignedDuration = ms(10_500);
/// Storage servers that restarted lag behind for so long after a recovery, whose versions jumped.
pub(super) const LAGS: SignedDuration = ms(4_000);
/// A dead storage server counts as failed after 60 s, and some seconds until that starts to count.
pub(super) const DEATH_IS_NOTICED: SignedDuration = ms(10_000);
/// The failure reaction time.
pub(super) const FAILURE_REACTION: SignedDuration = ms(61_000);
/// The failure reaction starts anew so long after maintenance ends.
pub(super) const AFTER_MAINTENANCE: SignedDuration = ms(2_000);
/// A new process is given storage.
pub(super) const STORAGE_RECRUITED: SignedDuration = ms(2_000);

/// The least time a move of data takes, from a live and from a dead server.
pub(super) const MOVES: SignedDuration = ms(1_800);
/// The same when a server died.
pub(super) const REPLICATES: SignedDuration = ms(5_500);
/// The state stays unhealthy for so long after the move.
pub(super) const SETTLES: SignedDuration = ms(3_000);
/// Bytes moved in a second.
pub(super) const BYTES_PER_SECOND: u64 = 160_000_000;

/// A quick answer.
pub(super) const QUICK: SignedDuration = ms(5);
/// Status: when all is well.
pub(super) const STATUS: SignedDuration = ms(30);
/// Status: while a dead process lingers.
pub(super) const STATUS_AFTER_DEATH: SignedDuration = ms(4_000);
/// Status: while a dead storage server is not re-replicated, or without a quorum.
pub(super) const STATUS_SLOW: SignedDuration = ms(2_000);
/// Status: without a leader.
pub(super) const STATUS_WITHOUT_LEADER: SignedDuration = ms(1_800);
/// Status: with a dead coordinator.
pub(super) const STATUS_WITHOUT_COORDINATOR: SignedDuration = ms(3_500);
/// Status: while the configuration can't be read.
pub(super) const STATUS_UNREADABLE: SignedDuration = ms(12_500);
/// A coordinator that does not answer.
pub(super) const UNREACHABLE_COORDINATOR: SignedDuration = ms(5_000);
/// An exclusion that can't read the status.
pub(super) const EXCLUSION_GIVES_UP: SignedDuration = ms(2_000);
