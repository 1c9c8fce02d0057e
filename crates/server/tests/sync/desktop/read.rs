//! Parsers as strict as the client's: input that would stop it fails the test.

use std::collections::BTreeMap;

use pia_server_testkit::client::TestResponse;
use serde_json::{Map, Value};

use super::fields::{Channel, Field, Kind};
use super::keys::Blobs;
use super::moment::Moment;

/// A page of a pull.
pub(crate) struct Page {
    pub(crate) timestamp: Moment,
    pub(crate) rows: Vec<(Channel, Received)>,
    pub(crate) deleted: Vec<(Channel, String)>,
    pub(crate) more: bool,
    pub(crate) catalog: Option<i64>,
    pub(crate) has_personas: bool,
    pub(crate) has_policy: bool,
    pub(crate) etag: Option<String>,
}

/// A row of a pull, not decrypted yet.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) id: String,
    pub(crate) created: Moment,
    pub(crate) updated: Moment,
    /// Plaintext fields.
    pub(crate) open: BTreeMap<String, Value>,
    pub(crate) sealed: Option<Blobs>,
}

/// Returns the answer's object, which must be without nulls.
pub(crate) fn object<'a>(answer: &'a TestResponse, place: &str) -> &'a Map<String, Value> {
    let object =
        answer.body.as_object().unwrap_or_else(|| panic!("{place}: no object: {}", answer.text()));
    for (name, value) in object {
        no_nulls(value, &format!("{place}.{name}"));
    }
    object
}

pub(crate) fn no_nulls(value: &Value, place: &str) {
    match value {
        Value::Null => panic!("{place}: a null is never sent"),
        Value::Array(all) => all.iter().for_each(|it| no_nulls(it, place)),
        Value::Object(all) => {
            all.iter().for_each(|(name, it)| no_nulls(it, &format!("{place}.{name}")));
        }
        _ => {}
    }
}

pub(crate) fn moment(value: Option<&Value>, place: &str) -> Moment {
    let text = value.and_then(Value::as_str);
    let parsed = text.and_then(Moment::parse);
    parsed.unwrap_or_else(|| panic!("{place}: a time ends in Z: {value:?}"))
}

pub(crate) fn guid(value: Option<&Value>, place: &str) -> String {
    let text = value.and_then(Value::as_str).unwrap_or_default();
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    let is_lower = text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f' | b'-'));
    let is_guid = groups == [8, 4, 4, 4, 12] && is_lower;
    assert!(is_guid, "{place}: an id is hyphenated and in lower case: {value:?}");
    text.to_owned()
}

pub(crate) fn text(value: Option<&Value>, place: &str) -> String {
    let text = value.and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{place}: a required text: {value:?}")).to_owned()
}

fn list<'a>(value: Option<&'a Value>, place: &str) -> &'a [Value] {
    value.map_or(&[], |it| {
        it.as_array().unwrap_or_else(|| panic!("{place}: a list is an array or absent: {it}"))
    })
}

/// Parses the answer to a pull.
pub(crate) fn page(answer: &TestResponse) -> Page {
    let body = object(answer, "a pull");
    let mut page = Page {
        timestamp: moment(body.get("serverTimestamp"), "serverTimestamp of a pull"),
        rows: Vec::new(),
        deleted: Vec::new(),
        more: body.get("hasMore").is_some_and(|it| it.as_bool().expect("hasMore is a boolean")),
        catalog: body
            .get("catalogVersion")
            .map(|it| it.as_i64().expect("catalogVersion is an integer")),
        has_personas: body.contains_key("managedPersonas"),
        has_policy: body.contains_key("clientPolicy"),
        etag: etag(answer),
    };
    if let Some(settings) = body.get("settings") {
        page.rows.push((Channel::Settings, received(Channel::Settings, settings)));
    }
    for channel in Channel::ROWS {
        let Some(changes) = body.get(channel.name()) else { continue };
        let place = format!("{} of a pull", channel.name());
        let changes = changes.as_object().unwrap_or_else(|| panic!("{place}: {changes}"));
        let rows = list(changes.get(channel.list()), &place);
        page.rows.extend(rows.iter().map(|it| (channel, received(channel, it))));
        let deleted_ids = list(changes.get("deleted"), &place).iter();
        page.deleted.extend(deleted_ids.map(|it| (channel, guid(Some(it), &place))));
    }
    if let Some(snapshot) = body.get("managedPersonas") {
        assert_personas(snapshot);
    }
    if let Some(snapshot) = body.get("clientPolicy") {
        text(snapshot.get("document"), "document of the client policy");
    }

    for name in ["plugins", "researchSessions"] {
        let changes = body.get(name).map(|it| it.as_object().expect("changes are an object"));
        for plugin in list(changes.and_then(|it| it.get("upserted")), name) {
            guid(plugin.get("id"), name);
            moment(plugin.get("updatedAt"), name);
        }
    }
    page
}

fn assert_personas(snapshot: &Value) {
    let place = "the snapshot of managed personas";
    for persona in snapshot["personas"].as_array().expect(place) {
        guid(persona.get("id"), place);
        assert_eq!(persona["isManaged"], true, "{place}");
    }
    for id in list(snapshot.get("recentlyRemoved"), place) {
        guid(Some(id), place);
    }
}

pub(crate) fn etag(answer: &TestResponse) -> Option<String> {
    let tag = answer.header("etag")?;
    let quoted = tag.strip_prefix("W/").unwrap_or(tag);
    let is_quoted = quoted.len() > 2 && quoted.starts_with('"') && quoted.ends_with('"');
    assert!(is_quoted, "an ETag is quoted: {tag}");
    Some(tag.to_owned())
}

pub(crate) fn received(channel: Channel, row: &Value) -> Received {
    let place = format!("a row of {}", channel.name());
    let fields = row.as_object().unwrap_or_else(|| panic!("{place}: {row}"));
    let updated_at = fields.get(channel.changed()).or_else(|| fields.get("createdAt"));
    let updated = moment(updated_at, &place);
    let (id, created) = if channel == Channel::Settings {
        (super::fields::SETTINGS.to_owned(), Moment::FIRST)
    } else {
        (guid(fields.get("id"), &place), moment(fields.get("createdAt"), &place))
    };

    let sealed = blobs(row, &place);
    let mut open = BTreeMap::new();
    for field in channel.fields() {
        let Some(value) = fields.get(field.name) else { continue };
        let value = read(field, value, &place);
        if field.sealed && sealed.is_some() {
            let blank = field.blank.map(|it| serde_json::from_str::<Value>(it).expect("JSON"));
            assert!(blank.is_some(), "{} of an encrypted row is in the clear: {row}", field.name);
            assert_eq!(blank, Some(value), "{} of an encrypted row is in the clear", field.name);
        } else {
            open.insert(field.name.to_owned(), value);
        }
    }

    Received { id, created, updated, open, sealed }
}

pub(crate) fn blobs(row: &Value, place: &str) -> Option<Blobs> {
    let payload = row.get("encryptedPayload")?;
    let payload = text(Some(payload), place);
    Some(Blobs { payload, dek: text(row.get("wrappedDek"), place) })
}

/// Parses a value like the client, with normalised times.
pub(crate) fn read(field: &Field, value: &Value, place: &str) -> Value {
    let place = format!("{place}.{}", field.name);
    let has_kind = match field.kind {
        Kind::Text => value.is_string(),
        Kind::Int => value.is_i64(),
        Kind::Bool => value.is_boolean(),
        Kind::Guid => !guid(Some(value), &place).is_empty(),
        Kind::Time => return Value::String(moment(Some(value), &place).rounded().to_string()),
        Kind::Clock => value.as_str().is_some_and(|it| it.len() >= 8 && it.contains(':')),
        Kind::Texts => value.as_array().is_some_and(|it| it.iter().all(Value::is_string)),
        Kind::Guids => value.as_object().is_some_and(|it| {
            it.iter().all(|(number, id)| {
                number.parse::<i32>().is_ok() && !guid(Some(id), &place).is_empty()
            })
        }),
    };
    assert!(has_kind, "{place}: not a {:?}: {value}", field.kind);
    value.clone()
}
