//! What the document is put together from. It is written far more often than anybody looks at it, so what never changes is written as it was
//! written the first time, and nothing is looked up by its name.

use std::sync::LazyLock;

use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// A part that is the same in every document.
pub(super) type Fixed = LazyLock<Box<RawValue>>;

/// Writes a part down that never changes.
pub(super) fn fixed(value: &Value) -> Box<RawValue> {
    // JSON can always be written; and what is nothing is written as well.
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// An object: names, and what is under them.
#[derive(Default)]
pub(super) struct Section<'a>(Vec<(&'a str, Part<'a>)>);

impl<'a> Section<'a> {
    pub(super) fn add(&mut self, name: &'a str, part: impl Into<Part<'a>>) {
        self.0.push((name, part.into()));
    }
}

impl<'a, P: Into<Part<'a>>> FromIterator<(&'a str, P)> for Section<'a> {
    fn from_iter<I: IntoIterator<Item = (&'a str, P)>>(parts: I) -> Self {
        Self(parts.into_iter().map(|(name, part)| (name, part.into())).collect())
    }
}

impl Serialize for Section<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, part)| (name, part)))
    }
}

/// Whatever is under a name.
pub(super) enum Part<'a> {
    Fixed(&'static RawValue),
    Text(&'a str),
    Value(Value),
    Section(Section<'a>),
    List(Vec<Part<'a>>),
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(written) => written.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Value(value) => value.serialize(serializer),
            Self::Section(section) => section.serialize(serializer),
            Self::List(parts) => serializer.collect_seq(parts),
        }
    }
}

impl From<&'static Fixed> for Part<'_> {
    fn from(written: &'static Fixed) -> Self {
        Self::Fixed(written)
    }
}

impl<'a> From<&'a str> for Part<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Part<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<Value> for Part<'_> {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<Section<'a>> for Part<'a> {
    fn from(section: Section<'a>) -> Self {
        Self::Section(section)
    }
}

impl<'a> From<Vec<Part<'a>>> for Part<'a> {
    fn from(parts: Vec<Part<'a>>) -> Self {
        Self::List(parts)
    }
}
