//! Reading items as they came.

use pia_sync::Channel;
use pia_web::{FieldError, format_json_error};
use serde_json::{Map, Value};

use super::items::{
    SyncKanbanColumn, SyncMemory, SyncPersona, SyncPluginPreference, SyncProvider,
    SyncResearchSession, SyncScheduledJob, SyncSession, SyncSettings, SyncTemplate, SyncTodo, Wire,
};

/// An item of a channel with its known keys spelled as they are documented,
/// and their values as they are informed to others. Nothing is what it is not.
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

/// Removes nulls at any depth: they count as absent, and are not returned to
/// anybody. In a list a null keeps its place.
fn strip_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.map(|(key, value)| (key, strip_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(strip_nulls).collect()),
        other => other,
    }
}

/// The fields under their documented names, in whichever case they came; what
/// is null is not there.
pub(super) fn normalize_keys(fields: Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    let spelled = |key: String| match keys.iter().find(|it| it.eq_ignore_ascii_case(&key)) {
        Some(known) => (*known).to_owned(),
        None => key,
    };
    let there = fields.into_iter().filter(|(_, value)| !value.is_null());
    there.map(|(key, value)| (spelled(key), value)).collect()
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
    fn keys_are_known_in_any_case_and_unknown_ones_stay_as_they_are() {
        let sent = json!({ "Title": "x", "SORTORDER": 3, "Brand-New": { "A": null, "B": [null, 1] }, "notes": null });

        let read = todo(sent).unwrap();

        assert_eq!(read, json!({ "title": "x", "sortOrder": 3, "Brand-New": { "B": [null, 1] } }));
    }

    #[test]
    fn a_template_keeps_the_odd_spelling_of_its_example() {
        for key in ["ExampleText", "exampleText", "exampletext"] {
            let read = parse(Channel::Templates, json!({ key: "x" }), "").unwrap();

            assert_eq!(Value::Object(read), json!({ "ExampleText": "x" }), "{key}");
        }
    }

    #[test]
    fn times_are_reported_in_utc_and_ids_in_one_spelling() {
        let sent = json!({
            "id": "0190F5A0-0000-7000-8000-00000000000A",
            "createdAt": "0001-01-01T00:00:00", "updatedAt": "2026-01-02T03:04:05.1234567+01:00",
        });

        let read = todo(sent).unwrap();

        assert_eq!(
            read,
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
    fn what_other_devices_could_not_read_is_refused_with_its_place() {
        for (sent, field) in [
            (json!("text"), "todos.upserted[0]"),
            (json!({ "title": 5 }), "todos.upserted[0]"),
            (json!({ "id": "7" }), "todos.upserted[0]"),
            (json!({ "updatedAt": "yesterday" }), "todos.upserted[0]"),
            (json!({ "sortOrder": 3_000_000_000_i64 }), "todos.upserted[0]"),
        ] {
            let refused = todo(sent.clone()).unwrap_err();

            assert!(refused.starts_with(field), "{sent}: {refused}");
        }
    }
}
