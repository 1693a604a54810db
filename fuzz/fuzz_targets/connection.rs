#![no_main]

#[path = "../checks/connection.rs"]
mod connection;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| connection::check(bytes));
