//! Values before and after a change, for the audit log.
//!
//! `SideEffects::with_changes` compares the old object with the new one, field by
//! field, in the form in which both are serialized. A type of an audited object
//! therefore decides by its `Serialize` what the log contains: fields with personal
//! data or secrets are skipped there, or pass through `serialize_digest`.

use ring::digest::{SHA256, digest};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Maximum length of a text that is recorded in full, in bytes.
const MAX_TEXT_BYTES: usize = 500;

/// Fields of an object before and after a change, as a JSON object: `{"name":
/// {"before": "Sales", "after": "Sellers"}}`. A field that did not exist on one
/// side is left out there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditChanges(String);

impl AuditChanges {
    /// Returns the fields that differ, or `None` if there are none. A created
    /// object has no `before`, a deleted one no `after`. For long texts, length
    /// and SHA-256 are recorded.
    pub fn between<T: Serialize>(before: Option<&T>, after: Option<&T>) -> Option<Self> {
        let mut old_fields = fields(before);
        let mut changes = Map::new();
        for (name, value) in fields(after) {
            let old_value = old_fields.remove(&name).filter(|it| !it.is_null());
            add(&mut changes, name, old_value, Some(value).filter(|it| !it.is_null()));
        }
        for (name, old_value) in old_fields {
            add(&mut changes, name, Some(old_value).filter(|it| !it.is_null()), None);
        }
        (!changes.is_empty()).then(|| Self(Value::Object(changes).to_string()))
    }

    /// Returns the JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Serializes a text that may contain secrets as its SHA-256.
pub fn serialize_digest<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    sha256(text).serialize(serializer)
}

fn fields<T: Serialize>(object: Option<&T>) -> Map<String, Value> {
    match object.map(serde_json::to_value) {
        Some(Ok(Value::Object(fields))) => fields,
        _ => Map::new(),
    }
}

fn add(
    changes: &mut Map<String, Value>,
    name: String,
    before: Option<Value>,
    after: Option<Value>,
) {
    if before == after {
        return;
    }
    let sides = [("before", before), ("after", after)]
        .into_iter()
        .filter_map(|(side, it)| Some((side.to_owned(), shorten(it?))))
        .collect();
    changes.insert(name, Value::Object(sides));
}

fn shorten(value: Value) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_TEXT_BYTES => {
            json!({ "bytes": text.len(), "sha256": sha256(&text) })
        }
        value => value,
    }
}

fn sha256(text: &str) -> String {
    let bytes = digest(&SHA256, text.as_bytes());
    let digits = bytes.as_ref().iter().flat_map(|it| [it >> 4, it & 15]);
    digits.filter_map(|it| char::from_digit(it.into(), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(before: Option<&Value>, after: Option<&Value>) -> Option<Value> {
        let changes = AuditChanges::between(before, after);
        changes.map(|it| serde_json::from_str(it.as_str()).unwrap())
    }

    #[test]
    fn changed_fields_are_recorded() {
        let sales = json!({ "name": "Sales", "description": null, "ids": [1] });
        let sellers = json!({ "name": "Sellers", "description": "All", "ids": [1] });

        let changes = between(Some(&sales), Some(&sellers));
        let expected = json!({
            "name": { "before": "Sales", "after": "Sellers" }, "description": { "after": "All" },
        });
        assert_eq!(changes, Some(expected));
        let name = json!("Sales");
        let ids = json!([1]);
        let created = json!({ "name": { "after": name }, "ids": { "after": ids } });
        assert_eq!(between(None, Some(&sales)), Some(created));
        let deleted = json!({ "name": { "before": name }, "ids": { "before": ids } });
        assert_eq!(between(Some(&sales), None), Some(deleted));
        assert_eq!(between(Some(&sales), Some(&sales)), None);
        assert_eq!(between(None, None), None);
    }

    #[test]
    fn the_digest_of_a_long_text_is_recorded() {
        let text = "x".repeat(MAX_TEXT_BYTES);
        let longer = format!("{text}x");

        let changes = between(Some(&json!({ "a": text })), Some(&json!({ "a": longer }))).unwrap();

        assert_eq!(changes["a"]["before"], json!(text));
        assert_eq!(changes["a"]["after"]["bytes"], json!(501));
        let digest = changes["a"]["after"]["sha256"].as_str().unwrap();
        assert_eq!(digest.len(), 64);
        assert!(digest == sha256(&longer));
    }
}
