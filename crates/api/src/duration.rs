//! Durations as Kubernetes users write them: `90s`, `5m`, `1h30m`.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What a duration must look like, for schemas and rules.
pub(crate) const DURATION_PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+$";

/// A duration as it was written. It is kept as text, so that what users wrote is what they read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DurationText(pub String);

impl DurationText {
    /// Its length, or nothing if the text is no duration.
    pub fn length(&self) -> Option<Duration> {
        let mut rest = self.0.as_str();
        let mut total = Duration::ZERO;
        while !rest.is_empty() {
            let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (number, tail) = rest.split_at(number_end);
            let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_end);
            let seconds_per_unit = match unit {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
            let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds_per_unit).ok()?;
            total = total.checked_add(part)?;
            rest = tail;
        }
        (!self.0.is_empty()).then_some(total)
    }
}

impl JsonSchema for DurationText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "maxLength": 64})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(text: &str) -> Option<Duration> {
        DurationText(text.to_owned()).length()
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(length("90s"), Some(Duration::from_secs(90)));
        assert_eq!(length("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(length("1.5m"), Some(Duration::from_secs(90)));
        assert_eq!(length("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(length("0s"), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_no_duration_has_no_length() {
        for text in ["", "5", "m", "5 m", "-5m", "5y", "1.2.3s", "s5", "99999999999999999999h"] {
            assert_eq!(length(text), None, "{text:?}");
        }
    }
}
