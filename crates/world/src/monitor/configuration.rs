//! What a monitor makes of its files: a configuration that can be carried out, or the reason why it keeps the one it has.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, Pod};
use quorate_foundationdb::monitor::{Argument, ArgumentError, MonitorConfiguration};
use quorate_foundationdb::{Version, VersionError};
use thiserror::Error;

use super::binary::Binary;
use super::environment::node_environment;
use super::files::Files;
use super::options::Options;
use super::server::{NoAddress, Server};

/// A configuration that a monitor accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// As it stands in the file.
    pub text: String,
    /// As it was read.
    pub configuration: MonitorConfiguration,
    /// The fdbserver it is carried out with.
    pub binary: Binary,
    /// The variables it is filled in with.
    pub environment: BTreeMap<String, String>,
}

/// Why a configuration can't be carried out.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file is not there.
    #[error("there is no file {0}")]
    NoFile(String),
    /// It is no configuration.
    #[error("the configuration can't be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// Its version is none.
    #[error(transparent)]
    NoVersion(#[from] VersionError),
    /// Nobody has put an fdbserver of the version there.
    #[error("there is no fdbserver {0} here")]
    NoBinary(Version),
    /// An argument can't be put together.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The arguments make no server.
    #[error(transparent)]
    NoAddress(#[from] NoAddress),
}

impl Loaded {
    /// Reads the configuration in a pod's files and makes sure that it can be carried out.
    pub fn read(
        pod: &Pod,
        main: &Container,
        files: &Files,
        environment: &BTreeMap<String, String>,
        node: Option<&Node>,
    ) -> Result<Self, LoadError> {
        let options = Options::of(main, environment);
        let text = files.text(&options.configuration).ok_or(LoadError::NoFile(options.configuration))?;
        let configuration: MonitorConfiguration = serde_json::from_str(text)?;
        let version: Version = configuration.version.parse()?;
        let binary = Binary::find(pod, main, version).ok_or(LoadError::NoBinary(version))?;
        let mut environment = environment.clone();
        environment.extend(node.filter(|_| options.watches_node).into_iter().flat_map(node_environment));
        let loaded = Self { text: text.to_owned(), configuration, binary, environment };
        loaded.server(1)?;
        Ok(loaded)
    }

    /// Whether servers are to run at all.
    pub fn runs_servers(&self) -> bool {
        self.configuration.run_servers.unwrap_or(true)
    }

    /// The server of a number.
    pub fn server(&self, number: u32) -> Result<Server, LoadError> {
        let arguments = self.configuration.command_line(&self.environment, i64::from(number))?;
        Ok(Server::parse([vec![self.binary.path()], arguments].concat())?)
    }

    /// The variables that are filled in somewhere, and the folder of fdbserver, as a JSON object.
    pub fn used_environment(&self) -> String {
        let mut used = BTreeMap::from([("BINARY_DIR", self.binary.folder.as_str())]);
        self.collect(&self.configuration.arguments, &mut used);
        serde_json::to_string(&used).unwrap_or_default()
    }

    fn collect<'a>(&'a self, arguments: &'a [Argument], used: &mut BTreeMap<&'a str, &'a str>) {
        for argument in arguments {
            let variable = argument.source.as_ref().and_then(|source| self.environment.get_key_value(source));
            used.extend(variable.map(|(name, value)| (name.as_str(), value.as_str())));
            self.collect(&argument.values, used);
        }
    }
}

/// How many servers a monitor runs.
pub(super) fn process_count(main: &Container, environment: &BTreeMap<String, String>) -> u32 {
    Options::of(main, environment).processes
}
