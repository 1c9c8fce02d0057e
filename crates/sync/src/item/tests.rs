//! Tests of items as they are stored.

use serde_json::json;

use super::*;
use crate::blobs::tests::{PAYLOAD, WRAPPED};

const NOON: Timestamp = Timestamp::UNIX_EPOCH;

fn received(channel: Channel, fields: &Value) -> ReceivedItem {
    ReceivedItem { channel, fields: fields.as_object().unwrap().clone() }
}

fn item(channel: Channel, fields: &Value) -> Result<Item, ItemRejection> {
    let received_item = received(channel, fields);
    let id = received_item.id().unwrap_or_default();
    received_item.into_item(id, false, NOON)
}

fn at(text: &str) -> Timestamp {
    serde_json::from_value(text.into()).unwrap()
}

#[test]
fn the_time_of_a_change_is_read_from_the_item() {
    let early = "2026-01-01T00:00:00Z";
    let late = "2026-02-01T00:00:00Z";
    let changed_at = |channel, fields: &Value| item(channel, fields).unwrap().changed_at;

    let template = json!({ "createdAt": early, "modifiedAt": late, "updatedAt": early });
    assert_eq!(changed_at(Channel::Templates, &template), at(late));
    assert_eq!(changed_at(Channel::Templates, &json!({ "createdAt": early })), at(early));
    assert_eq!(
        changed_at(Channel::Memories, &json!({ "createdAt": early, "updatedAt": late })),
        at(late)
    );
    assert_eq!(changed_at(Channel::Sessions, &json!({ "createdAt": early })), at(early));
    assert_eq!(changed_at(Channel::Settings, &json!({ "modifiedAt": late })), at(late));
    assert_eq!(changed_at(Channel::Todos, &json!({ "title": "x" })), NOON);
}

#[test]
fn an_encrypted_item_keeps_only_required_plaintext_fields() {
    let fields = json!({
        "id": "0190f5a0-0000-7000-8000-000000000001",
        "title": "secret", "notes": "secret", "priority": 2, "columnId": "secret",
        "sortOrder": 7, "unknown": { "secret": true },
        "encryptedPayload": PAYLOAD, "wrappedDek": WRAPPED,
    });

    let encrypted_item = item(Channel::Todos, &fields).unwrap();

    assert!(encrypted_item.encrypted);
    let body: Value = serde_json::from_str(&encrypted_item.body).unwrap();
    assert_eq!(
        body,
        json!({
            "id": "0190f5a0-0000-7000-8000-000000000001",
            "sortOrder": 7, "encryptedPayload": PAYLOAD, "wrappedDek": WRAPPED,
        })
    );
}

#[test]
fn an_encrypted_research_session_exposes_only_its_times() {
    let fields = json!({
        "id": "0190f5a0-0000-7000-8000-000000000001", "completedAt": "2026-01-01T00:00:00Z",
        "status": "secret", "stepCount": 3, "scheduledJobId": "secret",
        "encryptedPayload": PAYLOAD, "wrappedDek": WRAPPED,
    });

    let stored_item = item(Channel::ResearchSessions, &fields).unwrap();

    let body: Map<String, Value> = serde_json::from_str(&stored_item.body).unwrap();
    let keys: Vec<&str> = body.keys().map(String::as_str).collect();
    assert_eq!(keys, ["id", "completedAt", "encryptedPayload", "wrappedDek"]);
}

#[test]
fn unreadable_values_are_rejected_unless_they_are_dropped() {
    let mut job = json!({ "timeOfDay": "soon" });
    assert_eq!(item(Channel::ScheduledJobs, &job), Err(ItemRejection::Unreadable));
    job["encryptedPayload"] = json!(PAYLOAD);
    job["wrappedDek"] = json!(WRAPPED);
    assert!(item(Channel::ScheduledJobs, &job).unwrap().encrypted);
}

#[test]
fn an_encrypted_push_accepts_plain_preferences_only() {
    let todo = received(Channel::Todos, &json!({ "title": "plain" }));
    let preference = received(Channel::PluginPreferences, &json!({ "isEnabled": true }));

    assert_eq!(todo.into_item(Uuid::nil(), true, NOON), Err(ItemRejection::MissingBlobs));
    assert!(preference.into_item(Uuid::nil(), true, NOON).is_ok());
}

#[test]
fn an_oversized_item_is_rejected() {
    let store = |length| item(Channel::Memories, &json!({ "data": "x".repeat(length) }));

    assert_eq!(store(MAX_ITEM_BYTES).unwrap_err(), ItemRejection::TooLarge);
    assert!(store(MAX_ITEM_BYTES - 100).is_ok());
}

#[test]
fn a_derived_id_is_unique_and_stable() {
    let ada = UserId::generate();
    let eve = UserId::generate();
    let note = received(Channel::Memories, &json!({ "label": "note" }));
    let other_note = received(Channel::Memories, &json!({ "label": "other" }));
    let todo = received(Channel::Todos, &json!({ "label": "note" }));

    let id = note.derived_id(ada);

    assert_eq!(note.derived_id(ada), id);
    assert_eq!(id.get_version_num(), 8);
    for another in [note.derived_id(eve), other_note.derived_id(ada), todo.derived_id(ada)] {
        assert_ne!(another, id);
    }
}

#[test]
fn settings_have_one_id_and_preferences_that_of_their_plugin() {
    let plugin = "10000000-0000-0000-0000-000000000001";

    assert_eq!(received(Channel::Settings, &json!({ "id": plugin })).id(), Some(Uuid::nil()));
    let preference = received(Channel::PluginPreferences, &json!({ "pluginId": plugin }));
    assert_eq!(preference.id(), plugin.parse().ok());
    assert_eq!(received(Channel::Todos, &json!({})).id(), None);
}
