//! Stories: given a cluster like this, when this happens, then this is decided. One file for each concern.

mod birth;
mod bounce;
mod buckets;
mod cluster;
mod configuration;
mod coordinators;
mod exclusion;
mod failures;
mod gates;
mod growth;
mod health;
mod hosts;
mod invariants;
mod left_alone;
mod lock;
mod moves;
mod objects;
mod poke;
mod properties;
mod reasons;
mod removal;
mod revival;
mod tags;
mod told;
mod traps;
mod updates;
