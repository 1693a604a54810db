//! The databases that are open, one per cluster. Another connection string closes one and opens it anew; the others don't notice.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use quorate_fdb_library::{Database, Network};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::errors::failure;
use crate::contract::{Failure, Target};

/// The part of a protocol version that must be the same: without the flags in front and the compatible changes at the end.
const PROTOCOL_PART: u64 = 0x0fff_ffff_ffff_0000;

/// After an error the protocol is asked for again, this much later.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// What the library speaks.
#[derive(Clone, Debug)]
pub(crate) struct Speaks {
    pub(crate) version: String,
    pub(crate) protocol: u64,
}

pub(crate) struct Databases {
    network: Network,
    speaks: Rc<Speaks>,
    open: BTreeMap<String, Rc<Opened>>,
}

/// An open database.
pub(crate) struct Opened {
    pub(crate) database: Database,
    connection: String,
    speaks: Rc<Speaks>,
    /// What the servers speak, as soon as that is known.
    protocol: watch::Receiver<Option<u64>>,
    asking: JoinHandle<()>,
    /// The cluster file, where the library can't do without.
    _file: Option<TempDir>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

impl Databases {
    pub(crate) fn new(network: Network, speaks: Speaks) -> Self {
        Self { network, speaks: Rc::new(speaks), open: BTreeMap::new() }
    }

    /// The database of a target, opened if need be. Whoever still uses the one of an older connection string may finish.
    pub(crate) fn open(&mut self, target: &Target) -> Result<Rc<Opened>, Failure> {
        if let Some(opened) = self.open.get(&target.cluster).filter(|opened| opened.connection == target.connection) {
            return Ok(Rc::clone(opened));
        }
        let (database, file) = self.create(&target.connection)?;
        let (known, protocol) = watch::channel(None);
        let asking = tokio::task::spawn_local(ask_for_protocol(database.clone(), known));
        let opened = Rc::new(Opened {
            database,
            connection: target.connection.clone(),
            speaks: Rc::clone(&self.speaks),
            protocol,
            asking,
            _file: file,
        });
        self.open.insert(target.cluster.clone(), Rc::clone(&opened));
        Ok(opened)
    }

    fn create(&self, connection: &str) -> Result<(Database, Option<TempDir>), Failure> {
        let typed = |error| failure(&error, Duration::ZERO);
        if self.network.opens_connection_strings() {
            return Ok((self.network.open(connection).map_err(typed)?, None));
        }
        let no_file = |error: std::io::Error| Failure::Unavailable(format!("no cluster file can be written: {error}"));
        let folder = TempDir::with_prefix("quorate-fdb-").map_err(no_file)?;
        let path = folder.path().join("fdb.cluster");
        std::fs::write(&path, connection).map_err(no_file)?;
        Ok((self.network.open_file(&path).map_err(typed)?, Some(folder)))
    }

    pub(crate) fn close(&mut self, cluster: &str) {
        self.open.remove(cluster);
    }

    /// Some database, to have something that the network thread can be asked.
    pub(crate) fn any(&self) -> Option<&Database> {
        self.open.values().next().map(|opened| &opened.database)
    }
}

/// Keeps asking: each time, the library answers as soon as the protocol is another than the last one.
async fn ask_for_protocol(database: Database, known: watch::Sender<Option<u64>>) {
    let mut last = 0;
    loop {
        match database.server_protocol(last).await {
            Ok(protocol) => {
                last = protocol;
                if known.send(Some(protocol)).is_err() {
                    return;
                }
            }
            Err(_) => tokio::time::sleep(ASK_AGAIN).await,
        }
    }
}

impl Opened {
    /// Comes back only if and when the servers are known to speak a protocol that the library does not.
    pub(crate) async fn speaks_another_protocol(&self) -> Failure {
        let mut protocol = self.protocol.clone();
        let ours = self.speaks.protocol & PROTOCOL_PART;
        let foreign = protocol.wait_for(|known| known.is_some_and(|theirs| theirs & PROTOCOL_PART != ours)).await;
        if foreign.is_err() {
            std::future::pending::<()>().await;
        }
        self.named(Failure::Incompatible { library: String::new() })
    }

    /// A failure with our library's version in it, where it is about that.
    pub(crate) fn named(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Incompatible { .. } => Failure::Incompatible { library: self.speaks.version.clone() },
            other => other,
        }
    }
}
