#![no_main]

#[path = "../checks/status.rs"]
mod status;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| status::check(bytes));
