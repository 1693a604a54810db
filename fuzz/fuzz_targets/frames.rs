#![no_main]

#[path = "../checks/frames.rs"]
mod frames;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| frames::check(bytes));
