//! The part of the status that the client adds, and all there is of it when the cluster does not answer.

use serde_json::{Value, json};

use super::super::Database;
use super::super::connection::Connection;
use super::section::{Part, Section};
use super::{data, protocol_of};

/// Why there is no answer from the cluster.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    /// Too few coordinators answer.
    Quorum,
    /// They answer and know no leader of such a database.
    Database,
    /// The leader they know of does not answer.
    Leader,
}

/// A status without a cluster.
pub(super) fn without_cluster(database: &Database, connection: &Connection, missing: Missing) -> Value {
    let (name, description) = match missing {
        Missing::Quorum => ("quorum_not_reachable", "Unable to reach a quorum of coordinators."),
        Missing::Database => (
            "no_cluster_controller",
            "Unable to locate a cluster controller within 2 seconds.  Check that there are server processes running.",
        ),
        Missing::Leader => ("unreachable_cluster_controller", "Unable to communicate with the cluster controller to get status."),
    };
    let quorum = !matches!(missing, Missing::Quorum);
    json!({
        "client": {
            "cluster_file": {"path": "fdb.cluster", "up_to_date": true},
            "coordinators": coordinators(database, connection, quorum),
            "database_status": {"available": false, "healthy": false},
            "messages": [{"name": name, "description": description}],
            "timestamp": database.now.as_second(),
        },
        "cluster": {"layers": {"_valid": false}},
    })
}

/// A status with a cluster, and with what the client makes of it.
pub(super) fn with_cluster<'a>(database: &Database, cluster: Section<'a>, is_quiet: bool) -> Section<'a> {
    let available = database.available();
    let healthy = available && is_quiet && data::is_well(database);
    let client = json!({
        "cluster_file": {"path": "fdb.cluster", "up_to_date": true},
        "coordinators": coordinators(database, &database.connection, true),
        "database_status": {"available": available, "healthy": healthy},
        "messages": [],
        "timestamp": database.now.as_second(),
    });
    Section::from_iter([("client", Part::from(client)), ("cluster", cluster.into())])
}

fn coordinators(database: &Database, connection: &Connection, quorum: bool) -> Value {
    let each: Vec<Value> = connection
        .coordinators
        .iter()
        .zip(connection.addresses())
        .map(|(address, bare)| match database.at(bare) {
            Some(process) => {
                let protocol = format!("0{}", protocol_of(&process.spec.version));
                json!({"address": address, "protocol": protocol, "reachable": true})
            }
            None => json!({"address": address, "reachable": false}),
        })
        .collect();
    json!({"coordinators": each, "quorum_reachable": quorum})
}
