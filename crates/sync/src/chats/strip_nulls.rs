//! Leaving out what is null: it is as if it were not there, and is told to
//! nobody.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::document::json_string;

const NULL: &str = "null";

/// A value as it was written, but for members that are null, at any depth. In
/// a list a null keeps its place.
pub(super) fn strip_nulls(text: &str) -> Cow<'_, str> {
    if !text.contains(NULL) {
        return Cow::Borrowed(text);
    }
    let mut rest = String::with_capacity(text.len());
    write(text, &mut rest);
    Cow::Owned(rest)
}

fn write(text: &str, out: &mut String) {
    let looked_into = text.contains(NULL);
    match text.as_bytes().first() {
        Some(b'{') if looked_into => {
            let Members(members) = serde_json::from_str(text).unwrap_or_default();
            out.push('{');
            for (number, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if number == 0 { "" } else { "," });
                out.push_str(&json_string(&key));
                out.push(':');
                write(value.get(), out);
            }
            out.push('}');
        }
        Some(b'[') if looked_into => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            out.push('[');
            for (number, item) in items.into_iter().enumerate() {
                out.push_str(if number == 0 { "" } else { "," });
                write(item.get(), out);
            }
            out.push(']');
        }
        _ => out.push_str(text),
    }
}

/// The members of an object that are not null, in their order.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if value.get() != NULL {
                        members.push((key, value));
                    }
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_are_null_are_left_out_and_all_else_stays_as_written() {
        let text = r#"[{"a":null,"b":1.0,"c":{"d":null,"e":[null,12345678901234567890]}},"null"]"#;

        let rest = strip_nulls(text);

        assert_eq!(rest, r#"[{"b":1.0,"c":{"e":[null,12345678901234567890]}},"null"]"#);
    }

    #[test]
    fn what_holds_no_null_is_not_looked_into() {
        let text = r#"{ "a" : [ 1.50 ] }"#;

        assert!(matches!(strip_nulls(text), Cow::Borrowed(same) if same == text));
    }
}
