//! JSON encoding of messages: one object each, with a record separator behind it.
//! A message is read into the fields of all types at once, since `type` may be
//! its last member.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::{RECORD_SEPARATOR, payload};
use crate::error::ProtocolError;
use crate::message::{HubMessage, kind};

/// Splits off the first message, and returns it with its length in the input.
/// A separator is searched for behind the bytes that are known to have none.
pub(super) fn split(
    input: &[u8],
    searched: usize,
    max_bytes: usize,
) -> Result<Option<(&[u8], usize)>, ProtocolError> {
    let unsearched = input.get(searched..).unwrap_or_default();
    let end = memchr::memchr(RECORD_SEPARATOR, unsearched).map(|it| searched + it);
    if end.unwrap_or(input.len()) > max_bytes {
        return Err(ProtocolError::MessageTooLarge);
    }
    Ok(end.and_then(|end| Some((input.get(..end)?, end + 1))))
}

/// Decodes a message. Returns `None` for an unknown type.
pub(super) fn decode(body: &[u8], max_depth: usize) -> Result<Option<HubMessage>, ProtocolError> {
    let Ok(message) = serde_json::from_slice::<Message>(body) else {
        // Fields of unknown types may have the names of known ones.
        return match serde_json::from_slice(body) {
            Ok(MessageType { kind: kind::INVOCATION..=kind::SEQUENCE }) | Err(_) => {
                Err(ProtocolError::Encoding)
            }
            Ok(MessageType { .. }) => Ok(None),
        };
    };

    let values = message.arguments.iter().flatten().chain(&message.item).chain(&message.result);
    payload::check_depth(values, max_depth)?;
    message.into_hub_message()
}

/// Encodes a message with its separator.
pub(super) fn encode(message: &HubMessage) -> String {
    // Writing values with string keys to memory cannot fail.
    let mut text = serde_json::to_string(&Encoded(message)).unwrap_or_default();
    text.push(char::from(RECORD_SEPARATOR));
    text
}

#[derive(serde::Deserialize)]
struct MessageType {
    #[serde(rename = "type")]
    kind: u64,
}

/// Message with the fields of all types.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(rename = "type")]
    kind: u64,
    invocation_id: Option<String>,
    target: Option<String>,
    arguments: Option<Vec<Value>>,
    stream_ids: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    item: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<String>,
    allow_reconnect: Option<bool>,
    sequence_id: Option<u64>,
}

/// Deserializes a field that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Message {
    fn into_hub_message(self) -> Result<Option<HubMessage>, ProtocolError> {
        let fields = match self.kind {
            kind::INVOCATION => self.into_invocation().ok_or("Invocation"),
            kind::STREAM_ITEM => self.into_stream_item().ok_or("StreamItem"),
            kind::COMPLETION => self.into_completion().ok_or("Completion"),
            kind::STREAM_INVOCATION => self.into_stream_invocation().ok_or("StreamInvocation"),
            kind::CANCEL_INVOCATION => self
                .invocation_id
                .map(|invocation_id| HubMessage::CancelInvocation { invocation_id })
                .ok_or("CancelInvocation"),
            kind::PING => Ok(HubMessage::Ping),
            kind::CLOSE => Ok(HubMessage::Close {
                error: self.error,
                allow_reconnect: self.allow_reconnect.unwrap_or_default(),
            }),
            kind::ACK => {
                self.sequence_id.map(|sequence_id| HubMessage::Ack { sequence_id }).ok_or("Ack")
            }
            kind::SEQUENCE => self
                .sequence_id
                .map(|sequence_id| HubMessage::Sequence { sequence_id })
                .ok_or("Sequence"),
            _ => return Ok(None),
        };

        fields.map(Some).map_err(ProtocolError::Field)
    }

    fn into_invocation(self) -> Option<HubMessage> {
        Some(HubMessage::Invocation {
            invocation_id: self.invocation_id,
            target: self.target?,
            arguments: self.arguments?,
            stream_ids: self.stream_ids.unwrap_or_default(),
        })
    }

    fn into_stream_invocation(self) -> Option<HubMessage> {
        Some(HubMessage::StreamInvocation {
            invocation_id: self.invocation_id?,
            target: self.target?,
            arguments: self.arguments?,
            stream_ids: self.stream_ids.unwrap_or_default(),
        })
    }

    fn into_stream_item(self) -> Option<HubMessage> {
        Some(HubMessage::StreamItem { invocation_id: self.invocation_id?, item: self.item? })
    }

    fn into_completion(self) -> Option<HubMessage> {
        let result = match (self.result, self.error) {
            // A null beside an error counts as no result.
            (None | Some(Value::Null), Some(error)) => Err(error),
            (Some(_), Some(_)) => return None,
            (result, None) => Ok(result),
        };
        Some(HubMessage::Completion { invocation_id: self.invocation_id?, result })
    }
}

/// Message in its serialized form.
struct Encoded<'a>(&'a HubMessage);

impl Serialize for Encoded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            HubMessage::Invocation { invocation_id, target, arguments, stream_ids } => {
                map.serialize_entry("type", &kind::INVOCATION)?;
                if let Some(id) = invocation_id {
                    map.serialize_entry("invocationId", id)?;
                }
                serialize_call(&mut map, target, arguments, stream_ids)?;
            }
            HubMessage::StreamInvocation { invocation_id, target, arguments, stream_ids } => {
                map.serialize_entry("type", &kind::STREAM_INVOCATION)?;
                map.serialize_entry("invocationId", invocation_id)?;
                serialize_call(&mut map, target, arguments, stream_ids)?;
            }
            HubMessage::StreamItem { invocation_id, item } => {
                map.serialize_entry("type", &kind::STREAM_ITEM)?;
                map.serialize_entry("invocationId", invocation_id)?;
                map.serialize_entry("item", item)?;
            }
            HubMessage::Completion { invocation_id, result } => {
                map.serialize_entry("type", &kind::COMPLETION)?;
                map.serialize_entry("invocationId", invocation_id)?;
                match result {
                    Ok(None) => {}
                    Ok(Some(result)) => map.serialize_entry("result", result)?,
                    Err(error) => map.serialize_entry("error", error)?,
                }
            }
            HubMessage::CancelInvocation { invocation_id } => {
                map.serialize_entry("type", &kind::CANCEL_INVOCATION)?;
                map.serialize_entry("invocationId", invocation_id)?;
            }
            HubMessage::Ping => map.serialize_entry("type", &kind::PING)?,
            HubMessage::Close { error, allow_reconnect } => {
                map.serialize_entry("type", &kind::CLOSE)?;
                if let Some(error) = error {
                    map.serialize_entry("error", error)?;
                }
                if *allow_reconnect {
                    map.serialize_entry("allowReconnect", allow_reconnect)?;
                }
            }
            HubMessage::Ack { sequence_id } => {
                map.serialize_entry("type", &kind::ACK)?;
                map.serialize_entry("sequenceId", sequence_id)?;
            }
            HubMessage::Sequence { sequence_id } => {
                map.serialize_entry("type", &kind::SEQUENCE)?;
                map.serialize_entry("sequenceId", sequence_id)?;
            }
        }

        map.end()
    }
}

/// Serializes the fields that both kinds of invocation have.
fn serialize_call<M: SerializeMap>(
    map: &mut M,
    target: &str,
    arguments: &[Value],
    stream_ids: &[String],
) -> Result<(), M::Error> {
    map.serialize_entry("target", target)?;
    map.serialize_entry("arguments", arguments)?;
    if stream_ids.is_empty() { Ok(()) } else { map.serialize_entry("streamIds", stream_ids) }
}
