//! Maintenance of a zone, and classes of processes.

use super::ensure;
use super::session::{Session, bare, process_at, status};
use crate::contract::{Answer, Management};

pub(crate) async fn a_zone_is_maintained_until_it_is_not(session: &mut Session<'_>) -> Result<(), String> {
    session.database(3).await?;
    for zone in ["zone-unset-2", "zone-unset-3"] {
        let begun = session.manage(Management::Maintain { zone: zone.to_owned(), seconds: 300 }).await;
        ensure!(begun == Ok(Answer::Committed), "{zone}: {begun:?}");
        session.until("the status names the zone", &|seen| status(seen, "/cluster/maintenance_zone") == zone).await?;
    }
    for _ in 0..2 {
        let ended = session.manage(Management::EndMaintenance).await;
        ensure!(ended == Ok(Answer::Committed), "the end, also when there is nothing to end: {ended:?}");
        session.until("no zone is maintained", &|seen| status(seen, "/cluster/maintenance_zone").is_null()).await?;
    }
    Ok(())
}

pub(crate) async fn a_process_gets_another_class_and_its_own_back(session: &mut Session<'_>) -> Result<(), String> {
    let addresses = session.database(3).await?;
    for (class, shown) in [("stateless", "stateless"), ("default", "unset")] {
        let change = Management::ProcessClass { address: bare(&addresses[2]), class: class.to_owned() };
        let changed = session.manage(change).await;
        ensure!(changed == Ok(Answer::Committed), "{class}: {changed:?}");
        session.until("the status shows the class", &|seen| process_at(seen, &addresses[2])["class_type"] == shown).await?;
    }
    Ok(())
}
