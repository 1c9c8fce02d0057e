//! A row as a device stores it, and its form on the wire.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::fields::{Channel, Kind};
use super::keys::Umk;
use super::moment::Moment;

/// A row in plaintext.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) created: Moment,
    /// Time that decides between two versions.
    pub(crate) updated: Moment,
    pub(crate) fields: BTreeMap<String, Value>,
}

/// End-to-end encryption of rows.
#[derive(Debug, Clone)]
pub(crate) struct Sealer {
    pub(crate) user: String,
    pub(crate) umk: Umk,
}

/// Value of every key that names another row.
const OTHER: &str = "6f9619ff-8b86-4d01-b42d-00c04fc964ff";

impl Row {
    /// Creates a row with a value for each of its keys, and with these words.
    pub(crate) fn new(channel: Channel, id: &str, words: &str, at: Moment) -> Self {
        let value = |name: &str, kind| match (name, kind) {
            ("archetype", _) => json!("analyst"),
            ("modelType", _) => json!("general"),
            ("emoji", _) => json!("🧭"),
            ("accentColor", _) => json!("#00AA7F"),
            ("data", _) => json!(json!({ "said": words }).to_string()),
            // Unique, or the client would merge two rows.
            ("endpoint", _) => json!(format!("https://{id}.example.org/v1")),
            ("toolScope", _) => json!(2),
            (_, Kind::Text) => json!(format!("{name} of {words} + <ä> 🎈")),
            (_, Kind::Int) => json!(1),
            (_, Kind::Bool) => json!(true),
            (_, Kind::Guid) => json!(OTHER),
            (_, Kind::Time) => json!("2026-08-01T00:00:00Z"),
            (_, Kind::Clock) => json!("07:30:00"),
            (_, Kind::Texts) => json!([words, "another"]),
            (_, Kind::Guids) => json!({ "1": OTHER }),
        };
        let fields = channel
            .fields()
            .iter()
            .map(|it| (it.name.to_owned(), value(it.name, it.kind)))
            .collect();
        Self { id: id.to_owned(), created: at, updated: at, fields }
    }

    /// Changes the field that tests edit.
    pub(crate) fn set_content(&mut self, channel: Channel, words: &str, at: Moment) {
        self.fields.insert(channel.content_field().to_owned(), json!(words));
        self.updated = at;
    }

    /// Returns the field that tests edit, empty if the row lacks it.
    pub(crate) fn content(&self, channel: Channel) -> &str {
        self.fields.get(channel.content_field()).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the parts that two devices with the same row agree on: times at the
    /// precision of the server, and of a memory the fields that the client applies.
    pub(crate) fn shared(&self, channel: Channel) -> Self {
        let mut shared = self.clone();
        let has_created = channel != Channel::Settings;
        shared.created = if has_created { self.created.rounded() } else { Moment::FIRST };
        shared.updated = self.updated.rounded();
        if channel == Channel::Memories {
            shared.fields.retain(|name, _| ["label", "data"].contains(&name.as_str()));
        }
        shared
    }

    /// Serializes the row like the client, without nulls.
    pub(crate) fn on_wire(&self, channel: Channel, sealer: Option<&Sealer>) -> Value {
        let mut wire = Map::new();
        if channel != Channel::Settings {
            wire.insert("id".to_owned(), json!(self.id));
            wire.insert("createdAt".to_owned(), json!(self.created.to_string()));
        }
        wire.insert(channel.changed().to_owned(), json!(self.updated.to_string()));
        let mut hidden = Map::new();
        for field in channel.fields() {
            let name = field.name.to_owned();
            let value = self.fields.get(field.name).cloned();
            if field.sealed && sealer.is_some() {
                if let Some(blank) = field.blank {
                    let blank = serde_json::from_str(blank).expect("JSON");
                    wire.insert(name.clone(), blank);
                }
                hidden.extend(value.map(|it| (name, it)));
            } else {
                wire.extend(value.map(|it| (name, it)));
            }
        }
        if let Some(sealer) = sealer {
            let plain = Value::Object(hidden).to_string();
            let blobs = sealer.seal(channel.entity(), &self.id, plain.as_bytes());
            wire.insert("encryptedPayload".to_owned(), json!(blobs.payload));
            wire.insert("wrappedDek".to_owned(), json!(blobs.dek));
        }
        Value::Object(wire)
    }
}
