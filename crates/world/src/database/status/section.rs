//! What the document is put together from. It is written far more often than anybody looks at it, so what never changes is written as it was
//! written the first time, and nothing is looked up by its name.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// A part that is the same in every document.
pub(super) type Fixed = LazyLock<String>;

/// Writes a part down that never changes.
pub(super) fn fixed(value: &Value) -> String {
    value.to_string()
}

/// Writes down what never changes of an object, to be added to what does.
pub(super) fn fixed_members(members: impl IntoIterator<Item = (&'static str, Value)>) -> String {
    let members: Map<String, Value> = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let object = Value::Object(members).to_string();
    object.trim_start_matches('{').strip_suffix('}').unwrap_or_default().to_owned()
}

/// An object: names, and what is under them.
#[derive(Default)]
pub(super) struct Section<'a>(Vec<Member<'a>>);

enum Member<'a> {
    /// A name, and what is under it.
    One(&'a str, Part<'a>),
    /// Several that are the same in every document.
    Fixed(&'static str),
}

impl<'a> Section<'a> {
    pub(super) fn add(&mut self, name: &'a str, part: impl Into<Part<'a>>) {
        self.0.push(Member::One(name, part.into()));
    }

    /// Adds what [`fixed_members`] wrote down.
    pub(super) fn add_members(&mut self, members: &'static Fixed) {
        self.0.push(Member::Fixed(members));
    }

    fn write(&self, text: &mut Vec<u8>) {
        let members = self.0.iter().map(|member| {
            move |text: &mut Vec<u8>| match member {
                Member::One(name, part) => {
                    write_text(name, text);
                    text.push(b':');
                    part.write(text);
                }
                Member::Fixed(members) => text.extend_from_slice(members.as_bytes()),
            }
        });
        write_all(*b"{}", members, text);
    }
}

impl<'a, P: Into<Part<'a>>> FromIterator<(&'a str, P)> for Section<'a> {
    fn from_iter<I: IntoIterator<Item = (&'a str, P)>>(parts: I) -> Self {
        Self(parts.into_iter().map(|(name, part)| Member::One(name, part.into())).collect())
    }
}

/// Whatever is under a name.
pub(super) enum Part<'a> {
    Fixed(&'static str),
    Text(&'a str),
    Value(Value),
    Section(Section<'a>),
    List(Vec<Part<'a>>),
}

impl Part<'_> {
    /// Writes it as JSON.
    pub(super) fn write(&self, text: &mut Vec<u8>) {
        match self {
            Self::Fixed(written) => text.extend_from_slice(written.as_bytes()),
            Self::Text(words) => write_text(words, text),
            // JSON can always be written, and memory takes all of it.
            Self::Value(value) => serde_json::to_writer(text, value).unwrap_or_default(),
            Self::Section(section) => section.write(text),
            Self::List(parts) => write_all(*b"[]", parts.iter().map(|part| move |text: &mut Vec<u8>| part.write(text)), text),
        }
    }
}

/// Writes one after the other, between brackets.
fn write_all<W: FnOnce(&mut Vec<u8>)>(brackets: [u8; 2], all: impl Iterator<Item = W>, text: &mut Vec<u8>) {
    text.push(brackets[0]);
    for (position, write) in all.enumerate() {
        if position > 0 {
            text.push(b',');
        }
        write(text);
    }
    text.push(brackets[1]);
}

/// Nearly every text can be written as it is.
fn write_text(words: &str, text: &mut Vec<u8>) {
    // All of them are looked at, several at once: command lines are long.
    let is_special = |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'"') | u8::from(byte == b'\\');
    if words.bytes().fold(0, |found, byte| found | is_special(byte)) != 0 {
        // Text can always be written, and memory takes all of it.
        return serde_json::to_writer(text, words).unwrap_or_default();
    }
    text.push(b'"');
    text.extend_from_slice(words.as_bytes());
    text.push(b'"');
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    static COUNTED: Fixed = Fixed::new(|| fixed_members([("one", json!({"a": 1})), ("two", json!([2]))]));
    static NOTHING: Fixed = Fixed::new(|| fixed(&json!({})));

    #[test]
    fn a_document_is_what_its_parts_say() {
        let mut section = Section::default();
        section.add("zone", "a \"quoted\" one");
        section.add_members(&COUNTED);
        section.add("nothing", &NOTHING);
        section.add("list", vec![Part::from(json!(1.5)), Section::default().into(), Part::List(Vec::new())]);
        let mut text = Vec::new();
        Part::from(section).write(&mut text);
        let expected = json!({"zone": "a \"quoted\" one", "one": {"a": 1}, "two": [2], "nothing": {}, "list": [1.5, {}, []]});
        assert_eq!(String::from_utf8(text).unwrap(), expected.to_string());
    }
}
