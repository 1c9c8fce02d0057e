//! Parsing of pushes from old and new clients: keys may be in any case, null or
//! absent, and channels may be objects or bare lists.
//!
//! `parse` takes known keys out of the body one by one; the body is not
//! deserialised into a struct. All errors are collected, and with one error nothing
//! is stored. A single item is parsed by `item_reading.rs`.

use pia_kernel::{Timestamp, utf16_len};
use pia_sync::{Channel, ItemId, ItemKey, Push, ReceivedItem};
use pia_web::{ApiError, FieldError, format_json_error};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::item_reading::{self, invalid, normalize_keys};
use super::items;

/// Maximum length of a device name.
const MAX_DEVICE_CHARS: usize = 200;
/// Maximum number of errors reported for one request.
const MAX_ERRORS: usize = 20;

/// Keys of a push beside those of the channels.
const KEYS: [&str; 4] = ["clientTimestamp", "lastSyncTimestamp", "deviceId", "isE2EEEncrypted"];
/// Keys of the changes of a channel.
const CHANGE_KEYS: [&str; 3] = ["upserted", "added", "deleted"];

/// Changes of a device. Every key may be missing.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "documents the body in OpenAPI; `PushParser` reads it leniently")]
pub(crate) struct SyncPushRequest {
    /// Time of the request, by the device's clock.
    #[schema(value_type = Option<String>, format = DateTime)]
    client_timestamp: Option<Timestamp>,
    /// `serverTimestamp` of the last pull.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_sync_timestamp: Option<Timestamp>,
    device_id: Option<String>,
    /// True if all items are end-to-end encrypted.
    #[schema(rename = "isE2EEEncrypted")]
    is_e2ee_encrypted: Option<bool>,
    settings: Option<items::SyncSettings>,
    templates: Option<TemplateChanges>,
    personas: Option<PersonaChanges>,
    providers: Option<ProviderChanges>,
    sessions: Option<SessionChanges>,
    memories: Option<MemoryChanges>,
    todos: Option<TodoChanges>,
    kanban_columns: Option<KanbanColumnChanges>,
    scheduled_jobs: Option<ScheduledJobChanges>,
    research_sessions: Option<ResearchSessionChanges>,
    plugin_preferences: Option<Vec<items::SyncPluginPreference>>,
}

/// Defines the schemas of the changes of a channel, in a push and in a pull.
macro_rules! changes {
    ($($name:ident { $added:ident: $item:ident }),* $(,)?) => {$(
        /// Changes of a channel. A bare list is read as `upserted`.
        #[derive(ToSchema)]
        #[expect(dead_code, reason = "only described")]
        pub(crate) struct $name {
            $added: Vec<items::$item>,
            /// Ids of deleted items.
            deleted: Vec<Uuid>,
        }
    )*};
}

changes! {
    TemplateChanges { upserted: SyncTemplate },
    PersonaChanges { upserted: SyncPersona },
    ProviderChanges { upserted: SyncProvider },
    SessionChanges { added: SyncSession },
    MemoryChanges { upserted: SyncMemory },
    TodoChanges { upserted: SyncTodo },
    KanbanColumnChanges { upserted: SyncKanbanColumn },
    ScheduledJobChanges { upserted: SyncScheduledJob },
    ResearchSessionChanges { upserted: SyncResearchSession },
}

/// Parses a push. If anything is invalid, nothing is stored, and all errors are
/// reported.
pub(super) fn parse(body: Map<String, Value>) -> Result<Push, ApiError> {
    let names = Channel::ALL.map(Channel::name);
    let known_keys: Vec<&str> = KEYS.iter().chain(&names).copied().collect();
    let mut body = normalize_keys(body, &known_keys);
    let mut parser = PushParser::default();
    let mut push = Push {
        sent_at: parser.take(&mut body, "clientTimestamp"),
        seen_up_to: parser.take(&mut body, "lastSyncTimestamp"),
        device: parser.take(&mut body, "deviceId"),
        encrypted: parser.take(&mut body, "isE2EEEncrypted").unwrap_or_default(),
        ..Push::default()
    };

    let is_long = |it: &String| utf16_len(it) > MAX_DEVICE_CHARS;
    if push.device.as_ref().is_some_and(is_long) {
        parser.errors.push(invalid("deviceId".to_owned(), "is too long"));
    } else if push.device.as_ref().is_some_and(|it| it.contains('\0')) {
        parser.errors.push(invalid("deviceId".to_owned(), "must not contain NUL characters"));
    }

    for channel in Channel::ALL {
        if let Some(value) = body.shift_remove(channel.name()) {
            parser.parse_channel(channel, value, &mut push);
        }
    }

    if parser.errors.is_empty() {
        return Ok(push);
    }

    parser.errors.truncate(MAX_ERRORS);

    Err(ApiError::invalid(parser.errors))
}

/// Parser of a push, which goes on after an error to report them all.
#[derive(Default)]
struct PushParser {
    errors: Vec<FieldError>,
}

impl PushParser {
    /// Removes a key from the body and parses its value; `None` if it is missing or invalid.
    fn take<T: for<'de> Deserialize<'de>>(
        &mut self,
        body: &mut Map<String, Value>,
        key: &str,
    ) -> Option<T> {
        let value = body.shift_remove(key)?;
        self.ok_or_record(
            T::deserialize(value).map_err(|err| invalid(key.to_owned(), &format_json_error(&err))),
        )
    }

    fn parse_channel(&mut self, channel: Channel, value: Value, push: &mut Push) {
        let name = channel.name();

        match value {
            Value::Object(settings) if channel.is_single() => {
                self.parse_item(channel, Value::Object(settings), name, push);
            }
            Value::Array(items) if !channel.is_single() => {
                self.parse_items(channel, items, name, push);
            }
            Value::Object(changes) if channel.rules().item_id == ItemId::Own => {
                self.parse_changes(channel, changes, push);
            }
            _ => self.errors.push(invalid(name.to_owned(), "has the wrong type")),
        }
    }

    fn parse_changes(&mut self, channel: Channel, changes: Map<String, Value>, push: &mut Push) {
        let name = channel.name();
        let mut lists = normalize_keys(changes, &CHANGE_KEYS);
        // Old clients send `added`, new ones `upserted`.
        for key in ["upserted", "added"] {
            let path = format!("{name}.{key}");
            let items = lists.shift_remove(key);
            if let Some(items) = items.and_then(|it| self.expect_list(it, &path)) {
                self.parse_items(channel, items, &path, push);
            }
        }

        let path = format!("{name}.deleted");
        let ids = lists.shift_remove("deleted").and_then(|it| self.expect_list(it, &path));
        for (index, value) in ids.unwrap_or_default().into_iter().enumerate() {
            let result = Uuid::deserialize(value)
                .map_err(|err| invalid(format!("{path}[{index}]"), &format_json_error(&err)));
            let id = self.ok_or_record(result);
            push.deletes.extend(id.map(|id| ItemKey { channel, id }));
        }
    }

    fn parse_items(&mut self, channel: Channel, items: Vec<Value>, path: &str, push: &mut Push) {
        for (index, item) in items.into_iter().enumerate() {
            self.parse_item(channel, item, &format!("{path}[{index}]"), push);
        }
    }

    fn parse_item(&mut self, channel: Channel, item: Value, path: &str, push: &mut Push) {
        let fields = self.ok_or_record(item_reading::parse(channel, item, path));
        push.items.extend(fields.map(|fields| ReceivedItem { channel, fields }));
    }

    fn expect_list(&mut self, value: Value, path: &str) -> Option<Vec<Value>> {
        let list = match value {
            Value::Array(items) => Ok(items),
            _ => Err(invalid(path.to_owned(), "must be a list")),
        };
        self.ok_or_record(list)
    }

    /// Records an error, if it is one.
    fn ok_or_record<T>(&mut self, result: Result<T, FieldError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_push(body: Value) -> Push {
        match body {
            Value::Object(body) => parse(body).unwrap(),
            _ => Push::default(),
        }
    }

    fn refusal_message(body: Value) -> String {
        match body {
            Value::Object(body) => parse(body).unwrap_err().to_string(),
            _ => String::new(),
        }
    }

    #[test]
    fn requests_of_all_generations_are_equivalent() {
        let id = "0190f5a0-0000-7000-8000-000000000001";
        let current = parse_push(json!({
            "clientTimestamp": "2026-01-02T03:04:05Z", "lastSyncTimestamp": "0001-01-01T00:00:00",
            "isE2EEEncrypted": false, "deviceId": "d",
            "todos": { "upserted": [{ "id": id, "title": "x" }], "deleted": [id] },
            "sessions": { "added": [{ "id": id }], "deleted": [] },
        }));
        let older = parse_push(json!({
            "ClientTimestamp": "2026-01-02T03:04:05", "LastSyncTimestamp": "0001-01-01T00:00:00",
            "IsE2EEEncrypted": false, "DeviceId": "d", "Settings": null, "Templates": null,
            "Todos": { "Upserted": [{ "Id": id, "Title": "x", "Notes": null }], "Deleted": [id] },
            "Sessions": { "Added": [{ "Id": id }], "Deleted": null },
        }));

        assert_eq!(older, current);
        assert_eq!(current.items.len(), 2);
        assert_eq!(current.deletes.len(), 1);
        assert_eq!(current.seen_up_to, Some(Timestamp::from_micros(i64::MIN)));
    }

    #[test]
    fn the_example_is_parsed_completely() {
        let examples: Value = serde_json::from_str(include_str!("../examples/sync.json")).unwrap();

        let push = parse_push(examples["POST /api/sync/push"]["request"].clone());

        assert_eq!(push.items.len(), 6);
        assert_eq!(push.deletes.len(), 1);
        assert!(push.sent_at.is_some() && push.seen_up_to.is_some() && push.device.is_some());
    }

    #[test]
    fn a_bare_list_contains_changes() {
        let push = parse_push(json!({
            "templates": [{ "name": "x" }], "pluginPreferences": [{ "isEnabled": true }],
            "settings": { "theme": 1 }, "sessions": [{}],
        }));

        let channels: Vec<_> = push.items.iter().map(|it| it.channel).collect();
        let expected =
            [Channel::Settings, Channel::Templates, Channel::Sessions, Channel::PluginPreferences];
        assert_eq!(channels, expected);
    }

    #[test]
    fn an_empty_request_is_an_empty_push() {
        assert_eq!(parse_push(json!({})), Push::default());
        assert_eq!(
            parse_push(json!({ "unknown": 5, "todos": {}, "memories": null })),
            Push::default()
        );
    }

    #[test]
    fn malformed_values_are_reported_with_their_path() {
        for (body, field) in [
            (json!({ "todos": 5 }), "todos"),
            (json!({ "todos": { "upserted": {} } }), "todos.upserted"),
            (json!({ "todos": { "deleted": ["x"] } }), "todos.deleted[0]"),
            (json!({ "todos": { "upserted": [{}, { "title": 7 }] } }), "todos.upserted[1].title"),
            (json!({ "settings": [] }), "settings"),
            (json!({ "settings": { "theme": "dark" } }), "settings.theme"),
            (json!({ "clientTimestamp": "soon" }), "clientTimestamp"),
            (json!({ "isE2EEEncrypted": "yes" }), "isE2EEEncrypted"),
            (json!({ "deviceId": "x".repeat(MAX_DEVICE_CHARS + 1) }), "deviceId"),
            (json!({ "deviceId": "a\0" }), "deviceId"),
        ] {
            let message = refusal_message(body);

            assert!(message.contains(&format!("`{field}`")), "{field}: {message}");
        }
    }
}
