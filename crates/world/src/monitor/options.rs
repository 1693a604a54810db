//! The monitor's own options: from its command line or, where that says nothing, from the environment.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Container;

/// How a monitor was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The file with its configuration.
    pub configuration: String,
    /// How many servers it runs.
    pub processes: u32,
    /// Whether the labels of its node become variables.
    pub watches_node: bool,
}

impl Options {
    pub(super) fn of(container: &Container, environment: &BTreeMap<String, String>) -> Self {
        let given =
            |name: &str| given(container, name).or_else(|| environment.get(&name.to_uppercase().replace('-', "_")).cloned());
        let folder = given("input-dir").unwrap_or_else(|| ".".to_owned());
        let file = given("input-monitor-conf").unwrap_or_else(|| "config.json".to_owned());
        Self {
            configuration: format!("{folder}/{file}"),
            processes: given("process-count").and_then(|count| count.parse().ok()).unwrap_or(1),
            watches_node: given("enable-node-watch").is_some_and(|value| is_true(&value)),
        }
    }
}

/// What an argument `--name value`, `--name=value` or, for a switch, `--name` says.
fn given(container: &Container, name: &str) -> Option<String> {
    let arguments: Vec<&str> = container.command.iter().chain(&container.args).flatten().map(String::as_str).collect();
    arguments.iter().enumerate().find_map(|(position, argument)| {
        let rest = argument.strip_prefix("--")?.strip_prefix(name)?;
        if let Some(value) = rest.strip_prefix('=') {
            return Some(value.to_owned());
        }
        let value = arguments.get(position + 1).filter(|next| !next.starts_with("--")).copied();
        rest.is_empty().then(|| value.unwrap_or("true").to_owned())
    })
}

/// What counts as true where the monitor reads a truth value.
pub(super) fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "True" | "TRUE")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str], environment: &[(&str, &str)]) -> Options {
        let args = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let container = Container { args: Some(args), ..Container::default() };
        Options::of(&container, &environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn options_are_arguments_or_variables_and_arguments_win() {
        let usual = options(&["--input-dir", "/var/dynamic-conf", "--log-path", "/var/log/monitor.log"], &[]);
        let expected = Options { configuration: "/var/dynamic-conf/config.json".to_owned(), processes: 1, watches_node: false };
        assert_eq!(usual, expected);
        let two = options(&["--process-count", "2", "--enable-node-watch"], &[("PROCESS_COUNT", "3")]);
        assert_eq!((two.processes, two.watches_node), (2, true));
        let three = options(&[], &[("PROCESS_COUNT", "3"), ("ENABLE_NODE_WATCH", "true")]);
        assert_eq!((three.processes, three.watches_node), (3, true));
        assert!(!options(&["--enable-node-watch=false"], &[]).watches_node);
    }
}
