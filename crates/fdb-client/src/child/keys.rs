//! The keys of FoundationDB that we know.

pub(crate) const STATUS: &[u8] = b"\xff\xff/status/json";
pub(crate) const ERROR_MESSAGE: &[u8] = b"\xff\xff/error_message";
pub(crate) const IN_PROGRESS: &[u8] = b"\xff\xff/management/in_progress_exclusion/";
pub(crate) const IN_PROGRESS_END: &[u8] = b"\xff\xff/management/in_progress_exclusion0";
pub(crate) const MAINTENANCE: &[u8] = b"\xff\xff/management/maintenance/";
pub(crate) const MAINTENANCE_END: &[u8] = b"\xff\xff/management/maintenance0";
pub(crate) const NEW_COORDINATORS: &[u8] = b"\xff\xff/configuration/coordinators/processes";
pub(crate) const COORDINATORS: &[u8] = b"\xff/coordinators";
pub(crate) const CONFIGURATION: &[u8] = b"\xff/conf/";
pub(crate) const INIT_ID: &[u8] = b"\xff/init_id";
pub(crate) const MOVE_KEYS_OWNER: &[u8] = b"\xff/moveKeysLock/Owner";
pub(crate) const HEALTHY_ZONE: &[u8] = b"\xff\x02/healthyZone";
/// Watched by data distribution; written with every change of exclusions.
pub(crate) const EXCLUDED_VERSION: &[u8] = b"\xff/conf/excluded";
pub(crate) const EXCLUDED_LOCALITY_VERSION: &[u8] = b"\xff/conf/excluded_locality";

pub(crate) fn configuration(key: &str) -> Vec<u8> {
    [CONFIGURATION, key.as_bytes()].concat()
}

pub(crate) fn class(address: &str) -> Vec<u8> {
    [b"\xff\xff/configuration/process/class_type/", address.as_bytes()].concat()
}

pub(crate) fn maintenance(zone: &str) -> Vec<u8> {
    [MAINTENANCE, zone.as_bytes()].concat()
}

pub(crate) fn is_locality(who: &str) -> bool {
    who.starts_with("locality_")
}

/// Where the exclusion of an address or a locality is asked for.
pub(crate) fn exclusion(who: &str) -> Vec<u8> {
    let folder: &[u8] =
        if is_locality(who) { b"\xff\xff/management/excluded_locality/" } else { b"\xff\xff/management/excluded/" };
    [folder, who.as_bytes()].concat()
}

/// Where it is stored.
pub(crate) fn stored_exclusion(who: &str) -> Vec<u8> {
    let folder: &[u8] = if is_locality(who) { b"\xff/conf/excluded_locality/" } else { b"\xff/conf/excluded/" };
    [folder, who.as_bytes()].concat()
}

/// The zone in a stored maintenance, which is: protocol (8 bytes), length (4, little endian), zone, version (8).
pub fn healthy_zone(value: &[u8]) -> Option<&[u8]> {
    let length = value.get(8..12)?.try_into().map(u32::from_le_bytes).ok()?;
    value.get(12..)?.get(..usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_of_a_stored_maintenance() {
        let stored = [&[0; 8][..], &[4, 0, 0, 0], b"rack", &[9; 8]].concat();
        assert_eq!(healthy_zone(&stored), Some(&b"rack"[..]));
        assert_eq!(healthy_zone(&stored[..14]), None);
        assert_eq!(healthy_zone(b""), None);
        assert_eq!(healthy_zone(&[0xff; 12]), None);
    }
}
