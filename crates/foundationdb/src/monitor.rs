//! The configuration of fdb-kubernetes-monitor: which fdbserver it starts in a pod, with which arguments.
//!
//! The JSON is the monitor's own format. An argument may depend on the pod's environment and on the number of the process in the pod, so
//! one document serves all pods of a class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use thiserror::Error;

/// What the monitor of a pod is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MonitorConfiguration {
    /// The version to run.
    pub version: String,
    /// Whether to run anything at all; `false` until the cluster has coordinators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_servers: Option<bool>,
    /// The arguments of each fdbserver.
    pub arguments: Vec<Argument>,
}

/// One argument, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Argument {
    /// What it is made of.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ArgumentKind>,
    /// The text of a literal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The parts of a concatenation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Argument>,
    /// The environment variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A process number is multiplied by this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<i64>,
    /// Then this is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// Of a list of addresses, the first of this family (4 or 6).
    #[serde(rename = "ipFamily", default, skip_serializing_if = "Option::is_none")]
    pub ip_family: Option<u8>,
}

/// What an argument is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArgumentKind {
    /// A text as it is; also what an argument without a type is.
    Literal,
    /// Parts, one after the other.
    Concatenate,
    /// The value of an environment variable.
    Environment,
    /// The number of the process in its pod.
    ProcessNumber,
    /// The first address of a family in an environment variable with several.
    #[serde(rename = "IPList")]
    IpList,
}

/// Why an argument can't be put together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ArgumentError {
    /// A variable is not set.
    #[error("the environment variable {0} is not set")]
    NotSet(String),
    /// A list has no address of the family.
    #[error("{variable} has no IPv{family} address: {value}")]
    NoAddress {
        /// The variable.
        variable: String,
        /// Its value.
        value: String,
        /// The family.
        family: u8,
    },
    /// A part is missing a field that its type needs.
    #[error("an argument of type {kind:?} needs the field {field}")]
    Incomplete {
        /// Its type.
        kind: ArgumentKind,
        /// The field.
        field: &'static str,
    },
}

impl Argument {
    /// A text as it is.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { value: Some(text.into()), ..Self::default() }
    }

    /// The value of an environment variable.
    pub fn environment(variable: impl Into<String>) -> Self {
        Self { kind: Some(ArgumentKind::Environment), source: Some(variable.into()), ..Self::default() }
    }

    /// Parts, one after the other.
    pub fn concatenated(parts: impl IntoIterator<Item = Self>) -> Self {
        Self { kind: Some(ArgumentKind::Concatenate), values: parts.into_iter().collect(), ..Self::default() }
    }

    /// The number of the process in its pod.
    pub fn process_number() -> Self {
        Self { kind: Some(ArgumentKind::ProcessNumber), ..Self::default() }
    }

    /// A number that grows with the process number: a port.
    pub fn port(multiplier: i64, offset: i64) -> Self {
        Self { multiplier: Some(multiplier), offset: Some(offset), ..Self::process_number() }
    }

    /// An empty text may be left out; the existing operator does that for a parameter without a value.
    fn literal_text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// What it becomes in a pod with this environment, for the process of this number.
    pub fn resolved(&self, environment: &BTreeMap<String, String>, process: i64) -> Result<String, ArgumentError> {
        let mut text = String::new();
        self.write(environment, process, &mut text)?;
        Ok(text)
    }

    fn write(&self, environment: &BTreeMap<String, String>, process: i64, text: &mut String) -> Result<(), ArgumentError> {
        let kind = self.kind.unwrap_or(ArgumentKind::Literal);
        let incomplete = |field| ArgumentError::Incomplete { kind, field };
        let variable = || {
            let name = self.source.as_ref().ok_or(incomplete("source"))?;
            let value = environment.get(name).ok_or_else(|| ArgumentError::NotSet(name.clone()))?;
            Ok((name, value))
        };
        match kind {
            ArgumentKind::Literal => text.push_str(self.literal_text()),
            ArgumentKind::Concatenate => self.values.iter().try_for_each(|part| part.write(environment, process, text))?,
            ArgumentKind::Environment => text.push_str(variable()?.1),
            ArgumentKind::ProcessNumber => {
                let multiplier = self.multiplier.filter(|factor| *factor != 0).unwrap_or(1);
                text.push_str(&number(process, multiplier, self.offset.unwrap_or(0)).to_string());
            }
            ArgumentKind::IpList => {
                let (name, value) = variable()?;
                let family = self.ip_family.ok_or(incomplete("ipFamily"))?;
                let none = || ArgumentError::NoAddress { variable: name.clone(), value: value.clone(), family };
                text.push_str(first_of(value, family).ok_or_else(none)?);
            }
        }
        Ok(())
    }
}

impl MonitorConfiguration {
    /// The arguments of the process of this number, in a pod with this environment.
    pub fn command_line(&self, environment: &BTreeMap<String, String>, process: i64) -> Result<Vec<String>, ArgumentError> {
        self.arguments.iter().map(|argument| argument.resolved(environment, process)).collect()
    }

    /// The same, taken apart to be compared with what thousands of processes were started with.
    pub fn taken_apart(&self) -> Result<CommandLine, ArgumentError> {
        let mut line = CommandLine::default();
        for (position, argument) in self.arguments.iter().enumerate() {
            if position > 0 {
                line.add_text(" ");
            }
            line.add(argument)?;
        }
        let mut names = line.names.clone();
        names.sort_unstable();
        names.dedup();
        let place = |name: &String| names.binary_search(name).unwrap_or_default();
        line.pieces.iter_mut().for_each(|piece| piece.point(&line.names, place));
        Ok(CommandLine { names, ..line })
    }
}

/// The command line of every process of a class: texts, and what goes between them.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    pieces: Vec<Piece>,
    /// The variables it depends on, sorted.
    names: Vec<String>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    /// The value of the variable at this place.
    Variable(usize),
    Number {
        multiplier: i64,
        offset: i64,
    },
    /// Of the addresses in the variable at this place, the first of a family.
    Address(usize, u8),
}

impl Piece {
    /// From the place of a variable among all as they came to that among the sorted ones.
    fn point(&mut self, names: &[String], place: impl Fn(&String) -> usize) {
        if let Self::Variable(variable) | Self::Address(variable, _) = self {
            *variable = place(&names[*variable]);
        }
    }
}

impl CommandLine {
    fn add(&mut self, argument: &Argument) -> Result<(), ArgumentError> {
        let kind = argument.kind.unwrap_or(ArgumentKind::Literal);
        let incomplete = |field| ArgumentError::Incomplete { kind, field };
        match kind {
            ArgumentKind::Literal => self.add_text(argument.literal_text()),
            ArgumentKind::Concatenate => argument.values.iter().try_for_each(|part| self.add(part))?,
            ArgumentKind::ProcessNumber => {
                let multiplier = argument.multiplier.filter(|factor| *factor != 0).unwrap_or(1);
                self.pieces.push(Piece::Number { multiplier, offset: argument.offset.unwrap_or(0) });
            }
            ArgumentKind::Environment | ArgumentKind::IpList => {
                self.names.push(argument.source.clone().ok_or(incomplete("source"))?);
                let variable = self.names.len() - 1;
                self.pieces.push(if kind == ArgumentKind::IpList {
                    Piece::Address(variable, argument.ip_family.ok_or(incomplete("ipFamily"))?)
                } else {
                    Piece::Variable(variable)
                });
            }
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// Whether this is what the process of this number is started with, in a pod with this environment; `None` if that does not say.
    pub fn is(&self, environment: &BTreeMap<String, String>, process: i64, text: &str) -> Option<bool> {
        let values = self.values(environment)?;
        let mut rest = Some(text);
        for piece in &self.pieces {
            let next = match piece {
                Piece::Text(text) => text,
                Piece::Variable(variable) => values[*variable],
                Piece::Address(variable, family) => first_of(values[*variable], *family)?,
                Piece::Number { multiplier, offset } => {
                    let number = number(process, *multiplier, *offset).to_string();
                    rest = rest.and_then(|rest| rest.strip_prefix(&number));
                    continue;
                }
            };
            rest = rest.and_then(|rest| rest.strip_prefix(next));
        }
        Some(rest == Some(""))
    }

    /// The values of all variables: both are sorted, so one walk finds them.
    fn values<'e>(&self, environment: &'e BTreeMap<String, String>) -> Option<SmallVec<[&'e str; 8]>> {
        let mut set = environment.iter();
        let value = |name: &String| {
            let (found, value) = set.find(|(key, _)| *key >= name)?;
            (found == name).then_some(value.as_str())
        };
        self.names.iter().map(value).collect()
    }
}

fn number(process: i64, multiplier: i64, offset: i64) -> i64 {
    process.saturating_mul(multiplier).saturating_add(offset)
}

/// Of a list of addresses, the first of a family.
fn first_of(addresses: &str, family: u8) -> Option<&str> {
    let fits = |address: &&str| address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_ipv6() == (family == 6));
    addresses.split(',').map(str::trim).find(fits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn environment() -> BTreeMap<String, String> {
        let set = [("FDB_PUBLIC_IP", "10.1.2.3"), ("FDB_INSTANCE_ID", "storage-1"), ("FDB_POD_IPS", "10.1.2.3, fd00::7")];
        set.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn a_document_of_the_monitor_is_read_and_written_as_it_is() {
        let document = r#"{"version":"7.3.69","runServers":false,"arguments":[{"value":"--class=storage"},{"type":"Concatenate","values":[{"value":"--public_address=["},{"type":"Environment","source":"FDB_PUBLIC_IP"},{"value":"]:"},{"type":"ProcessNumber","multiplier":2,"offset":4499}]},{"type":"IPList","source":"FDB_POD_IPS","ipFamily":6}]}"#;
        let read: MonitorConfiguration = serde_json::from_str(document).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), document);
        assert_eq!(
            read.command_line(&environment(), 1).unwrap(),
            ["--class=storage", "--public_address=[10.1.2.3]:4501", "fd00::7"]
        );
    }

    #[test]
    fn what_cant_be_put_together_is_named() {
        let told = |argument: Argument| argument.resolved(&environment(), 1).unwrap_err().to_string();
        assert_eq!(told(Argument::environment("FDB_DNS_NAME")), "the environment variable FDB_DNS_NAME is not set");
        let no_source = Argument { kind: Some(ArgumentKind::Environment), ..Argument::default() };
        assert_eq!(told(no_source), "an argument of type Environment needs the field source");
        let family = Argument { ip_family: Some(6), kind: Some(ArgumentKind::IpList), ..Argument::environment("FDB_PUBLIC_IP") };
        assert_eq!(told(family), "FDB_PUBLIC_IP has no IPv6 address: 10.1.2.3");
    }

    #[test]
    fn a_text_that_is_left_out_is_empty() {
        let document = r#"{"version":"7.3.69","arguments":[{"type":"Concatenate","values":[{"type":"Literal","value":"--knob_x="},{"type":"Literal"}]}]}"#;
        let read: MonitorConfiguration = serde_json::from_str(document).unwrap();
        assert_eq!(read.command_line(&environment(), 1).unwrap(), ["--knob_x="]);
        assert_eq!(read.taken_apart().unwrap().is(&environment(), 1, "--knob_x="), Some(true));
    }

    #[test]
    fn the_ports_of_several_processes_in_a_pod_are_two_apart() {
        let ports: Vec<_> = (1..=3).map(|process| Argument::port(2, 4499).resolved(&environment(), process).unwrap()).collect();
        assert_eq!(ports, ["4501", "4503", "4505"]);
    }

    fn part() -> impl Strategy<Value = Argument> {
        let variable = || prop::sample::select(vec!["A", "AB", "B", "C"]).prop_map(str::to_owned);
        let leaf = prop_oneof![
            "[-a=,. ]{0,3}".prop_map(Argument::literal),
            variable().prop_map(Argument::environment),
            (0..4_i64, 0..3_i64).prop_map(|(multiplier, offset)| Argument::port(multiplier, offset)),
            (variable(), prop::sample::select(vec![4_u8, 6])).prop_map(|(source, family)| Argument {
                kind: Some(ArgumentKind::IpList),
                source: Some(source),
                ip_family: Some(family),
                ..Argument::default()
            }),
        ];
        leaf.prop_recursive(2, 8, 3, |part| prop::collection::vec(part, 0..3).prop_map(Argument::concatenated))
    }

    proptest! {
        #[test]
        fn taken_apart_it_says_the_same(
            arguments in prop::collection::vec(part(), 0..4),
            environment in prop::collection::btree_map("[ABC]|AB", "[a=]{0,2}|10\\.0\\.0\\.1|fd00::1, 10\\.0\\.0\\.2", 0..4),
            process in 1..4_i64,
            other in "[-a=1 ]{0,4}",
        ) {
            let configuration = MonitorConfiguration { version: "7.3.69".to_owned(), run_servers: None, arguments };
            let line = configuration.taken_apart().unwrap();
            match configuration.command_line(&environment, process) {
                Err(_) => prop_assert_eq!(line.is(&environment, process, &other), None),
                Ok(arguments) => {
                    let text = arguments.join(" ");
                    prop_assert_eq!(line.is(&environment, process, &text), Some(true));
                    prop_assert_eq!(line.is(&environment, process, &other), Some(other == text));
                    prop_assert_eq!(line.is(&environment, process, &format!("{text}x")), Some(false));
                }
            }
        }
    }
}
