//! Stories: given a cluster like this, when this happens, then this is decided. One file for each concern.

mod birth;
mod cluster;
mod database;
mod invariants;
