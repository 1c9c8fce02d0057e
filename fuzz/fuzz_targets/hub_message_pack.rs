//! Whatever a SignalR client sends in MessagePack, and however it is cut: the decoder
//! gives the same messages, and never panics. Messages survive an encoding.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run hub_message_pack -- -max_total_time=60`

#![no_main]

use libfuzzer_sys::fuzz_target;
use pia_signalr::{HubMessage, HubProtocol, MessageDecoder, MessageLimits, ProtocolError};

const PROTOCOL: HubProtocol = HubProtocol::MessagePack;

fuzz_target!(|input: (u8, &[u8])| {
    let (step, body) = input;
    let limits = MessageLimits { max_bytes: 512, max_per_frame: usize::MAX, max_depth: 64 };

    let (messages, error) = decode([body], limits);

    assert_eq!(decode(body.chunks(usize::from(step) + 1), limits), (messages.clone(), error));
    let limits = MessageLimits::default();
    for message in messages {
        let encoded = PROTOCOL.encode(&message);
        let decoded = decode([encoded.as_bytes()], limits);
        assert_eq!(decoded, (vec![message], None));
    }
});

fn decode<'a>(
    frames: impl IntoIterator<Item = &'a [u8]>,
    limits: MessageLimits,
) -> (Vec<HubMessage>, Option<ProtocolError>) {
    let mut decoder = MessageDecoder::new(PROTOCOL, limits);
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
