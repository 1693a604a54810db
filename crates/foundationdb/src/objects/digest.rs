//! Digests: they tell one wish from another, and one rendering from another.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// 128 bits of a JSON value, in hex. The order of keys does not count, and a key without a value is as good as none.
pub(super) fn digest(value: &Value) -> String {
    let mut text = String::new();
    write_sorted(value, &mut text);
    Sha256::digest(text)[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (key, value) in entries {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        simple => text.push_str(&simple.to_string()),
    }
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
