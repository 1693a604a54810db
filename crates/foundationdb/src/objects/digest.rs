//! Digests: they tell one wish from another, and one rendering from another.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// 128 bits of a JSON value, in hex. The order of keys does not count, and a key without a value is as good as none.
pub(super) fn digest(value: &Value) -> String {
    let mut text = Vec::new();
    write_sorted(value, &mut text);
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    Sha256::digest(text)[..16].iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn write_sorted(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            text.push(b'{');
            for (key, value) in entries {
                write(key, text);
                text.push(b':');
                write_sorted(value, text);
                text.push(b',');
            }
            text.push(b'}');
        }
        Value::Array(items) => {
            text.push(b'[');
            for item in items {
                write_sorted(item, text);
                text.push(b',');
            }
            text.push(b']');
        }
        simple => write(simple, text),
    }
}

/// Text, numbers and the like can always be written as JSON, and memory takes all of it.
fn write(simple: &impl Serialize, text: &mut Vec<u8>) {
    serde_json::to_writer(text, simple).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::digest;
    use serde_json::json;

    #[test]
    fn only_what_is_said_counts_not_in_which_order() {
        let one = digest(&json!({"a": 1, "b": {"c": [1, 2], "d": null}}));
        assert_eq!(one, digest(&json!({"b": {"c": [1, 2]}, "a": 1})));
        assert_ne!(one, digest(&json!({"b": {"c": [2, 1]}, "a": 1})));
        assert_eq!(one.len(), 32);
    }

    /// Digests are kept in objects, so they must be the same in every version.
    #[test]
    fn a_digest_stays_what_it_is() {
        assert_eq!(digest(&json!({"image": "fdb:7.3.69", "servers": 2})), "8815bcda0bcd69a46447010f18dd3712");
    }
}
