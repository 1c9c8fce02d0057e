//! Document of a chat: its checks, and its stored form.
//!
//! Begin with `NewChat::parse`. Only the top level is parsed (`fields.rs`);
//! values stay slices of the document and are checked in place (`messages.rs`,
//! `blob.rs`, `time_text.rs`), since a document may have megabytes. Values of
//! unknown keys are stored unchanged, so that newer clients lose nothing; of an
//! encrypted chat, all but `PLAINTEXT_FIELDS` are dropped.

use std::borrow::Cow;

use pia_json::{NullStripper, quoted};
use pia_kernel::Timestamp;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::fields::{Fields, too_deep};
use super::messages::{self, MessageError, has_lone_surrogate};
use super::time_text::TimeText;
use super::{ChatId, blob};

/// Size of a wrapped key: a nonce, a key of 32 bytes and a tag.
const WRAPPED_DEK_BYTES: usize = 60;
/// Minimum size of a payload: a nonce and a tag.
const MIN_PAYLOAD_BYTES: usize = 28;
/// Plaintext fields of an encrypted chat.
const PLAINTEXT_FIELDS: [&str; 7] = [
    "id",
    "schemaVersion",
    "updatedAt",
    "lastAccessedAt",
    "windowMode",
    "encryptedPayload",
    "wrappedDek",
];
/// Bytes that are appended to a document: its times, and little else.
const ENVELOPE_BYTES: usize = 256;

/// Chat of a device, in the form to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChat {
    /// Id of the chat.
    pub id: ChatId,
    /// Creation time, as reported by the document.
    pub created_at: Timestamp,
    /// Time of the last change, as reported by the document.
    pub updated_at: Timestamp,
    /// Time of the last access, as reported by the document.
    pub accessed_at: Option<Timestamp>,
    /// True if only its owner's devices can read it.
    pub encrypted: bool,
    /// Document as it is stored: known keys in their documented spelling, values
    /// unchanged, without the creation time, which the first version determines.
    pub text: Vec<u8>,
}

/// Violation in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatViolation {
    /// Path of the value: `messages[3].role`; empty for the document as a
    /// whole.
    pub field: Cow<'static, str>,
    /// Code, for programs: `required`.
    pub code: &'static str,
    /// Description, for users.
    pub message: String,
}

/// Errors that prevent a document from being parsed as a chat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseChatError {
    /// Text is not JSON from here on.
    #[error("invalid JSON at line {line}, column {column}")]
    Malformed {
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
    },
    /// Chat violates a rule.
    #[error("{}: {}", .0.field, .0.message)]
    Invalid(ChatViolation),
}

impl NewChat {
    /// Parses a document in place. Values of unknown keys are only checked to be
    /// well-formed.
    pub fn parse(document: &[u8]) -> Result<Self, ParseChatError> {
        let fields = top_level(document)?;
        let parsed = ParsedFields::from(&fields).map_err(ParseChatError::Invalid)?;
        let mut text = Vec::with_capacity(document.len() + ENVELOPE_BYTES);
        parsed.write(&fields, &mut text);

        Ok(Self {
            id: parsed.id,
            created_at: parsed.created_at,
            updated_at: parsed.updated.at,
            accessed_at: parsed.accessed.as_ref().map(|it| it.at),
            encrypted: parsed.encrypted,
            text,
        })
    }

    /// Returns the id of a document that may be invalid for another reason.
    pub(super) fn id_of(document: &[u8]) -> Option<ChatId> {
        guid(&top_level(document).ok()?, "id").ok()?.map(ChatId)
    }

    /// Returns the chat if it has this id.
    pub fn require_id(self, id: Option<ChatId>) -> Result<Self, ParseChatError> {
        if Some(self.id) == id {
            return Ok(self);
        }
        let message = "`id` is not the id in the path.";
        Err(ParseChatError::Invalid(violation("id", "mismatch", message)))
    }

    pub(super) fn append_created_at(self, created_at: Timestamp) -> Vec<u8> {
        append_created_at(self.text, created_at)
    }
}

/// Adds the creation time to a document, which `ParsedFields::write` ended with `}`.
pub(super) fn append_created_at(mut text: Vec<u8>, created_at: Timestamp) -> Vec<u8> {
    text.pop();
    text.extend_from_slice(format!(",\"createdAt\":\"{created_at}\"}}").as_bytes());
    text
}

/// Parses the top level. The checks before the parser decide between a text that is no
/// JSON and JSON that is no chat.
fn top_level(document: &[u8]) -> Result<Fields<'_>, ParseChatError> {
    if document.trim_ascii_start().first() != Some(&b'{') {
        return match serde_json::from_slice::<&RawValue>(document) {
            Ok(_) => Err(ParseChatError::Invalid(wrong("", "The chat must be a JSON object."))),
            Err(err) => Err(malformed(&err)),
        };
    }
    if too_deep(document) {
        let message = "The chat is nested too deeply.";
        return Err(ParseChatError::Invalid(violation("", "too_deep", message)));
    }

    serde_json::from_slice(document).map_err(|err| {
        if err.is_data() {
            return ParseChatError::Invalid(violation(
                "",
                "too_many",
                "The chat has too many keys.",
            ));
        }
        malformed(&err)
    })
}

fn malformed(err: &serde_json::Error) -> ParseChatError {
    ParseChatError::Malformed { line: err.line(), column: err.column() }
}

/// Parts of a document that are checked.
struct ParsedFields<'a> {
    id: ChatId,
    created_at: Timestamp,
    updated: TimeText<'a>,
    accessed: Option<TimeText<'a>>,
    encrypted: bool,
}

impl<'a> ParsedFields<'a> {
    fn from(fields: &Fields<'a>) -> Result<Self, ChatViolation> {
        let id = guid(fields, "id")?.ok_or_else(|| required("id"))?;
        let updated = time(fields, "updatedAt")?.ok_or_else(|| required("updatedAt"))?;
        let accessed = time(fields, "lastAccessedAt")?;
        let created_at = time(fields, "createdAt")?.map_or(updated.at, |it| it.at);
        let encrypted = is_encrypted(fields)?;
        // The other fields of an encrypted chat are dropped unchecked.
        let text_keys: &[&'static str] =
            if encrypted { &["windowMode"] } else { &["title", "windowMode", "workingDirectory"] };
        for &key in text_keys {
            text(fields, key)?;
        }

        if !encrypted {
            guid(fields, "providerId")?;
            check_messages(fields)?;
            if fields.iter().any(|(_, value)| has_lone_surrogate(value.get())) {
                return Err(wrong("", "One of the chat's texts contains an incomplete character."));
            }
        }

        let version = fields.get("schemaVersion").map(RawValue::get);
        if version.is_some_and(|it| it.parse::<i32>().is_err()) {
            return Err(wrong("schemaVersion", "`schemaVersion` must be a whole number."));
        }

        Ok(Self { id: ChatId(id), created_at, updated, accessed, encrypted })
    }

    /// Writes the stored form, without the creation time.
    fn write(&self, fields: &Fields<'a>, text: &mut Vec<u8>) {
        let mut add = |key: &str, value: &str| {
            text.push(if text.is_empty() { b'{' } else { b',' });
            text.extend_from_slice(quoted(key).as_bytes());
            text.push(b':');
            text.extend_from_slice(value.as_bytes());
        };

        add("id", &quoted(&self.id.to_string()));

        if fields.get("schemaVersion").is_none() {
            add("schemaVersion", "1");
        }

        let nulls = NullStripper::default();
        let written_separately = ["id", "createdAt", "updatedAt", "lastAccessedAt"];
        add("updatedAt", &quoted(&self.updated.text));
        // Clients read this time before they delete a chat on their own.
        add("lastAccessedAt", &quoted(&self.accessed.as_ref().unwrap_or(&self.updated).text));

        for (key, value) in fields.iter().filter(|(key, _)| !written_separately.contains(key)) {
            if self.encrypted && !PLAINTEXT_FIELDS.contains(&key) {
                continue;
            }
            // Unknown values are returned unchanged.
            if key == "messages" {
                add(key, &nulls.strip_text(value.get()));
            } else {
                add(key, value.get());
            }
        }

        if self.encrypted || fields.get("messages").is_none() {
            add("messages", "[]");
        }

        text.push(b'}');
    }
}

/// Returns whether the chat is encrypted, in which case both encrypted fields
/// must be present.
fn is_encrypted(fields: &Fields<'_>) -> Result<bool, ChatViolation> {
    let blobs = [
        ("encryptedPayload", MIN_PAYLOAD_BYTES..=usize::MAX, "of at least 28 bytes"),
        ("wrappedDek", WRAPPED_DEK_BYTES..=WRAPPED_DEK_BYTES, "of 60 bytes"),
    ];

    if blobs.iter().all(|(key, ..)| fields.get(key).is_none()) {
        return Ok(false);
    }

    for (key, lengths, length_rule) in blobs {
        let encoded = text(fields, key)?.ok_or_else(|| required(key))?;
        if !blob::decoded_length(&encoded).is_some_and(|it| lengths.contains(&it)) {
            return Err(wrong(key, &format!("`{key}` must be standard base64 {length_rule}.")));
        }
    }

    Ok(true)
}

fn check_messages(fields: &Fields<'_>) -> Result<(), ChatViolation> {
    let Some(messages) = fields.get("messages") else { return Ok(()) };
    if has_lone_surrogate(messages.get()) {
        return Err(wrong(
            "messages",
            "`messages` have half of a character in one of their texts.",
        ));
    }

    messages::check(messages.get()).map_err(|err| match err {
        MessageError::NoObjects => wrong("messages", "`messages` must be a list of objects."),
        MessageError::Wrong(index, key) => {
            let field = format!("messages[{index}].{key}");
            let message = format!("`{field}` has a value that clients can't read.");
            ChatViolation { field: field.into(), code: "invalid", message }
        }
    })
}

fn text<'a>(fields: &Fields<'a>, key: &'static str) -> Result<Option<Cow<'a, str>>, ChatViolation> {
    let Some(value) = fields.get(key) else { return Ok(None) };
    messages::text(value.get())
        .map(Some)
        .ok_or_else(|| wrong(key, &format!("`{key}` must be a text.")))
}

fn guid(fields: &Fields<'_>, key: &'static str) -> Result<Option<Uuid>, ChatViolation> {
    let Some(text) = text(fields, key)? else { return Ok(None) };
    messages::guid(&text)
        .map(Some)
        .ok_or_else(|| wrong(key, &format!("`{key}` must be a GUID with hyphens.")))
}

fn time<'a>(fields: &Fields<'a>, key: &'static str) -> Result<Option<TimeText<'a>>, ChatViolation> {
    let Some(text) = text(fields, key)? else { return Ok(None) };
    TimeText::parse(text)
        .map(Some)
        .ok_or_else(|| wrong(key, &format!("`{key}` must be an ISO 8601 time.")))
}

fn required(field: &'static str) -> ChatViolation {
    violation(field, "required", &format!("`{field}` is required."))
}

fn wrong(field: &'static str, message: &str) -> ChatViolation {
    violation(field, "invalid", message)
}

fn violation(field: &'static str, code: &'static str, message: &str) -> ChatViolation {
    ChatViolation { field: field.into(), code, message: message.to_owned() }
}

#[cfg(test)]
mod tests;
