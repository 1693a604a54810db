//! The library itself and its network thread.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::database::Database;
use crate::error::{Error, OpenError};
use crate::options::NetworkOption;
use crate::symbols::Symbols;

/// The API version that we speak where the library knows it. All that we use exists since 710.
const WANTED_API: i32 = 730;
const OLDEST_API: i32 = 710;

/// A loaded library. Its network does not run yet.
pub struct Library {
    symbols: &'static Symbols,
    api_version: i32,
}

/// What a library says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryVersion {
    /// Such as `7.3.63`.
    pub version: String,
    /// The protocol that it speaks.
    pub protocol: u64,
}

impl Library {
    /// Loads a library and selects the API version: ours, or an older one if the library knows no newer.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let symbols =
            Symbols::load(path).map_err(|error| OpenError::Load { path: path.to_path_buf(), reason: error.to_string() })?;
        // SAFETY: takes nothing, returns a number.
        let offered = unsafe { (symbols.fdb_get_max_api_version)() };
        let api_version = offered.min(WANTED_API);
        if api_version < OLDEST_API {
            return Err(OpenError::TooOld { path: path.to_path_buf(), offered });
        }
        // SAFETY: takes two numbers; called a second time it returns an error.
        let code = unsafe { (symbols.fdb_select_api_version_impl)(api_version, api_version) };
        Error::check(symbols, code)?;
        Ok(Self { symbols, api_version })
    }

    /// The API version that was selected.
    pub fn api_version(&self) -> i32 {
        self.api_version
    }

    /// What the library says about itself: version, source revision and protocol, separated by commas.
    pub fn version(&self) -> LibraryVersion {
        // SAFETY: returns a text that is never freed.
        let text = unsafe { CStr::from_ptr((self.symbols.fdb_get_client_version)()) }.to_string_lossy().into_owned();
        let mut parts = text.split(',');
        let version = parts.next().unwrap_or_default().to_owned();
        let protocol = parts.nth(1).and_then(|protocol| u64::from_str_radix(protocol, 16).ok()).unwrap_or(0);
        LibraryVersion { version, protocol }
    }

    /// Starts the network thread. A process has one, once.
    pub fn start(self, options: &[NetworkOption]) -> Result<Network, OpenError> {
        let symbols = self.symbols;
        for option in options {
            let value = option.value();
            let length = i32::try_from(value.len()).unwrap_or(i32::MAX);
            // SAFETY: the value is readable for the length that is given, and the library copies it.
            Error::check(symbols, unsafe { (symbols.fdb_network_set_option)(option.code(), value.as_ptr(), length) })?;
        }
        // SAFETY: takes nothing; called a second time it returns an error.
        Error::check(symbols, unsafe { (symbols.fdb_setup_network)() })?;
        let thread = std::thread::Builder::new().name("fdb-network".to_owned()).spawn(|| {
            // SAFETY: the network is set up, and this is the only thread that runs it: a second set-up fails.
            let code = unsafe { (symbols.fdb_run_network)() };
            if code != 0 {
                eprintln!("the network thread ended: {}", Error::new(symbols, code));
            }
        })?;
        Ok(Network(Arc::new(Running { symbols, thread: Some(thread) })))
    }
}

/// The network thread, which runs as long as this or any database lives.
#[derive(Clone)]
pub struct Network(pub(crate) Arc<Running>);

pub(crate) struct Running {
    pub(crate) symbols: &'static Symbols,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: every database and transaction holds this, so none is left.
        let code = unsafe { (self.symbols.fdb_stop_network)() };
        if let Some(thread) = self.thread.take().filter(|_| code == 0) {
            // A panic of that thread has been printed already.
            let _ = thread.join();
        }
    }
}

impl Network {
    /// Whether databases can be opened by connection string, without a file.
    pub fn opens_connection_strings(&self) -> bool {
        self.0.symbols.fdb_create_database_from_connection_string.is_some()
    }

    /// Opens a database by its connection string; nothing is asked of it yet. Libraries before 7.3 want a file instead.
    pub fn open(&self, connection: &str) -> Result<Database, Error> {
        const CLIENT_INVALID_OPERATION: i32 = 2000;
        const CONNECTION_STRING_INVALID: i32 = 2104;
        let symbols = self.0.symbols;
        let create =
            symbols.fdb_create_database_from_connection_string.ok_or_else(|| Error::new(symbols, CLIENT_INVALID_OPERATION))?;
        let connection = CString::new(connection).map_err(|_| Error::new(symbols, CONNECTION_STRING_INVALID))?;
        let mut database = std::ptr::null_mut();
        // SAFETY: the text ends in a zero byte, and the pointer is to a variable of ours.
        Error::check(symbols, unsafe { create(connection.as_ptr(), &raw mut database) })?;
        Ok(Database::new(self.clone(), database))
    }

    /// Opens a database by the path of a cluster file, which the library rewrites when the coordinators change.
    pub fn open_file(&self, path: &Path) -> Result<Database, Error> {
        const NO_CLUSTER_FILE_FOUND: i32 = 1515;
        let symbols = self.0.symbols;
        let path = CString::new(path.to_string_lossy().as_bytes()).map_err(|_| Error::new(symbols, NO_CLUSTER_FILE_FOUND))?;
        let mut database = std::ptr::null_mut();
        // SAFETY: as in `open`.
        Error::check(symbols, unsafe { (symbols.fdb_create_database)(path.as_ptr(), &raw mut database) })?;
        Ok(Database::new(self.clone(), database))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_client_library_is_named() {
        for path in ["/no/such/libfdb_c.so", "/dev/null", "/proc/self/exe"] {
            match Library::open(Path::new(path)) {
                Err(OpenError::Load { path: named, reason }) => {
                    assert_eq!(named, Path::new(path));
                    assert!(!reason.is_empty());
                }
                Err(other) => panic!("{path}: {other}"),
                Ok(_) => panic!("{path} was opened"),
            }
        }
    }
}
