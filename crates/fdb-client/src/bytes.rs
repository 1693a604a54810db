//! Keys and values: bytes, which people read and write as fdbcli prints them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes of a key or a value. In JSON they are text in which what is not printable is written `\xff`, and a backslash `\\`.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Octets(pub Vec<u8>);

impl Octets {
    /// Bytes from their printed form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            if first != b'\\' {
                bytes.push(first);
                rest = tail;
            } else if let Some(tail) = tail.strip_prefix(b"\\") {
                bytes.push(b'\\');
                rest = tail;
            } else {
                let digits = tail.strip_prefix(b"x").and_then(|digits| digits.get(..2));
                let byte = digits
                    .and_then(|digits| std::str::from_utf8(digits).ok())
                    .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok());
                bytes
                    .push(byte.ok_or_else(|| format!("`{text}`: after a backslash comes another one, or x and two hex digits"))?);
                rest = &tail[3..];
            }
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in &self.0 {
            match byte {
                b'\\' => f.write_str("\\\\")?,
                b' '..=b'~' => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

impl From<&[u8]> for Octets {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&str> for Octets {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { serializer.serialize_bytes(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Octets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes, or text with escapes such as \\xff")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Octets, E> {
                Octets::parse(text).map_err(E::custom)
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Octets, E> {
                Ok(Octets(bytes.to_vec()))
            }

            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Octets, E> {
                Ok(Octets(bytes))
            }
        }
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Visitor)
        } else {
            deserializer.deserialize_byte_buf(Visitor)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_being_printed() {
        let all = Octets((0..=255).collect());
        assert_eq!(Octets::parse(&all.to_string()), Ok(all.clone()));
        assert_eq!(serde_json::from_str::<Octets>(&serde_json::to_string(&all).unwrap_or_default()).ok(), Some(all));
        assert_eq!(Octets::from(b"\xff\x02/a\\".as_slice()).to_string(), "\\xff\\x02/a\\\\");
    }

    #[test]
    fn a_bad_escape_is_refused_whole() {
        for bad in ["\\", "\\x", "\\xf", "\\xg0", "\\y", "\\x+1", "\\xé"] {
            assert!(Octets::parse(bad).is_err(), "{bad}");
        }
    }
}
