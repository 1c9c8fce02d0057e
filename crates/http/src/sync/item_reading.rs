//! Parsing of items.
//!
//! `push_request` calls `parse` for each pushed item. An item passes three steps:
//! nulls are removed, known keys get their documented spelling, and the wire
//! struct of the channel checks the types and normalises times and ids. The error
//! names the path of the value within the push.

use pia_sync::Channel;
use pia_web::{FieldError, format_json_error};
use serde_json::{Map, Value};

use super::items::{
    SyncKanbanColumn, SyncMemory, SyncPersona, SyncPluginPreference, SyncProvider,
    SyncResearchSession, SyncScheduledJob, SyncSession, SyncSettings, SyncTemplate, SyncTodo, Wire,
};

/// Parses an item of a channel: known keys get their documented spelling, and
/// values their canonical form. Values of the wrong type are rejected.
pub(super) fn parse(
    channel: Channel,
    item: Value,
    at: &str,
) -> Result<Map<String, Value>, FieldError> {
    match channel {
        Channel::Templates => parse_known::<SyncTemplate>(item, at),
        Channel::Personas => parse_known::<SyncPersona>(item, at),
        Channel::Providers => parse_known::<SyncProvider>(item, at),
        Channel::Sessions => parse_known::<SyncSession>(item, at),
        Channel::Memories => parse_known::<SyncMemory>(item, at),
        Channel::Todos => parse_known::<SyncTodo>(item, at),
        Channel::KanbanColumns => parse_known::<SyncKanbanColumn>(item, at),
        Channel::ScheduledJobs => parse_known::<SyncScheduledJob>(item, at),
        Channel::ResearchSessions => parse_known::<SyncResearchSession>(item, at),
        Channel::Settings => parse_known::<SyncSettings>(item, at),
        Channel::PluginPreferences => parse_known::<SyncPluginPreference>(item, at),
    }
}

fn parse_known<T: Wire>(item: Value, at: &str) -> Result<Map<String, Value>, FieldError> {
    let fields = match strip_nulls(item) {
        Value::Object(fields) => normalize_keys(fields, T::KEYS),
        _ => return Err(invalid(at.to_owned(), "must be an object")),
    };

    let wire: T = serde_path_to_error::deserialize(Value::Object(fields)).map_err(|err| {
        let path = err.path().to_string();
        let field = if path == "." { at.to_owned() } else { format!("{at}.{path}") };
        invalid(field, &format_json_error(&err.into_inner()))
    })?;

    match serde_json::to_value(wire) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) | Err(_) => Err(invalid(at.to_owned(), "cannot be kept")),
    }
}

/// Removes nulls at any depth: they count as absent. In a list, a null keeps
/// its place.
fn strip_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let present_fields = fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, strip_nulls(value)));
            Value::Object(present_fields.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(strip_nulls).collect()),
        other => other,
    }
}

/// Returns the fields under their documented names, in whatever case they were
/// sent, without nulls.
pub(super) fn normalize_keys(fields: Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    let canonical = |key: String| match keys.iter().find(|it| it.eq_ignore_ascii_case(&key)) {
        Some(canonical_key) => (*canonical_key).to_owned(),
        None => key,
    };
    fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (canonical(key), value))
        .collect()
}

pub(super) fn invalid(field: String, reason: &str) -> FieldError {
    let message = format!("`{field}`: {reason}");
    FieldError { field, code: "invalid", message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn todo(item: Value) -> Result<Value, String> {
        parse(Channel::Todos, item, "todos.upserted[0]").map(Value::Object).map_err(|err| err.field)
    }

    #[test]
    fn known_keys_match_in_any_case_and_unknown_ones_are_unchanged() {
        let item = json!({
            "Title": "x", "SORTORDER": 3, "Brand-New": { "A": null, "B": [null, 1] }, "notes": null,
        });

        let parsed = todo(item).unwrap();

        assert_eq!(
            parsed,
            json!({ "title": "x", "sortOrder": 3, "Brand-New": { "B": [null, 1] } })
        );
    }

    #[test]
    fn a_template_keeps_the_spelling_of_its_example_key() {
        for key in ["ExampleText", "exampleText", "exampletext"] {
            let parsed = parse(Channel::Templates, json!({ key: "x" }), "").unwrap();

            assert_eq!(Value::Object(parsed), json!({ "ExampleText": "x" }), "{key}");
        }
    }

    #[test]
    fn times_are_returned_in_utc_and_ids_in_canonical_form() {
        let item = json!({
            "id": "0190F5A0-0000-7000-8000-00000000000A",
            "createdAt": "0001-01-01T00:00:00", "updatedAt": "2026-01-02T03:04:05.1234567+01:00",
        });

        let parsed = todo(item).unwrap();

        assert_eq!(
            parsed,
            json!({
                "id": "0190f5a0-0000-7000-8000-00000000000a",
                "createdAt": "0001-01-01T00:00:00Z", "updatedAt": "2026-01-02T02:04:05.123457Z",
            })
        );
    }

    #[test]
    fn unknown_numbers_of_enums_survive() {
        assert_eq!(todo(json!({ "priority": 99, "status": -1 })).unwrap()["priority"], 99);
    }

    #[test]
    fn invalid_items_are_rejected_with_their_path() {
        for (item, field) in [
            (json!("text"), "todos.upserted[0]"),
            (json!({ "title": 5 }), "todos.upserted[0]"),
            (json!({ "id": "7" }), "todos.upserted[0]"),
            (json!({ "updatedAt": "yesterday" }), "todos.upserted[0]"),
            (json!({ "sortOrder": 3_000_000_000_i64 }), "todos.upserted[0]"),
        ] {
            let refused = todo(item.clone()).unwrap_err();

            assert!(refused.starts_with(field), "{item}: {refused}");
        }
    }
}
