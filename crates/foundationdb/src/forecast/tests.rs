use super::*;
use crate::ProcessClass::{Log, Stateless, Storage};
use crate::{Distribution, PodUpdate};

/// A cluster as its status would describe it after a quiet month.
fn quiet(storage: u32, domains: Option<u32>) -> (Desired, Recorded) {
    quiet_on(12, storage, domains)
}

fn quiet_on(nodes: u32, storage: u32, domains: Option<u32>) -> (Desired, Recorded) {
    let counts = [(Storage, storage), (Log, 3), (Stateless, 2)];
    let mut cluster = Cluster::new(&counts);
    cluster.nodes = (1..=nodes).map(|node| format!("node-{node}")).collect();
    cluster.desired.distribution = domains.map(|domains| Distribution { domains, required: false });
    let cluster = cluster.settled();
    (cluster.desired, cluster.kube.recorded)
}

fn foretold(now: &Desired, recorded: &Recorded, change: impl Fn(&mut Desired)) -> Forecast {
    foretold_on(Hosts::Enough, now, recorded, change)
}

fn foretold_on(hosts: Hosts, now: &Desired, recorded: &Recorded, change: impl Fn(&mut Desired)) -> Forecast {
    let mut then = now.clone();
    then.generation += 1;
    change(&mut then);
    let now_is = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(2000);
    forecast(now, recorded, &then, &Assumed { now: now_is, drain: SignedDuration::from_mins(10), hosts })
}

#[test]
fn where_nothing_changes_nothing_happens() {
    for domains in [None, Some(3)] {
        let (now, recorded) = quiet(6, domains);
        let forecast = foretold(&now, &recorded, |_| {});
        assert_eq!((forecast.events.as_slice(), forecast.held.as_slice(), forecast.recoveries), (&[][..], &[][..], 0));
        assert_eq!(forecast.before, forecast.after);
    }
}

#[test]
fn a_fourth_domain_costs_one_move_and_no_recovery() {
    let (now, recorded) = quiet(6, Some(3));
    let forecast = foretold(&now, &recorded, |then| then.distribution = Some(Distribution { domains: 4, required: false }));
    assert_eq!((forecast.goes.len(), forecast.comes.len(), forecast.recoveries), (1, 1, 0), "{forecast:#?}");
    assert_eq!((forecast.moves().len(), forecast.move_waves.as_slice()), (2, [1].as_slice()));
    let room = |buckets: &[Shown]| buckets.iter().map(|one| (one.used, one.limit, one.held_by.clone())).collect::<Vec<_>>();
    assert_eq!(room(&forecast.buckets), [(0, 1, vec![])], "as it is now");
    assert_eq!(room(&forecast.fullest), [(1, 1, vec![forecast.goes.first().unwrap().to_string()])]);
    assert_eq!(forecast.after[&Storage].values().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1, 1]);
    assert!(forecast.lasts > SignedDuration::from_mins(10), "data takes its time");
}

#[test]
fn packed_into_three_domains_a_roll_takes_three_waves_instead_of_nine() {
    let roll = |then: &mut Desired| {
        then.image = "fdb:another".to_owned();
        then.automation.pod_update = PodUpdate::Delete;
    };
    let storage = |forecast: &Forecast| forecast.waves.clone();
    let (now, recorded) = quiet(9, Some(3));
    let packed = foretold(&now, &recorded, roll);
    let (now, recorded) = quiet(9, None);
    let spread = foretold(&now, &recorded, roll);
    assert!(storage(&packed).len() < storage(&spread).len(), "{:?} {:?}", packed.waves, spread.waves);
    assert!(packed.held.is_empty() && spread.held.is_empty());
}

#[test]
fn what_comes_to_no_end_says_why() {
    let (now, recorded) = quiet(4, None);
    let forecast = foretold(&now, &recorded, |then| then.skip = true);
    assert_eq!(forecast.held.iter().map(|hold| hold.reason.0).collect::<Vec<_>>(), ["Skipped"]);
    assert!(forecast.events.is_empty());
}

#[test]
fn hosts_that_are_used_are_counted_among_those_there_are() {
    let four = |then: &mut Desired| then.distribution = Some(Distribution { domains: 4, required: true });
    let reasons = |forecast: &Forecast| forecast.held.iter().map(|hold| hold.reason.0).collect::<Vec<_>>();
    for domains in [None, Some(3)] {
        let (now, recorded) = quiet_on(3, 6, domains);
        for (number, hosts) in [(1, 3), (3, 3)] {
            let forecast = foretold_on(Hosts::Number(number), &now, &recorded, four);
            assert_eq!(forecast.hosts, hosts, "{domains:?}");
            assert!(reasons(&forecast).contains(&"TooFewHosts"), "{domains:?} {:?}", reasons(&forecast));
        }
        let forecast = foretold_on(Hosts::Number(8), &now, &recorded, four);
        assert_eq!((forecast.hosts, reasons(&forecast)), (8, vec![]), "{domains:?}");
    }
}

#[test]
fn only_hosts_that_take_new_pods_get_them_and_who_is_elsewhere_stays() {
    let open = |hosts: &[&str]| Hosts::Known(hosts.iter().map(|host| (*host).to_owned()).collect());
    let reasons = |forecast: &Forecast| forecast.held.iter().map(|hold| hold.reason.0).collect::<Vec<_>>();
    for domains in [None, Some(3)] {
        let (now, recorded) = quiet_on(3, 6, domains);
        for hosts in [open(&[]), open(&["node-1"]), open(&["node-1", "node-2", "node-3"])] {
            let forecast = foretold_on(hosts.clone(), &now, &recorded, |_| {});
            assert_eq!((forecast.events.as_slice(), forecast.held.as_slice()), (&[][..], &[][..]), "{domains:?} {hosts:?}");
        }
    }
    let (now, recorded) = quiet_on(3, 6, Some(3));
    let four = |then: &mut Desired| then.distribution = Some(Distribution { domains: 4, required: true });
    let forecast = foretold_on(open(&["node-1", "node-2", "node-3"]), &now, &recorded, four);
    assert!(reasons(&forecast).contains(&"TooFewHosts"), "{:?}", reasons(&forecast));
    let forecast = foretold_on(open(&["node-1", "node-2", "node-3", "node-4"]), &now, &recorded, four);
    assert_eq!(reasons(&forecast), Vec::<&str>::new());
}

#[test]
fn moves_are_counted_wave_by_wave_and_whoever_is_too_many_is_no_move() {
    let (now, recorded) = quiet(9, None);
    let forecast = foretold(&now, &recorded, |then| then.distribution = Some(Distribution { domains: 3, required: false }));
    let moves = forecast.move_waves.iter().sum::<usize>();
    assert_eq!((moves, forecast.goes.len()), (9 + 3 + 2, 9 + 3 + 2), "turning them on moves everybody: {forecast:#?}");
    assert!(forecast.move_waves.len() >= 3, "one domain's worth at once: {:?}", forecast.move_waves);
    let (now, recorded) = quiet(9, Some(3));
    let forecast = foretold(&now, &recorded, |then| then.counts.extend([(Storage, 6)]));
    assert_eq!((forecast.goes.len(), forecast.move_waves.as_slice()), (3, [].as_slice()));
    let forecast = foretold(&now, &recorded, |then| then.remove.extend([recorded.groups.keys().next().unwrap().to_string()]));
    assert_eq!((forecast.goes.len(), forecast.move_waves.as_slice()), (1, [].as_slice()), "one was asked to go");
}
