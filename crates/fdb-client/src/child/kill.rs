//! Restarting processes, which no transaction can do.

use std::time::Duration;

use quorate_fdb_library::TransactionOption;

use super::databases::Opened;
use super::errors::failure;
use crate::contract::{Answer, Failure};

/// Restarts processes once a read version was had: before the connection is up, the library answers that it knows none of them.
pub(crate) async fn kill(opened: &Opened, addresses: &[String], deadline: Duration) -> Result<Answer, Failure> {
    let typed = |error| failure(&error, deadline);
    let transaction = opened.database.transaction().map_err(typed)?;
    loop {
        transaction.set_option(TransactionOption::ReadLockAware).map_err(typed)?;
        match transaction.read_version().await {
            Ok(_) => break,
            Err(error) => transaction.on_error(&error).await.map_err(typed)?,
        }
    }
    let sent = opened.database.restart(&addresses.join(",")).await.map_err(typed)?;
    Ok(Answer::Killed(sent))
}
