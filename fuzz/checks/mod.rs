//! What must hold of any bytes, whoever chose them: the fuzzer, or a test that changes real ones at random.

pub mod connection;
pub mod frames;
pub mod octets;
pub mod status;
