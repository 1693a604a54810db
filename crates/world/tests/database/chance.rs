//! Whatever happens, in whatever order: time goes on, the same seed gives the same database, and data is lost only with volumes.

use proptest::prelude::*;
use quorate_fdb_client::Management;

use crate::story::{Story, address, recording};

#[derive(Clone, Debug)]
enum Deed {
    Stop(usize),
    Start(usize),
    Pass(u16),
    Exclude(usize),
    Include(usize),
    Coordinate(usize),
    Maintain(usize),
    LoseVolume(usize),
}

fn deeds(volumes: bool) -> impl Strategy<Value = Vec<Deed>> {
    let lost = u32::from(volumes);
    let deed = prop_oneof![
        4 => (0..12_usize).prop_map(Deed::Stop),
        5 => (0..12_usize).prop_map(Deed::Start),
        8 => (1..900_u16).prop_map(Deed::Pass),
        2 => (0..12_usize).prop_map(Deed::Exclude),
        2 => (0..12_usize).prop_map(Deed::Include),
        1 => (0..8_usize).prop_map(Deed::Coordinate),
        1 => (0..12_usize).prop_map(Deed::Maintain),
        lost => (0..12_usize).prop_map(Deed::LoseVolume),
    ];
    prop::collection::vec(deed, 1..40)
}

fn play(deeds: &[Deed]) -> Story {
    let mut story = Story::created(&recording("triple-12proc-healthy"));
    let ports = story.ports();
    for deed in deeds {
        let instance = |at: usize| story.spec(ports[at]).localities["instance_id"].clone();
        let locality = |at: usize| vec![format!("locality_instance_id:{}", instance(at))];
        match *deed {
            Deed::Stop(at) => story.stop(&[ports[at]]),
            Deed::Start(at) if !story.database.runs(&address(ports[at])) => story.start(&[ports[at]]),
            Deed::Start(_) => {}
            Deed::Pass(tenths) => story.pass(f64::from(tenths) / 10.0),
            Deed::Exclude(at) => drop(story.commit(Management::Exclude(locality(at)))),
            Deed::Include(at) => drop(story.commit(Management::Include(locality(at)))),
            Deed::Coordinate(at) => {
                let five = ports[at..at + 5].iter().map(|port| address(*port)).collect();
                drop(story.commit(Management::Coordinators(five)));
            }
            Deed::Maintain(at) => {
                let zone = story.spec(ports[at]).localities["zoneid"].clone();
                drop(story.commit(Management::Maintain { zone, seconds: 60 }));
            }
            Deed::LoseVolume(at) => story.database.lose_volume(&format!("volume of {}", address(ports[at]))),
        }
        let next = story.database.next_event();
        assert!(next.is_none_or(|next| next > story.database.now()), "{next:?} is not in the future");
        assert!(story.status()["client"]["database_status"]["available"].is_boolean());
    }
    story
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn without_a_lost_volume_nothing_is_lost_and_everything_comes_back(deeds in deeds(false)) {
        let mut story = play(&deeds);
        prop_assert_eq!(story.database.data_lost(), None);
        let down: Vec<u16> = story.ports().into_iter().filter(|port| !story.database.runs(&address(*port))).collect();
        story.start(&down);
        story.pass(30.0);
        let instances: Vec<String> = story.ports().iter()
            .map(|port| format!("locality_instance_id:{}", story.spec(*port).localities["instance_id"]))
            .collect();
        story.commit(Management::IncludeBlindly(instances)).unwrap();
        story.pass(300.0);
        prop_assert!(story.database.available());
        prop_assert_eq!(story.database.copies().map(|copies| copies.served), Some(3));
        prop_assert_eq!(&story.status()["client"]["database_status"]["healthy"], true);
    }

    #[test]
    fn the_same_deeds_give_the_same_database(deeds in deeds(true)) {
        prop_assert_eq!(play(&deeds).status().to_string(), play(&deeds).status().to_string());
    }
}
