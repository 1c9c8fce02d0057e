//! Tests of the limits of messages.

use super::*;

#[test]
fn lengths_that_a_client_invents_reserve_no_memory() {
    for value in [
        &b"\xdd\xff\xff\xff\xff\xc0"[..],
        b"\xdf\xff\xff\xff\xff\xa1a\xc0",
        b"\xdb\xff\xff\xff\xffabc",
        b"\xc6\xff\xff\xff\xffabc",
        b"\xc9\xff\xff\xff\xff\xffabc",
    ] {
        let read = payload::read_value(&mut &value[..], 8);
        assert_eq!(read, Err(ProtocolError::Encoding), "{value:x?}");
    }
}

#[test]
fn deep_values_are_refused() {
    let nested = |depth: usize| (1..depth).fold(json!([]), |inner, _| json!([inner]));
    for (protocol, depth, fits) in
        BOTH.into_iter().flat_map(|it| [(it, 64, true), (it, 65, false), (it, 100, false)])
    {
        let message = HubMessage::StreamItem { invocation_id: "1".to_owned(), item: nested(depth) };
        let frame = protocol.encode(&message);
        let (messages, error) =
            decode_frames(protocol, MessageLimits::default(), [frame.as_bytes()]);
        assert_eq!(messages.len() == 1, fits, "{protocol:?} {depth}");
        assert_eq!(error, (!fits).then_some(ProtocolError::TooDeep), "{protocol:?} {depth}");
    }
    let hostile = [&b"{\"type\":2,\"item\":"[..], &b"[".repeat(100_000)].concat();
    assert_eq!(decode(HubProtocol::Json, &hostile), Err(ProtocolError::Encoding));
    let hostile = [&b"\x94\x02\x80\xa1x"[..], &b"\x91".repeat(100_000)].concat();
    assert_eq!(decode(HubProtocol::MessagePack, &hostile), Err(ProtocolError::TooDeep));
}

#[test]
fn long_messages_are_refused_before_they_have_arrived() {
    let limits = MessageLimits { max_bytes: 16, ..MessageLimits::default() };
    for (protocol, frame) in [
        (HubProtocol::Json, &[b'x'; 17][..]),
        (HubProtocol::Json, b"{\"type\":6       }\x1e"),
        (HubProtocol::MessagePack, b"\x11"),
        (HubProtocol::MessagePack, b"\xff\xff\xff\xff\x7f"),
    ] {
        let (_, error) = decode_frames(protocol, limits, [frame]);
        assert_eq!(error, Some(ProtocolError::MessageTooLarge), "{frame:x?}");
    }
    let (_, error) = decode_frames(HubProtocol::MessagePack, limits, [&[0xff; 5][..]]);
    assert_eq!(error, Some(ProtocolError::Encoding));
    let (messages, error) =
        decode_frames(HubProtocol::Json, limits, [&b"{\"type\":6      }\x1e"[..]]);
    assert_eq!(messages, [HubMessage::Ping]);
    assert_eq!(error, None);
}

#[test]
fn a_frame_has_a_limited_number_of_messages() {
    let limits = MessageLimits { max_per_frame: 2, ..MessageLimits::default() };
    for protocol in BOTH {
        let pings = protocol.encode(&HubMessage::Ping).as_bytes().repeat(3);
        let (messages, error) = decode_frames(protocol, limits, [&pings[..]]);
        assert_eq!(messages.len(), 2);
        assert_eq!(error, Some(ProtocolError::TooManyMessages));
        let (messages, error) = decode_frames(protocol, limits, pings.chunks(pings.len() / 3));
        assert_eq!(messages.len(), 3);
        assert_eq!(error, None);
    }
}

#[test]
fn a_decoder_keeps_no_memory_of_messages_that_were_read() {
    for protocol in BOTH {
        let long = invocation(None, "m", &json!(["x".repeat(200_000)]), &[]);
        let frame = protocol.encode(&long);
        let mut decoder = MessageDecoder::new(protocol, MessageLimits::default());
        decoder.push(frame.as_bytes());
        assert_eq!(decoder.next_message(), Ok(Some(long)));
        assert_eq!(decoder.next_message(), Ok(None));
        assert_eq!(decoder.buffer.capacity(), 0);
    }
}
