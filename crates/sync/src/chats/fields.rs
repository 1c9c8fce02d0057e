//! Top level of a document, parsed without its values. `document.rs` reads known
//! keys in their documented spelling, and writes all others in their original
//! order.

use std::borrow::Cow;
use std::fmt;

use pia_json::structural_bytes;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Maximum number of keys: far more than the known ones, and few enough that they
/// need no more memory than the document.
const MAX_KEYS: usize = 256;
/// Maximum nesting of a document. Clients read 64 levels, of which lists take
/// some.
const MAX_DEPTH: usize = 60;

/// Known keys, as they are spelled on output.
const KNOWN_CHAT_KEYS: [&str; 12] = [
    "id",
    "schemaVersion",
    "title",
    "createdAt",
    "updatedAt",
    "lastAccessedAt",
    "windowMode",
    "providerId",
    "workingDirectory",
    "messages",
    "encryptedPayload",
    "wrappedDek",
];
/// Prefix of keys that are reserved for the server.
const RESERVED_PREFIX: &str = "server_";

/// Keys and values in their original order, without duplicates.
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Returns the value of a known key.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(it, _)| it == key).map(|(_, value)| *value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Adds a member. Known keys ignore case, nulls and reserved keys are
    /// dropped, and the last of duplicate keys wins.
    fn take(&mut self, key: Cow<'a, str>, value: &'a RawValue) {
        let is_reserved = key
            .get(..RESERVED_PREFIX.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(RESERVED_PREFIX));
        if is_reserved {
            return;
        }

        let known_key = KNOWN_CHAT_KEYS.iter().find(|it| it.eq_ignore_ascii_case(&key));
        let key = known_key.map_or(key, |it| Cow::Borrowed(*it));
        self.0.retain(|(it, _)| *it != key);

        if value.get() != "null" {
            self.0.push((key, value));
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;

        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
                let mut fields = Fields(Vec::new());
                let mut count = 0;
                while let Some(Key(key)) = map.next_key()? {
                    count += 1;
                    if count > MAX_KEYS {
                        return Err(de::Error::custom(format!("more than {MAX_KEYS} keys")));
                    }
                    fields.take(key, map.next_value()?);
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// Key, copied only if it has escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns whether a document is nested deeper than clients can read.
pub(super) fn too_deep(text: &[u8]) -> bool {
    let mut depth = 0_usize;
    for byte in structural_bytes(text) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }

    false
}
