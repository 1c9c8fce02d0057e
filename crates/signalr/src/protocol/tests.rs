//! Tests of both encodings: the published examples, frames that are cut, random
//! messages and hostile input.

mod limits;
mod random_messages;

use serde_json::{Value, json};

use super::*;
use crate::message::InvocationResult;

const BOTH: [HubProtocol; 2] = [HubProtocol::Json, HubProtocol::MessagePack];

fn decode(protocol: HubProtocol, body: &[u8]) -> Result<Option<HubMessage>, ProtocolError> {
    protocol.decode(body, MessageLimits::default().max_depth)
}

/// Decodes frames until there are no more messages, or an error.
fn decode_frames<'a>(
    protocol: HubProtocol,
    limits: MessageLimits,
    frames: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<HubMessage>, Option<ProtocolError>) {
    let mut decoder = MessageDecoder::new(protocol, limits);
    let mut messages = Vec::new();
    for frame in frames {
        decoder.push(frame);
        loop {
            match decoder.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
    }
    (messages, None)
}

fn invocation(id: Option<&str>, target: &str, arguments: &Value, stream: &[&str]) -> HubMessage {
    HubMessage::Invocation {
        invocation_id: id.map(str::to_owned),
        target: target.to_owned(),
        arguments: arguments.as_array().unwrap().clone(),
        stream_ids: stream.iter().map(|it| (*it).to_owned()).collect(),
    }
}

fn stream_invocation(id: &str, target: &str, arguments: &Value) -> HubMessage {
    HubMessage::StreamInvocation {
        invocation_id: id.to_owned(),
        target: target.to_owned(),
        arguments: arguments.as_array().unwrap().clone(),
        stream_ids: Vec::new(),
    }
}

fn completion(id: &str, result: InvocationResult) -> HubMessage {
    HubMessage::Completion { invocation_id: id.to_owned(), result }
}

fn close(error: Option<&str>, allow_reconnect: bool) -> HubMessage {
    HubMessage::Close { error: error.map(str::to_owned), allow_reconnect }
}

#[test]
fn published_json_is_decoded() {
    let id = || "123".to_owned();
    let arguments = json!([42, "Test Message"]);
    let close_reason = Some("Connection closed because of an error!");
    for (body, message) in [
        (
            r#"{"type":1,"invocationId":"123","target":"Send","arguments":[42,"Test Message"]}"#,
            invocation(Some("123"), "Send", &arguments, &[]),
        ),
        (
            r#"{"type":1,"target":"Send","arguments":[42,"Test Message"]}"#,
            invocation(None, "Send", &arguments, &[]),
        ),
        (
            r#"{"type":1,"invocationId":"123","target":"Send","arguments":[42],"streamIds":["1"]}"#,
            invocation(Some("123"), "Send", &json!([42]), &["1"]),
        ),
        (
            r#"{"type":1,"headers":{"Foo":"Bar"},"invocationId":"123","target":"Send","arguments":[42,"Test Message"]}"#,
            invocation(Some("123"), "Send", &arguments, &[]),
        ),
        (
            r#"{"type":4,"invocationId":"123","target":"Send","arguments":[42,"Test Message"]}"#,
            stream_invocation("123", "Send", &arguments),
        ),
        (
            r#"{"type":2,"invocationId":"123","item":42}"#,
            HubMessage::StreamItem { invocation_id: id(), item: json!(42) },
        ),
        (r#"{"type":3,"invocationId":"123"}"#, completion("123", Ok(None))),
        (r#"{"type":3,"invocationId":"123","result":42}"#, completion("123", Ok(Some(json!(42))))),
        (
            r#"{"type":3,"invocationId":"123","error":"It didn't work!"}"#,
            completion("123", Err("It didn't work!".to_owned())),
        ),
        (
            r#"{"type":5,"invocationId":"123"}"#,
            HubMessage::CancelInvocation { invocation_id: id() },
        ),
        (r#"{"type":6}"#, HubMessage::Ping),
        (r#"{"type":7}"#, close(None, false)),
        (
            r#"{"type":7,"error":"Connection closed because of an error!"}"#,
            close(close_reason, false),
        ),
        (
            r#"{"type":7,"error":"Connection closed because of an error!","allowReconnect":true}"#,
            close(close_reason, true),
        ),
        (r#"{"type":8,"sequenceId":1394}"#, HubMessage::Ack { sequence_id: 1394 }),
        (r#"{"type":9,"sequenceId":1234}"#, HubMessage::Sequence { sequence_id: 1234 }),
    ] {
        assert_eq!(decode(HubProtocol::Json, body.as_bytes()), Ok(Some(message.clone())), "{body}");
        if !body.contains("headers") {
            let frame = HubProtocol::Json.encode(&message);
            assert_eq!(frame, WireFrame::Text(format!("{body}\u{1e}")));
        }
    }
}

#[test]
fn published_message_pack_is_decoded() {
    let id = || "xyz".to_owned();
    let call = invocation(Some("xyz"), "method", &json!([42]), &[]);
    let examples: [(&[u8], HubMessage); 12] = [
        (b"\x96\x01\x80\xa3xyz\xa6method\x91\x2a\x90", call.clone()),
        (b"\x96\x01\x80\xc0\xa6method\x91\x2a\x90", invocation(None, "method", &json!([42]), &[])),
        (b"\x96\x01\x82\xa1x\xa1y\xa1z\xa1z\xa3xyz\xa6method\x91\x2a\x90", call),
        (
            b"\x96\x04\x80\xa3xyz\xa6method\x91\x2a\x90",
            stream_invocation("xyz", "method", &json!([42])),
        ),
        (
            b"\x94\x02\x80\xa3xyz\x2a",
            HubMessage::StreamItem { invocation_id: id(), item: json!(42) },
        ),
        (b"\x95\x03\x80\xa3xyz\x01\xa5Error", completion("xyz", Err("Error".to_owned()))),
        (b"\x94\x03\x80\xa3xyz\x02", completion("xyz", Ok(None))),
        (b"\x95\x03\x80\xa3xyz\x03\x2a", completion("xyz", Ok(Some(json!(42))))),
        (b"\x93\x05\x80\xa3xyz", HubMessage::CancelInvocation { invocation_id: id() }),
        (b"\x91\x06", HubMessage::Ping),
        (b"\x92\x08\xcc\x24", HubMessage::Ack { sequence_id: 36 }),
        (b"\x92\x09\xcc\x13", HubMessage::Sequence { sequence_id: 19 }),
    ];
    for (body, message) in examples {
        assert_eq!(decode(HubProtocol::MessagePack, body), Ok(Some(message.clone())), "{body:x?}");
        if !body.starts_with(b"\x96\x01\x82") && !body.contains(&0xcc) {
            let length = u8::try_from(body.len()).unwrap();
            let frame = HubProtocol::MessagePack.encode(&message);
            assert_eq!(frame.as_bytes(), [&[length], body].concat());
        }
    }
    for (body, message) in [
        (&b"\x92\x07\xa3xyz"[..], close(Some("xyz"), false)),
        (b"\x93\x07\xa3xyz\xc3", close(Some("xyz"), true)),
        (b"\x92\x07\xc0", close(None, false)),
    ] {
        assert_eq!(decode(HubProtocol::MessagePack, body), Ok(Some(message)), "{body:x?}");
    }
}

#[test]
fn lengths_have_seven_bits_in_a_byte() {
    let item = "x".repeat(5240);
    let message = HubMessage::StreamItem { invocation_id: "1".to_owned(), item: json!(item) };

    let frame = HubProtocol::MessagePack.encode(&message);

    assert_eq!(frame.as_bytes()[..2], [0x80, 0x29]);
    let frames = [frame.as_bytes()];
    let decoded = decode_frames(HubProtocol::MessagePack, MessageLimits::default(), frames);
    assert_eq!(decoded, (vec![message], None));
}

#[test]
fn unknown_types_and_later_fields_are_ignored() {
    for (protocol, body) in [
        (HubProtocol::Json, &br#"{"type":99,"target":1,"error":{}}"#[..]),
        (HubProtocol::Json, br#"{"type":10}"#),
        (HubProtocol::MessagePack, b"\x92\x63\xc1"),
        (HubProtocol::MessagePack, b"\x91\x00"),
    ] {
        assert_eq!(decode(protocol, body), Ok(None), "{body:x?}");
    }
    for (protocol, body) in [
        (HubProtocol::Json, &br#"{"type":6,"later":[{}]}"#[..]),
        (HubProtocol::MessagePack, b"\x92\x06\xa1x"),
    ] {
        assert_eq!(decode(protocol, body), Ok(Some(HubMessage::Ping)), "{body:x?}");
    }
}

#[test]
fn an_invocation_of_an_older_client_has_no_streams() {
    let decoded = decode(HubProtocol::MessagePack, b"\x95\x01\x80\xa1x\xa1m\x90");

    assert_eq!(decoded, Ok(Some(invocation(Some("x"), "m", &json!([]), &[]))));
}

#[test]
fn a_null_result_is_a_result_and_not_one_beside_an_error() {
    for (body, result) in [
        (r#"{"type":3,"invocationId":"1","result":null}"#, Ok(Some(Value::Null))),
        (r#"{"type":3,"invocationId":"1","result":null,"error":"e"}"#, Err("e".to_owned())),
        (r#"{"type":3,"invocationId":"1","result":1,"error":null}"#, Ok(Some(json!(1)))),
    ] {
        let decoded = decode(HubProtocol::Json, body.as_bytes());
        assert_eq!(decoded, Ok(Some(completion("1", result))), "{body}");
    }
}

#[test]
fn message_pack_values_become_json() {
    for (value, expected) in [
        (&b"\xc4\x03\x00\x01\x02"[..], json!("AAEC")),
        (b"\xd6\xff\x00\x00\x00\x00", json!("1970-01-01T00:00:00Z")),
        // 500 ms after 2^32 s.
        (b"\xd7\xff\x77\x35\x94\x01\x00\x00\x00\x00", json!("2106-02-07T06:28:16.500Z")),
        (
            b"\xc7\x0c\xff\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff",
            json!("1969-12-31T23:59:59.000000001Z"),
        ),
        (b"\xca\x3f\x00\x00\x00", json!(0.5)),
        (b"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", Value::Null),
        (b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", json!(u64::MAX)),
        (b"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", json!(i64::MIN)),
        (b"\xe0", json!(-32)),
        (b"\x82\xa1b\x90\xa1a\xc3", json!({"b": [], "a": true})),
    ] {
        let mut input = value;
        assert_eq!(payload::read_value(&mut input, 8), Ok(expected), "{value:x?}");
        assert!(input.is_empty());
    }
}

#[test]
fn values_that_json_cannot_express_are_refused() {
    for (value, error) in [
        (&b"\xd4\x05\x00"[..], ProtocolError::Extension),
        (b"\xd4\xff\x00", ProtocolError::Extension),
        // A billion nanoseconds and more.
        (b"\xd7\xff\xff\xff\xff\xfc\x00\x00\x00\x00", ProtocolError::Extension),
        (b"\xc7\x0c\xff\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", ProtocolError::Extension),
        (b"\x81\x01\x01", ProtocolError::Encoding),
        (b"\xa1\xff", ProtocolError::Encoding),
        (b"\xc1", ProtocolError::Encoding),
    ] {
        assert_eq!(payload::read_value(&mut &value[..], 8), Err(error), "{value:x?}");
    }
}

#[test]
fn malformed_messages_are_errors() {
    for body in [
        &b""[..],
        b"null",
        b"[]",
        b"{}",
        b"{\"type\":\"1\"}",
        b"{\"type\":1",
        b"{\"type\":1,\"target\":2,\"arguments\":[]}",
        b"{\"type\":6,\"type\":6}",
        b"\xff",
    ] {
        let decoded = decode(HubProtocol::Json, body);
        assert_eq!(decoded, Err(ProtocolError::Encoding), "{body:x?}");
    }
    for (body, name) in [
        (r#"{"type":1,"arguments":[]}"#, "Invocation"),
        (r#"{"type":1,"target":"a"}"#, "Invocation"),
        (r#"{"type":4,"target":"a","arguments":[]}"#, "StreamInvocation"),
        (r#"{"type":2,"invocationId":"1"}"#, "StreamItem"),
        (r#"{"type":3,"result":1}"#, "Completion"),
        (r#"{"type":3,"invocationId":"123","result":42,"error":"It didn't work!"}"#, "Completion"),
        (r#"{"type":5}"#, "CancelInvocation"),
        (r#"{"type":8}"#, "Ack"),
        (r#"{"type":9}"#, "Sequence"),
    ] {
        let decoded = decode(HubProtocol::Json, body.as_bytes());
        assert_eq!(decoded, Err(ProtocolError::Field(name)), "{body}");
    }
    for (body, error) in [
        (&b""[..], ProtocolError::Encoding),
        (b"\x90", ProtocolError::Encoding),
        (b"\x06", ProtocolError::Encoding),
        (b"\x91\xa1", ProtocolError::Encoding),
        (b"\x94\x01\x80\xa1x\xa1m", ProtocolError::Field("Invocation")),
        (b"\x94\x03\x80\xa1x\x03", ProtocolError::Field("Completion")),
        (b"\x95\x03\x80\xa1x\x04\xc0", ProtocolError::Field("Completion")),
        (b"\x93\x05\xc0\xa1x", ProtocolError::Encoding),
        (b"\x93\x05\x80\xc0", ProtocolError::Encoding),
        (b"\x91\x07", ProtocolError::Field("Close")),
        (b"\x92\x08\xff", ProtocolError::Encoding),
    ] {
        assert_eq!(decode(HubProtocol::MessagePack, body), Err(error), "{body:x?}");
    }
}

#[test]
fn frames_may_be_cut_anywhere() {
    let messages = vec![
        invocation(Some("1"), "Grüße", &json!([{"a": [1, -2, 0.5]}, "\u{1e}"]), &["2"]),
        HubMessage::Ping,
        completion("3", Ok(Some(json!("x".repeat(200))))),
    ];
    for protocol in BOTH {
        let bytes: Vec<u8> =
            messages.iter().flat_map(|it| protocol.encode(it).as_bytes().to_vec()).collect();
        for cut in 0..=bytes.len() {
            let (start, end) = bytes.split_at(cut);
            let decoded = decode_frames(protocol, MessageLimits::default(), [start, end]);
            assert_eq!(decoded, (messages.clone(), None), "{protocol:?} {cut}");
        }
        let decoded = decode_frames(protocol, MessageLimits::default(), bytes.chunks(1));
        assert_eq!(decoded, (messages.clone(), None), "{protocol:?}");
    }
}
