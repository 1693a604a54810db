//! A status for which not everybody could be asked in time.

use quorate_fdb_client::{Octets, Seen};
use serde_json::{Value, json};

/// What a client saw, without the storage servers: they did not answer while the status was put together, so their roles are missing and
/// a message says so.
pub(in crate::database) fn without_storage_servers(seen: &Seen) -> Seen {
    let Ok(mut status) = serde_json::from_slice::<Value>(&seen.status.0) else { return seen.clone() };
    let cluster = &mut status["cluster"];
    for process in cluster["processes"].as_object_mut().into_iter().flat_map(|processes| processes.values_mut()) {
        if let Some(roles) = process["roles"].as_array_mut() {
            roles.retain(|role| role["role"] != "storage");
        }
    }
    if let Some(messages) = cluster["messages"].as_array_mut() {
        let description = "Timed out trying to retrieve storage servers.";
        messages.push(json!({"name": "storage_servers_error", "description": description}));
    }
    Seen { status: Octets(status.to_string().into_bytes()), ..seen.clone() }
}
