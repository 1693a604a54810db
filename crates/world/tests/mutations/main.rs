//! Real documents and messages, changed at random: their readers stay whole. What must hold is what the fuzzer asks of them; here the
//! changes come from a fixed seed, so every build tries the same ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../../fuzz/checks/mod.rs"]
mod checks;
mod mutator;
#[path = "../../examples/fuzz_seeds/seeds.rs"]
mod seeds;

use std::panic::{AssertUnwindSafe, catch_unwind};

use mutator::Mutator;
use seeds::Seed;

fn seeds_of(target: &str) -> Vec<Seed> {
    seeds::seeds().unwrap().into_iter().filter(|seed| seed.target == target).collect()
}

/// Changes the seeds of a reader, one after the other; what breaks it is printed.
fn changed(target: &str, times: usize, check: fn(&[u8])) {
    let seeds = seeds_of(target);
    assert!(!seeds.is_empty());
    for seed in &seeds {
        check(&seed.bytes);
    }
    let mut mutator = Mutator::new(7);
    let mut different = 0;
    for number in 0..times {
        let seed = &seeds[number % seeds.len()];
        let bytes = mutator.change(&seed.bytes, &seeds[(number + 1) % seeds.len()].bytes);
        different += usize::from(bytes != seed.bytes);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&bytes))) {
            eprintln!("{target}, change {number}, of {}: {}", seed.name, bytes.escape_ascii());
            std::panic::resume_unwind(panic);
        }
    }
    assert!(different > times * 3 / 4, "most of them are changed: {different} of {times}");
}

#[test]
fn reports() {
    changed("status", 2000, checks::status::check);
}

#[test]
fn connection_strings() {
    changed("connection", 10_000, checks::connection::check);
}

#[test]
fn what_parent_and_child_say() {
    changed("frames", 5000, checks::frames::check);
}

#[test]
fn keys_as_people_write_them() {
    changed("octets", 10_000, checks::octets::check);
}

/// Whether the changes reach far enough: some are still read, some are not, and not all are refused at the first byte.
#[test]
fn changed_reports_are_neither_all_good_nor_all_bad() {
    let seeds = seeds_of("status");
    let mut mutator = Mutator::new(7);
    let read = |bytes: &[u8]| quorate_foundationdb::DatabaseReport::parse(bytes).is_ok();
    let good = (0..300).filter(|number| read(&mutator.change(&seeds[number % seeds.len()].bytes, &seeds[0].bytes))).count();
    assert!((50..=280).contains(&good), "{good} of 300");
}
