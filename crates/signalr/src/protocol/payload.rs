//! Values of arguments, items and results, which are JSON in either encoding.
//!
//! MessagePack has more than JSON. Binary data becomes a base64 string, a
//! timestamp a string of RFC 3339; numbers that are not finite become null, as
//! JavaScript writes them. Other extensions and keys that are not strings are
//! refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat};
use rmp::Marker;
use rmp::decode::{read_ext_meta, read_f32, read_f64, read_int, read_marker};
use rmp::encode::{self, ByteBuf, ValueWriteError};
use serde_json::{Map, Value};

use crate::error::ProtocolError;

/// Result of writing to memory, which cannot fail.
pub(super) type Written = Result<(), ValueWriteError<std::convert::Infallible>>;

/// Type of the timestamp extension.
const TIMESTAMP: i8 = -1;

/// Checks the depth of values that are nested 127 levels at most.
pub(super) fn check_depth<'a>(
    mut values: impl Iterator<Item = &'a Value>,
    max_depth: usize,
) -> Result<(), ProtocolError> {
    let Some(inner_depth) = max_depth.checked_sub(1) else {
        return if values.next().is_none() { Ok(()) } else { Err(ProtocolError::TooDeep) };
    };
    values.try_for_each(|value| match value {
        Value::Array(items) => check_depth(items.iter(), inner_depth),
        Value::Object(members) => check_depth(members.values(), inner_depth),
        _ => Ok(()),
    })
}

/// Reads a value of at most this depth.
pub(super) fn read_value(input: &mut &[u8], max_depth: usize) -> Result<Value, ProtocolError> {
    let inner_depth = max_depth.checked_sub(1).ok_or(ProtocolError::TooDeep)?;
    let start = *input;
    let marker = read_marker(input).map_err(|_end| ProtocolError::Encoding)?;
    let value = match marker {
        Marker::Null => Value::Null,
        Marker::True => Value::Bool(true),
        Marker::False => Value::Bool(false),
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
            *input = start;
            let length = read_array_length(input)?;
            let items = (0..length).map(|_| read_value(input, inner_depth));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => {
            *input = start;
            Value::Object(read_map(input, inner_depth)?)
        }
        Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
            *input = start;
            Value::String(read_string(input)?)
        }
        Marker::F32 | Marker::F64 => {
            *input = start;
            Value::from(read_float(input, marker)?)
        }
        Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
            *input = start;
            let length =
                rmp::decode::read_bin_len(input).map_err(|_end| ProtocolError::Encoding)?;
            Value::String(STANDARD.encode(take(input, length)?))
        }
        Marker::Ext8
        | Marker::Ext16
        | Marker::Ext32
        | Marker::FixExt1
        | Marker::FixExt2
        | Marker::FixExt4
        | Marker::FixExt8
        | Marker::FixExt16 => {
            *input = start;
            Value::String(read_timestamp(input)?)
        }
        Marker::Reserved => return Err(ProtocolError::Encoding),
        _ => {
            *input = start;
            read_integer(input)?
        }
    };

    Ok(value)
}

/// Reads the length of an array, which is not verified.
pub(super) fn read_array_length(input: &mut &[u8]) -> Result<u32, ProtocolError> {
    rmp::decode::read_array_len(input).map_err(|_type| ProtocolError::Encoding)
}

/// Reads a map with string keys.
pub(super) fn read_map(
    input: &mut &[u8],
    max_depth: usize,
) -> Result<Map<String, Value>, ProtocolError> {
    let length = rmp::decode::read_map_len(input).map_err(|_type| ProtocolError::Encoding)?;
    (0..length).map(|_| Ok((read_string(input)?, read_value(input, max_depth)?))).collect()
}

/// Reads a string, and advances the input beyond it.
pub(super) fn read_string(input: &mut &[u8]) -> Result<String, ProtocolError> {
    let length = rmp::decode::read_str_len(input).map_err(|_type| ProtocolError::Encoding)?;
    std::str::from_utf8(take(input, length)?)
        .map(str::to_owned)
        .map_err(|_invalid| ProtocolError::Encoding)
}

fn read_float(input: &mut &[u8], marker: Marker) -> Result<f64, ProtocolError> {
    let float = match marker {
        Marker::F32 => read_f32(input).map(f64::from),
        _ => read_f64(input),
    };
    float.map_err(|_end| ProtocolError::Encoding)
}

fn read_integer(input: &mut &[u8]) -> Result<Value, ProtocolError> {
    let start = *input;
    if let Ok(unsigned) = read_int::<u64, _>(input) {
        return Ok(Value::from(unsigned));
    }
    *input = start;
    read_int::<i64, _>(input).map(Value::from).map_err(|_end| ProtocolError::Encoding)
}

fn read_timestamp(input: &mut &[u8]) -> Result<String, ProtocolError> {
    let meta = read_ext_meta(input).map_err(|_end| ProtocolError::Encoding)?;
    let data = take(input, meta.size)?;
    if meta.typeid != TIMESTAMP {
        return Err(ProtocolError::Extension);
    }

    let (seconds, nanoseconds) = split_timestamp(data).ok_or(ProtocolError::Extension)?;
    let time = DateTime::from_timestamp(seconds, nanoseconds).ok_or(ProtocolError::Extension)?;

    Ok(time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// Splits a timestamp of 4, 8 or 12 bytes into seconds and nanoseconds.
fn split_timestamp(data: &[u8]) -> Option<(i64, u32)> {
    match data.len() {
        4 => Some((u32::from_be_bytes(data.try_into().ok()?).into(), 0)),
        8 => {
            // 30 bits of nanoseconds, then 34 bits of seconds.
            let packed = u64::from_be_bytes(data.try_into().ok()?);
            let nanoseconds = u32::try_from(packed >> 34).unwrap_or(u32::MAX);
            Some(((packed & 0x3_ffff_ffff).cast_signed(), nanoseconds))
        }
        12 => {
            let (nanoseconds, seconds) = data.split_first_chunk()?;
            let seconds = i64::from_be_bytes(seconds.try_into().ok()?);
            Some((seconds, u32::from_be_bytes(*nanoseconds)))
        }
        _ => None,
    }
}

/// Splits off bytes of a length that the input states itself.
fn take<'a>(input: &mut &'a [u8], length: u32) -> Result<&'a [u8], ProtocolError> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (data, remaining) = input.split_at_checked(length).ok_or(ProtocolError::Encoding)?;
    *input = remaining;
    Ok(data)
}

/// Writes a JSON value as MessagePack.
pub(super) fn write_value(out: &mut ByteBuf, value: &Value) -> Written {
    match value {
        Value::Null => encode::write_nil(out).map_err(ValueWriteError::InvalidMarkerWrite),
        Value::Bool(bool) => {
            encode::write_bool(out, *bool).map_err(ValueWriteError::InvalidMarkerWrite)
        }
        Value::Number(number) => {
            if let Some(unsigned) = number.as_u64() {
                encode::write_uint(out, unsigned).map(drop)
            } else if let Some(signed) = number.as_i64() {
                encode::write_sint(out, signed).map(drop)
            } else {
                encode::write_f64(out, number.as_f64().unwrap_or_default())
            }
        }
        Value::String(text) => encode::write_str(out, text),
        Value::Array(items) => write_array(out, items),
        Value::Object(members) => {
            encode::write_map_len(out, length(members.len()))?;
            members.iter().try_for_each(|(key, value)| {
                encode::write_str(out, key)?;
                write_value(out, value)
            })
        }
    }
}

/// Writes the values of an array.
pub(super) fn write_array(out: &mut ByteBuf, items: &[Value]) -> Written {
    encode::write_array_len(out, length(items.len()))?;
    items.iter().try_for_each(|item| write_value(out, item))
}

/// Converts a length, which in memory is never above the format's maximum.
pub(super) fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
