//! JSON objects of which only the top level is parsed.
//!
//! `serde_json::from_str::<Members>` borrows every value from its text and checks
//! that the text is JSON. Null differs by method: `get` treats it as absent, while
//! `iter` and `to_json` pass it on.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::quoted;

/// Members of an object in their order; values are unparsed JSON.
#[derive(Debug, Clone)]
pub struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Members<'_> {
    /// Returns the value of a key, of duplicates the last. Null counts as
    /// absent.
    pub fn get(&self, key: &str) -> Option<&str> {
        let (_, value) = self.0.iter().rev().find(|(it, _)| it == key)?;
        (value != "null").then_some(value)
    }

    /// Returns each key and its JSON, duplicates and nulls included.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// Removes each member with this key.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(it, _)| it != key);
    }

    /// Replaces the value of a key and makes the member the last one. The
    /// value is not checked to be JSON.
    pub fn set(&mut self, key: &'static str, json: String) {
        self.remove(key);
        self.0.push((Cow::Borrowed(key), Cow::Owned(json)));
    }

    /// Returns a copy of the object with only these keys.
    #[must_use]
    pub fn only(&self, keys: &[&str]) -> Self {
        Self(self.0.iter().filter(|(it, _)| keys.contains(&it.as_ref())).cloned().collect())
    }

    /// Returns the object as JSON; values are unchanged.
    pub fn to_json(&self) -> String {
        let members: Vec<String> =
            self.0.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// Key of an object, copied only if it is written with escapes.
#[derive(serde::Deserialize)]
pub struct MemberKey<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((MemberKey(key), value)) =
                    map.next_entry::<MemberKey<'de>, &'de RawValue>()?
                {
                    members.push((key, Cow::Borrowed(value.get())));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_byte_for_byte() {
        let json = r#"{"a\u0062":[1.50, {"x" : null}],"c\"":"\u00e4"}"#;
        let members: Members<'_> = serde_json::from_str(json).unwrap();

        assert_eq!(members.to_json(), r#"{"ab":[1.50, {"x" : null}],"c\"":"\u00e4"}"#);
    }

    #[test]
    fn the_last_of_duplicate_keys_wins_and_null_is_absent() {
        let members: Members<'_> = serde_json::from_str(r#"{"a":1,"a":2,"b":null}"#).unwrap();

        assert_eq!(members.get("a"), Some("2"));
        assert!(members.get("b").is_none());
    }

    #[test]
    fn only_an_object_has_members() {
        assert!(serde_json::from_str::<Members<'_>>("[1]").is_err());
        assert!(serde_json::from_str::<Members<'_>>("1").is_err());
    }
}
