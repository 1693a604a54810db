//! What packing is for: how many times pods go down together when all storage is made again, with process groups in three fault domains and
//! with a host for each. Played in the embedded world; a forecast of the same is held against it.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use jiff::{SignedDuration, Timestamp};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::Recorded;
use quorate_foundationdb::forecast::{Assumed, Forecast, Hosts, forecast};
use quorate_operator::checked_wish;
use quorate_world::Stage;
use quorate_world::scenery::{self, CLUSTER, NAMESPACE};
use quorate_world::stage::{Did, Entry, in_virtual_time};
use serde_json::{Value, json};

use super::Measured;
use super::stage;

const STORAGE: usize = 30;
const DOMAINS: usize = 3;
/// Pods for which hosts are provided: a host holds six, and there is one for every process group and some to spare.
const ROOM: usize = 6 * (STORAGE + 20);

pub(super) fn measure() -> Result<Measured> {
    let (packed, spread) = (Roll::both_ways(true)?, Roll::both_ways(false)?);
    #[expect(clippy::cast_precision_loss, reason = "a few waves")]
    let waves = |roll: &Roll| Some(roll.played.waves.len() as f64);
    Ok(Measured {
        value: waves(&packed),
        baseline: waves(&spread),
        note: format!("{STORAGE} storage process groups: packed {}; spread {}", packed.told(), spread.told()),
    })
}

/// One roll, as the world played it and as it was forecast.
struct Roll {
    played: Played,
    forecast: Forecast,
}

/// What a roll took in the world.
struct Played {
    /// How many pods went down together, time after time.
    waves: Vec<usize>,
    seconds: u64,
    recoveries: u64,
}

impl Roll {
    fn both_ways(packed: bool) -> Result<Self> {
        let roll = Self { played: in_virtual_time(played(packed))??, forecast: forecast_roll(packed)? };
        ensure!(roll.forecast.held.is_empty(), "the forecast roll came to no end: {:?}", roll.forecast.held);
        let (played, forecast) = (&roll.played.waves, &roll.forecast.waves);
        ensure!(played == forecast, "the world rolled in waves of {played:?}, {forecast:?} were forecast");
        Ok(roll)
    }

    fn told(&self) -> String {
        let (Played { waves, seconds, recoveries }, forecast) = (&self.played, &self.forecast);
        format!(
            "{} waves, {seconds} s, {recoveries} recoveries (forecast: {} waves, {} s, {} recoveries)",
            waves.len(),
            forecast.waves.len(),
            forecast.lasts.as_secs(),
            forecast.recoveries
        )
    }
}

async fn played(packed: bool) -> Result<Played> {
    let stage = stage::empty(ROOM)?;
    let created = stage.kubernetes().create_value(asked(packed, "blue"));
    created.map_err(|status| anyhow!("creating the cluster: {status:?}"))?;
    stage::rest(&stage, "growing").await?;
    // What keeps its distance to a birth would be measured as a wait.
    stage.pass(Duration::from_secs(600)).await;
    let (position, begun, recovered) = (stage.ledger.position(), stage.elapsed(), recoveries(&stage)?);
    stage::edit(&stage, |spec| *spec = asked(packed, "green")["spec"].take())?;
    stage::rest(&stage, "rolling").await?;
    let played = Played {
        waves: waves(&stage.ledger.since(position)),
        seconds: stage.elapsed().saturating_sub(begun).as_secs(),
        recoveries: recoveries(&stage)? - recovered,
    };
    stage.end().await;
    ensure!(played.waves.iter().sum::<usize>() == STORAGE, "not every pod was made again once: {:?}", played.waves);
    Ok(played)
}

/// Pods that the operator deletes in one moment go down together; it decides once in a moment.
fn waves(entries: &[Entry]) -> Vec<usize> {
    let deletes = |entry: &&Entry| {
        matches!(&entry.did, Did::Kubernetes(call, _) if call.verb == "delete" && call.resource == "pods") && entry.did.writes()
    };
    let moments: Vec<_> = entries.iter().filter(deletes).map(|entry| entry.at).collect();
    moments.chunk_by(|one, other| one == other).map(<[_]>::len).collect()
}

fn recoveries(stage: &Stage) -> Result<u64> {
    let database = stage.databases.with(&format!("{NAMESPACE}/{CLUSTER}"), |database| database.recoveries());
    database.ok_or_else(|| anyhow!("there is no database"))
}

fn forecast_roll(packed: bool) -> Result<Forecast> {
    let cluster = |colour: &str| -> Result<FoundationDBCluster> { Ok(serde_json::from_value(asked(packed, colour))?) };
    let assumed = Assumed { now: Timestamp::UNIX_EPOCH, drain: SignedDuration::from_mins(10), hosts: Hosts::Enough };
    let (now, then) = (checked_wish(&cluster("blue")?), checked_wish(&cluster("green")?));
    let born = forecast(&now, &Recorded::default(), &now, &assumed);
    Ok(forecast(&now, &born.recorded, &then, &assumed))
}

/// The cluster whose storage has this colour; with another one its pods have to be made again.
fn asked(packed: bool, colour: &str) -> Value {
    let mut object = scenery::sample();
    let environment = json!([{"name": "COLOUR", "value": colour}]);
    let template = json!({"spec": {"containers": [{"name": "foundationdb", "env": environment}]}});
    let spec = &mut object["spec"];
    spec["processCounts"] = json!({"storage": STORAGE});
    spec["databaseConfiguration"]["redundancy_mode"] = json!("triple");
    spec["distribution"] = json!({"enabled": packed, "desiredFaultDomains": DOMAINS});
    // A class with settings of its own has nothing from those of all.
    spec["processes"]["storage"] = spec["processes"]["general"].clone();
    spec["processes"]["storage"]["podTemplate"] = template;
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_in_three_domains_roll_in_three_waves_as_forecast() {
        let roll = Roll::both_ways(true).unwrap();
        assert_eq!(roll.played.waves, [10, 10, 10]);
    }
}
