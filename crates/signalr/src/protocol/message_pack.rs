//! MessagePack encoding: one array per message, behind its length in groups of
//! seven bits.
//!
//! The array begins with the number of the type:
//! `[1, headers, id, target, arguments, streams]` is an invocation. `payload.rs`
//! reads and writes the values within.

use rmp::encode::{self, ByteBuf};
use serde_json::Value;

use super::payload::{
    Written, length, read_array_length, read_map, read_string, read_value, write_array, write_value,
};
use crate::error::ProtocolError;
use crate::message::{HubMessage, InvocationResult, kind};

/// Kinds of results of a completion.
mod result_kind {
    pub(super) const ERROR: u64 = 1;
    pub(super) const VOID: u64 = 2;
    pub(super) const VALUE: u64 = 3;
}

/// Maximum length of the number in front of a message.
const MAX_PREFIX_BYTES: usize = 5;

/// Splits off the first message, and returns it with its length in the input.
pub(super) fn split(
    input: &[u8],
    max_bytes: usize,
) -> Result<Option<(&[u8], usize)>, ProtocolError> {
    let Some((prefix_length, length)) = read_prefix(input)? else { return Ok(None) };
    if length > max_bytes {
        return Err(ProtocolError::MessageTooLarge);
    }
    let end = prefix_length + length;
    Ok(input.get(prefix_length..end).map(|body| (body, end)))
}

/// Reads a number in groups of seven bits, the lowest first, and returns its
/// own length with it.
fn read_prefix(input: &[u8]) -> Result<Option<(usize, usize)>, ProtocolError> {
    let mut number = 0_u64;
    for (position, byte) in input.iter().take(MAX_PREFIX_BYTES).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            return Ok(Some((position + 1, number)));
        }
    }
    if input.len() < MAX_PREFIX_BYTES { Ok(None) } else { Err(ProtocolError::Encoding) }
}

fn write_prefix(out: &mut Vec<u8>, number: usize) {
    let mut remaining = number;
    while let Ok(low) = u8::try_from(remaining & 0x7f) {
        remaining >>= 7;
        if remaining == 0 {
            out.push(low);
            break;
        }
        out.push(low | 0x80);
    }
}

/// Decodes a message. Returns `None` for an unknown type. Elements behind the
/// known ones are ignored, as later versions may have more.
pub(super) fn decode(body: &[u8], max_depth: usize) -> Result<Option<HubMessage>, ProtocolError> {
    let mut input = body;
    let count = read_array_length(&mut input)?;
    let kind = read_number(&mut input)?;
    let mut fields = Fields { input, count, max_depth };
    let message = match kind {
        kind::INVOCATION => {
            fields.begin("Invocation", 5)?;
            HubMessage::Invocation {
                invocation_id: fields.optional_string()?,
                target: fields.string()?,
                arguments: fields.values()?,
                stream_ids: fields.stream_ids()?,
            }
        }
        kind::STREAM_INVOCATION => {
            fields.begin("StreamInvocation", 5)?;
            HubMessage::StreamInvocation {
                invocation_id: fields.string()?,
                target: fields.string()?,
                arguments: fields.values()?,
                stream_ids: fields.stream_ids()?,
            }
        }
        kind::STREAM_ITEM => {
            fields.begin("StreamItem", 4)?;
            HubMessage::StreamItem { invocation_id: fields.string()?, item: fields.value()? }
        }
        kind::COMPLETION => {
            fields.begin("Completion", 4)?;
            HubMessage::Completion { invocation_id: fields.string()?, result: fields.result()? }
        }
        kind::CANCEL_INVOCATION => {
            fields.begin("CancelInvocation", 3)?;
            HubMessage::CancelInvocation { invocation_id: fields.string()? }
        }
        kind::PING => HubMessage::Ping,
        kind::CLOSE => {
            fields.require("Close", 2)?;
            HubMessage::Close {
                error: fields.optional_string()?,
                allow_reconnect: fields.count > 2 && fields.value()? == Value::Bool(true),
            }
        }
        kind::ACK => {
            fields.require("Ack", 2)?;
            HubMessage::Ack { sequence_id: read_number(&mut fields.input)? }
        }
        kind::SEQUENCE => {
            fields.require("Sequence", 2)?;
            HubMessage::Sequence { sequence_id: read_number(&mut fields.input)? }
        }
        _ => return Ok(None),
    };

    Ok(Some(message))
}

/// Elements of a message behind its type.
struct Fields<'a> {
    input: &'a [u8],
    /// Number of elements with the type.
    count: u32,
    max_depth: usize,
}

impl Fields<'_> {
    /// Checks the number of elements, and skips the headers.
    fn begin(&mut self, name: &'static str, count: u32) -> Result<(), ProtocolError> {
        self.require(name, count)?;
        read_map(&mut self.input, 1).map(drop)
    }

    fn require(&self, name: &'static str, count: u32) -> Result<(), ProtocolError> {
        if self.count < count { Err(ProtocolError::Field(name)) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, ProtocolError> {
        read_string(&mut self.input)
    }

    fn optional_string(&mut self) -> Result<Option<String>, ProtocolError> {
        let mut after_nil = self.input;
        if rmp::decode::read_nil(&mut after_nil).is_ok() {
            self.input = after_nil;
            return Ok(None);
        }
        self.string().map(Some)
    }

    fn value(&mut self) -> Result<Value, ProtocolError> {
        read_value(&mut self.input, self.max_depth)
    }

    fn values(&mut self) -> Result<Vec<Value>, ProtocolError> {
        let count = read_array_length(&mut self.input)?;
        (0..count).map(|_| self.value()).collect()
    }

    /// Reads the last field of invocations, which older clients leave out.
    fn stream_ids(&mut self) -> Result<Vec<String>, ProtocolError> {
        if self.count < 6 {
            return Ok(Vec::new());
        }
        let count = read_array_length(&mut self.input)?;
        (0..count).map(|_| self.string()).collect()
    }

    fn result(&mut self) -> Result<InvocationResult, ProtocolError> {
        let kind = read_number(&mut self.input)?;
        if kind != result_kind::VOID {
            self.require("Completion", 5)?;
        }
        match kind {
            result_kind::ERROR => self.string().map(Err),
            result_kind::VOID => Ok(Ok(None)),
            result_kind::VALUE => self.value().map(|it| Ok(Some(it))),
            _ => Err(ProtocolError::Field("Completion")),
        }
    }
}

fn read_number(input: &mut &[u8]) -> Result<u64, ProtocolError> {
    rmp::decode::read_int(input).map_err(|_type| ProtocolError::Encoding)
}

/// Encodes a message with its length.
pub(super) fn encode(message: &HubMessage) -> Vec<u8> {
    let mut body = ByteBuf::new();
    let Ok(()) = write_message(&mut body, message);
    let mut frame = Vec::with_capacity(body.as_slice().len() + MAX_PREFIX_BYTES);
    write_prefix(&mut frame, body.as_slice().len());
    frame.extend_from_slice(body.as_slice());
    frame
}

fn write_message(out: &mut ByteBuf, message: &HubMessage) -> Written {
    match message {
        HubMessage::Invocation { invocation_id, target, arguments, stream_ids } => {
            write_start(out, 6, kind::INVOCATION)?;
            write_optional_string(out, invocation_id.as_deref())?;
            write_call(out, target, arguments, stream_ids)
        }
        HubMessage::StreamInvocation { invocation_id, target, arguments, stream_ids } => {
            write_start(out, 6, kind::STREAM_INVOCATION)?;
            encode::write_str(out, invocation_id)?;
            write_call(out, target, arguments, stream_ids)
        }
        HubMessage::StreamItem { invocation_id, item } => {
            write_start(out, 4, kind::STREAM_ITEM)?;
            encode::write_str(out, invocation_id)?;
            write_value(out, item)
        }
        HubMessage::Completion { invocation_id, result } => {
            write_start(out, if *result == Ok(None) { 4 } else { 5 }, kind::COMPLETION)?;
            encode::write_str(out, invocation_id)?;
            write_result(out, result)
        }
        HubMessage::CancelInvocation { invocation_id } => {
            write_start(out, 3, kind::CANCEL_INVOCATION)?;
            encode::write_str(out, invocation_id)
        }
        HubMessage::Ping => write_numbers(out, &[kind::PING]),
        HubMessage::Close { error, allow_reconnect } => {
            encode::write_array_len(out, 3)?;
            encode::write_uint(out, kind::CLOSE)?;
            write_optional_string(out, error.as_deref())?;
            write_value(out, &Value::Bool(*allow_reconnect))
        }
        HubMessage::Ack { sequence_id } => write_numbers(out, &[kind::ACK, *sequence_id]),
        HubMessage::Sequence { sequence_id } => write_numbers(out, &[kind::SEQUENCE, *sequence_id]),
    }
}

/// Writes type and headers of a message of this many elements.
fn write_start(out: &mut ByteBuf, count: u32, kind: u64) -> Written {
    encode::write_array_len(out, count)?;
    encode::write_uint(out, kind)?;
    encode::write_map_len(out, 0).map(drop)
}

fn write_numbers(out: &mut ByteBuf, numbers: &[u64]) -> Written {
    encode::write_array_len(out, length(numbers.len()))?;
    numbers.iter().try_for_each(|it| encode::write_uint(out, *it).map(drop))
}

fn write_optional_string(out: &mut ByteBuf, text: Option<&str>) -> Written {
    match text {
        Some(text) => encode::write_str(out, text),
        None => write_value(out, &Value::Null),
    }
}

fn write_call(
    out: &mut ByteBuf,
    target: &str,
    arguments: &[Value],
    stream_ids: &[String],
) -> Written {
    encode::write_str(out, target)?;
    write_array(out, arguments)?;
    encode::write_array_len(out, length(stream_ids.len()))?;
    stream_ids.iter().try_for_each(|it| encode::write_str(out, it))
}

fn write_result(out: &mut ByteBuf, result: &InvocationResult) -> Written {
    match result {
        Err(error) => {
            encode::write_uint(out, result_kind::ERROR)?;
            encode::write_str(out, error)
        }
        Ok(None) => encode::write_uint(out, result_kind::VOID).map(drop),
        Ok(Some(value)) => {
            encode::write_uint(out, result_kind::VALUE)?;
            write_value(out, value)
        }
    }
}
