//! Options by name. The numbers are those of FoundationDB's option list, which never reuses one.

use std::ffi::c_int;

/// An option of the network thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkOption {
    /// The file of the certificate chain.
    TlsCertificate(String),
    /// The file of its key.
    TlsKey(String),
    /// The file of those we trust.
    TlsAuthorities(String),
    /// What a peer's certificate must say.
    TlsVerifyPeers(String),
    /// No sampling of transactions into the database.
    NoStatistics,
}

impl NetworkOption {
    pub(crate) fn code(&self) -> c_int {
        match self {
            Self::TlsCertificate(_) => 43,
            Self::TlsKey(_) => 46,
            Self::TlsVerifyPeers(_) => 47,
            Self::TlsAuthorities(_) => 53,
            Self::NoStatistics => 70,
        }
    }

    pub(crate) fn value(&self) -> &[u8] {
        match self {
            Self::TlsCertificate(text) | Self::TlsKey(text) | Self::TlsAuthorities(text) | Self::TlsVerifyPeers(text) => {
                text.as_bytes()
            }
            Self::NoStatistics => &[],
        }
    }
}

/// An option of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionOption {
    /// The commit need not wait until a later read would see it; its result may then be unknown for good.
    CausalWriteRisky,
    /// The read version may be a little old; it is had even when some log servers can't be reached.
    CausalReadRisky,
    /// Before everybody else, also while the database limits its load.
    PrioritySystemImmediate,
    /// The transaction creates the database.
    InitializeNewDatabase,
    /// Reads and writes keys that begin with `\xff`.
    AccessSystemKeys,
    /// Reads keys that begin with `\xff`.
    ReadSystemKeys,
    /// Gives up after so many milliseconds.
    Timeout(i64),
    /// Works on a locked database.
    LockAware,
    /// Reads from a locked database.
    ReadLockAware,
    /// Also through the proxies there are while the database recovers.
    UseProvisionalProxies,
    /// Writes below `\xff\xff` are carried out as management commands.
    SpecialKeySpaceEnableWrites,
}

impl TransactionOption {
    pub(crate) fn code(self) -> c_int {
        match self {
            Self::CausalWriteRisky => 10,
            Self::CausalReadRisky => 20,
            Self::PrioritySystemImmediate => 200,
            Self::InitializeNewDatabase => 300,
            Self::AccessSystemKeys => 301,
            Self::ReadSystemKeys => 302,
            Self::Timeout(_) => 500,
            Self::LockAware => 700,
            Self::ReadLockAware => 702,
            Self::UseProvisionalProxies => 711,
            Self::SpecialKeySpaceEnableWrites => 714,
        }
    }

    /// The value as the library wants it: eight bytes for a number, none for a flag.
    pub(crate) fn value(self) -> Option<[u8; 8]> {
        match self {
            Self::Timeout(milliseconds) => Some(milliseconds.to_le_bytes()),
            _ => None,
        }
    }
}
