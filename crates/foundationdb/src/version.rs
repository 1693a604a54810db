//! Versions of FoundationDB.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A released version, such as 7.3.69. Order is numeric: 7.3.9 is older than 7.3.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Changes with every incompatible generation.
    pub major: u32,
    /// Together with `major` it fixes the wire protocol.
    pub minor: u32,
    /// Patches speak the same protocol.
    pub patch: u32,
}

impl Version {
    /// The oldest version Quorate runs: the first with DNS names in cluster files.
    pub const MINIMUM: Self = Self { major: 7, minor: 1, patch: 0 };

    /// Whether processes of both versions can talk to each other.
    pub const fn speaks_with(self, other: Self) -> bool {
        self.major == other.major && self.minor == other.minor
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Why a text is no version that can be run.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum VersionError {
    /// It is not three numbers.
    #[error("{0:?} is not a FoundationDB version; write it as major.minor.patch, for example 7.3.69")]
    NotAVersion(String),
}

impl FromStr for Version {
    type Err = VersionError;

    /// Reads `major.minor.patch`; a suffix such as `-prerelease` is allowed and ignored, as in the images' tags.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let not_a_version = || VersionError::NotAVersion(text.to_owned());
        let numbers = text.split_once('-').map_or(text, |(numbers, _suffix)| numbers);
        let mut parts = numbers.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse().ok()).flatten()
        });
        let mut next = || parts.next().flatten().ok_or_else(not_a_version);
        let version = Self { major: next()?, minor: next()?, patch: next()? };
        if parts.next().is_some() { Err(not_a_version()) } else { Ok(version) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn order_is_numeric() {
        assert!(version("7.3.9") < version("7.3.10"));
        assert!(version("7.1.0") >= Version::MINIMUM);
        assert!(version("6.3.25") < Version::MINIMUM);
    }

    #[test]
    fn patches_speak_with_each_other_and_minors_do_not() {
        assert!(version("7.3.1").speaks_with(version("7.3.69")));
        assert!(!version("7.1.67").speaks_with(version("7.3.69")));
    }

    #[test]
    fn what_is_no_version_is_refused_with_an_example() {
        for text in ["", "7", "7.3", "7.3.x", "7.3.", "7..3", "7.3.69.1", "v7.3.69", "7.3.99999999999", "+7.3.1"] {
            let error = text.parse::<Version>().unwrap_err();
            assert!(error.to_string().contains("7.3.69"), "{text}: {error}");
        }
    }

    #[test]
    fn a_suffix_is_allowed() {
        assert_eq!(version("7.4.1-rc1"), version("7.4.1"));
    }
}
