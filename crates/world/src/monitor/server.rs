//! What a command line asks of fdbserver.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::database::ProcessSpec;

/// An fdbserver, by its command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The whole command line, the program first.
    pub command_line: Vec<String>,
    /// Its public address, as FoundationDB writes it.
    pub address: String,
    /// The name and port under which it can be reached as well.
    pub name: Option<String>,
    /// Its class.
    pub class: String,
    /// Its localities, without their prefix.
    pub localities: BTreeMap<String, String>,
    /// Where its data is.
    pub data_directory: String,
    /// The file with the connection string to begin with.
    pub seed: Option<String>,
}

/// The command line has no public address.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the command line of fdbserver has no --public_address")]
pub struct NoAddress;

impl Server {
    /// Reads a command line.
    pub fn parse(command_line: Vec<String>) -> Result<Self, NoAddress> {
        let mut options = options(&command_line);
        // Both a plain and a TLS address may be given; the first is the one others see first.
        let public = options.remove("public_address").ok_or(NoAddress)?;
        let address = plain(public.split(',').next().unwrap_or_default());
        let localities: BTreeMap<String, String> = options
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("locality_")?.to_owned(), value.clone())))
            .collect();
        let port = address.strip_suffix(":tls").unwrap_or(&address).rsplit_once(':').map(|(_, port)| port.to_owned());
        Ok(Self {
            name: localities.get("dns_name").zip(port).map(|(name, port)| format!("{name}:{port}")),
            class: options.remove("class").unwrap_or_else(|| "unset".to_owned()),
            data_directory: options.remove("datadir").unwrap_or_default(),
            seed: options.remove("seed_cluster_file"),
            address,
            localities,
            command_line,
        })
    }

    /// The process it becomes, of a version, on a volume, with what its seed file says.
    pub fn process(self, version: String, volume: String, connection: String) -> ProcessSpec {
        ProcessSpec {
            address: self.address,
            name: self.name,
            class: self.class,
            localities: self.localities,
            command_line: self.command_line.join(" "),
            version,
            volume,
            connection,
        }
    }
}

/// Options by their names, in which fdbserver takes a hyphen for an underscore; `--name=value` or `--name value`.
fn options(command_line: &[String]) -> BTreeMap<String, String> {
    let mut options = BTreeMap::new();
    let mut words = command_line.iter().peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else { continue };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (option, words.next_if(|next| !next.starts_with("--")).cloned().unwrap_or_default()),
        };
        options.insert(name.replace('-', "_"), value);
    }
    options
}

/// An address as FoundationDB writes it: brackets are for IPv6.
fn plain(address: &str) -> String {
    let bracketed = address.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match bracketed {
        Some((host, rest)) if !host.contains(':') => format!("{host}{rest}"),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Server {
        Server::parse(line.split(' ').map(str::to_owned).collect()).unwrap()
    }

    #[test]
    fn a_command_line_says_who_a_server_is() {
        let line = "/usr/bin/fdbserver --seed_cluster_file=/var/dynamic-conf/fdb.cluster --public_address=[198.18.0.7]:4501 \
                    --class=storage --datadir=/var/fdb/data/1 --locality_instance_id=storage-1 --locality-data-hall=b \
                    --locality_dns_name=sample-storage-1.sample.default.svc.cluster.local";
        let server = parsed(line);
        assert_eq!(server.address, "198.18.0.7:4501");
        assert_eq!(server.name.as_deref(), Some("sample-storage-1.sample.default.svc.cluster.local:4501"));
        assert_eq!(server.class, "storage");
        assert_eq!(server.localities["instance_id"], "storage-1");
        assert_eq!(server.localities["data_hall"], "b");
        assert_eq!(server.data_directory, "/var/fdb/data/1");
        assert_eq!(server.seed.as_deref(), Some("/var/dynamic-conf/fdb.cluster"));
        assert_eq!(server.command_line.join(" "), line);
    }

    #[test]
    fn addresses_keep_tls_and_the_brackets_of_ipv6() {
        assert_eq!(parsed("fdbserver --public-address [10.0.0.1]:4500:tls --class log").address, "10.0.0.1:4500:tls");
        assert_eq!(parsed("fdbserver --public_address=[fd00::7]:4501").address, "[fd00::7]:4501");
        assert_eq!(parsed("fdbserver --public_address=[10.0.0.1]:4501,[10.0.0.1]:4500:tls").address, "10.0.0.1:4501");
        assert_eq!(Server::parse(vec!["fdbserver".to_owned()]), Err(NoAddress));
    }
}
