//! Logical fault domains: three, then four, then two of them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use quorate_foundationdb::ProcessClass;
use quorate_foundationdb::forecast;
use quorate_operator::recorded_status;
use quorate_quorum::placement::fewest_moves;

use crate::map;
use crate::tour::cast::Cast;
use crate::tour::telling::{A_WHILE, Telling};

pub(crate) const ABOUT: &str = "Six storage process groups are packed into three logical fault domains: to the database each of them is one \
    zone, so that everything in it may be updated at once. Then there are to be four of them, and then two. A process group never leaves \
    its domain; another one takes its place elsewhere, and comes up before the first one goes. So nobody goes who does not have to.";

const BORN: &str = "
spec:
  distribution:
    enabled: true
    desiredFaultDomains: 3
  processCounts:
    storage: 6
";

/// Storage moves beside a coordinator and logs beside it, each of which costs a recovery and keeps its distance.
const LONG: Duration = Duration::from_secs(3600);

pub(crate) async fn play(telling: &mut Telling) -> Result<()> {
    telling.begin_with(BORN).await?;
    let seen = in_words(telling.cast());
    let even = held(telling.cast(), 3) == [2, 2, 2];
    telling.expect(
        "two storage process groups in each of three domains",
        seen,
        even,
        "Each new one goes to the least full domain.",
    );
    draw(telling.cast());
    let seen = zones_in_words(telling.cast());
    let why = "The label of the pod, the variable in it, the zone that the database knows and the status are one word; and since a domain is a \
        zone to the database, no host may have two of one class.";
    telling.expect("the database's zones are the domains", seen, zones_are_domains(telling.cast()), why);
    let why = "⌊6/4⌋ = 1 and ⌈6/4⌉ = 2: one of six makes room in the fourth domain, and all others stay.";
    repack(telling, 4, why).await?;
    let why = "3 in each: those of the third and the fourth domain go, and nobody else.";
    repack(telling, 2, why).await?;
    Ok(())
}

/// Asks for so many domains, and compares who had to move with who did.
async fn repack(telling: &mut Telling, domains: u32, why: &str) -> Result<()> {
    let before = storage(telling.cast());
    let kept = held(telling.cast(), domains);
    let fewest = fewest_moves(&kept, before.len() - kept.iter().sum::<usize>(), before.len());
    telling.apply(&format!("spec:\n  distribution:\n    desiredFaultDomains: {domains}"))?;
    let done = |cast: Cast<'_>| cast.is_at_rest() && storage(cast).len() == 6;
    let what = format!("the cluster is at rest with {domains} domains");
    let slow = "Each of them is excluded only when its successor serves, and goes only when nothing is left on it.";
    telling.await_that(&what, if fewest > 1 { LONG } else { A_WHILE }, done, slow).await;
    draw(telling.cast());
    let after = storage(telling.cast());
    let moved: Vec<&str> = before.keys().filter(|id| !after.contains_key(*id)).map(String::as_str).collect();
    let seen = format!("{}: {}", moved.len(), moved.join(", "));
    telling.expect(&format!("{fewest} storage process groups move"), seen, moved.len() == fewest, why);
    let (most, least) = (before.len().div_ceil(domains as usize), before.len() / domains as usize);
    let even = held(telling.cast(), domains);
    let so = even.iter().all(|count| (least..=most).contains(count)) && even.iter().sum::<usize>() == before.len();
    let seen = format!("{} before, {} now", words(&before), words(&after));
    let why = "As even as whole numbers can be, so that no domain is a greater loss than it has to be.";
    telling.expect(&format!("{least} to {most} in every domain"), seen, so, why);
    let stays = |(id, domain): (&String, &String)| after.get(id).is_none_or(|now| now == domain);
    let why = "The database keeps copies apart by zones, so a server that took its own to another zone could bring two together.";
    telling.expect("nobody changed its domain", "every one that stayed is where it was", before.iter().all(stays), why);
    Ok(())
}

/// What `quorate map` would draw of storage.
fn draw(cast: Cast<'_>) {
    let mut zones = forecast::zones(&recorded_status(cast.object().status.as_ref()).groups);
    zones.retain(|class, _| *class == ProcessClass::Storage);
    println!();
    for line in map::text("quorate map", &zones).lines() {
        println!("           {line}");
    }
    println!();
}

/// The live storage process groups and their domains.
fn storage(cast: Cast<'_>) -> BTreeMap<String, String> {
    let of = |group: &quorate_api::foundationdb::ProcessGroupStatus| {
        group.process_class.as_deref() == Some("storage") && group.removal_timestamp.is_none()
    };
    let groups = cast.groups().into_iter().filter(|(_, group)| of(group));
    groups.map(|(id, group)| (id, group.fault_domain.unwrap_or_default())).collect()
}

/// How many each domain has.
fn held(cast: Cast<'_>, domains: u32) -> Vec<usize> {
    let storage = storage(cast);
    let of = |domain: u32| storage.values().filter(|of| **of == format!("storage-{domain}")).count();
    (0..domains).map(of).collect()
}

fn words(groups: &BTreeMap<String, String>) -> String {
    let mut held: BTreeMap<&str, usize> = BTreeMap::new();
    for domain in groups.values() {
        *held.entry(domain).or_default() += 1;
    }
    held.iter().map(|(domain, count)| format!("{domain} {count}")).collect::<Vec<_>>().join(", ")
}

fn in_words(cast: Cast<'_>) -> String {
    words(&storage(cast))
}

/// The zones of the storage servers, with the hosts that carry them.
fn zones(cast: Cast<'_>) -> BTreeMap<String, BTreeMap<String, String>> {
    let servers = cast.database(|database| database.servers().collect::<Vec<_>>()).unwrap_or_default();
    let mut zones: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for server in servers.into_iter().filter(|server| server.class == "storage") {
        zones.entry(server.zone).or_default().insert(server.group, server.physical_zone);
    }
    zones
}

fn zones_in_words(cast: Cast<'_>) -> String {
    let zone = |(zone, servers): (String, BTreeMap<String, String>)| {
        let hosts: std::collections::BTreeSet<String> = servers.into_values().collect();
        format!("{zone} on {}", hosts.into_iter().collect::<Vec<_>>().join(" and "))
    };
    zones(cast).into_iter().map(zone).collect::<Vec<_>>().join(", ")
}

/// Every storage server is in the zone that its status says, and no host has two.
fn zones_are_domains(cast: Cast<'_>) -> bool {
    let (domains, zones) = (storage(cast), zones(cast));
    let mut hosts: BTreeMap<&str, &str> = BTreeMap::new();
    zones.iter().all(|(zone, servers)| {
        servers.iter().all(|(group, host)| {
            domains.get(group) == Some(zone) && hosts.insert(host.as_str(), zone.as_str()).is_none_or(|other| other == zone)
        })
    })
}
