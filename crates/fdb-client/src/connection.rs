//! Connection strings: `description:id@coordinator,coordinator`, as cluster files have them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A connection string, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionString {
    /// The name that its creator gave it.
    pub description: String,
    /// Changes with every change of coordinators.
    pub id: String,
    /// In the order in which they were written.
    pub coordinators: Vec<Coordinator>,
}

/// Where a coordinator listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Coordinator {
    /// Its address or name.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// Whether it speaks TLS.
    pub tls: bool,
}

/// An address, or a name that is looked up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// An address; one of version 6 is written in brackets.
    Address(IpAddr),
    /// A name.
    Name(String),
}

impl ConnectionString {
    /// Whether both name the same coordinators, in whatever order and under whatever id.
    pub fn same_coordinators(&self, other: &[Coordinator]) -> bool {
        let sorted = |list: &[Coordinator]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        sorted(&self.coordinators) == sorted(other)
    }

    /// A connection string from bytes that may be anything.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        std::str::from_utf8(bytes).map_err(|_| "not text".to_owned())?.parse()
    }
}

impl FromStr for ConnectionString {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, coordinators) = text.split_once('@').ok_or("there is no @ between the id and the coordinators")?;
        let (description, id) = name.split_once(':').ok_or("there is no : between the description and the id")?;
        let word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !word(description) {
            return Err(format!("the description `{description}` may have letters, digits and _"));
        }
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(format!("the id `{id}` may have letters and digits"));
        }
        let coordinators = coordinators.split(',').map(str::parse).collect::<Result<Vec<Coordinator>, String>>()?;
        let mut sorted: Vec<_> = coordinators.iter().map(|coordinator| (&coordinator.host, coordinator.port)).collect();
        sorted.sort();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("the coordinator {}:{} is there twice", twice[0].0, twice[0].1));
        }
        Ok(Self { description: description.to_owned(), id: id.to_owned(), coordinators })
    }
}

impl FromStr for Coordinator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, tls) = text.strip_suffix(":tls").map_or((text, false), |address| (address, true));
        let wrong =
            || format!("`{text}` is no address and port, such as 10.1.2.3:4501, [2001:db8::1]:4501:tls or name.example:4501");
        let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
        let port = Some(port)
            .filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|port| port.parse().ok())
            .filter(|port| *port != 0)
            .ok_or_else(wrong)?;
        Ok(Self { host: host.parse().map_err(|()| wrong())?, port, tls })
    }
}

impl FromStr for Host {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some(address) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            return address.parse().map(|address| Self::Address(IpAddr::V6(address))).map_err(|_| ());
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(IpAddr::V4(address)));
        }
        // A name, in labels as DNS has them. One that ends in digits would be a mistyped address.
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let labels: Vec<&str> = text.strip_suffix('.').unwrap_or(text).split('.').collect();
        let last_is_number = labels.last().is_none_or(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        if text.len() > 253 || last_is_number || !labels.iter().all(|part| label(part)) {
            return Err(());
        }
        Ok(Self::Name(text.to_owned()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}{}", self.host, self.port, if self.tls { ":tls" } else { "" })
    }
}

impl fmt::Display for ConnectionString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}@", self.description, self.id)?;
        for (index, coordinator) in self.coordinators.iter().enumerate() {
            write!(f, "{}{coordinator}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cluster_files_have_is_read_and_written_alike() {
        for text in [
            "sample:qGerodaD16RZ@10.1.2.3:4501",
            "my_cluster:1@10.1.2.3:4501:tls,10.1.2.4:4501:tls,10.1.2.5:4501:tls",
            "a:b@[2001:db8::1]:4501,[2001:db8::2]:4500:tls",
            "a:b@storage-1.sample.svc.cluster.local:4501,10.1.2.3:4501",
        ] {
            let parsed: ConnectionString = text.parse().unwrap();
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn what_cant_be_right_is_refused() {
        for text in [
            "",
            "a:b",
            "a@1.2.3.4:1",
            "a:b@",
            "a:b@1.2.3.4",
            "a:b@1.2.3.4:0",
            "a:b@1.2.3.4:65536",
            "a:b@1.2.3.4:+1",
            "a:b@1.2.3.400:1",
            "a:b@2001:db8::1:1",
            "a:b@[1.2.3.4]:1",
            "a:b@-x:1",
            "a:b@1.2.3.4:1,1.2.3.4:1",
            "a:b@1.2.3.4:1,1.2.3.4:1:tls",
            "a-b:c@1.2.3.4:1",
            "a:b c@1.2.3.4:1",
            "a:b@1.2.3.4:1, 1.2.3.5:1",
        ] {
            assert!(text.parse::<ConnectionString>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_order_of_coordinators_and_the_id_dont_matter() {
        let one: ConnectionString = "a:b@1.2.3.4:1,1.2.3.5:1".parse().unwrap();
        let other: ConnectionString = "a:c@1.2.3.5:1,1.2.3.4:1".parse().unwrap();
        assert!(one.same_coordinators(&other.coordinators));
        assert!(!one.same_coordinators(&other.coordinators[..1]));
    }
}
