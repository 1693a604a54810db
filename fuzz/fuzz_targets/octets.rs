#![no_main]

#[path = "../checks/octets.rs"]
mod octets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| octets::check(bytes));
