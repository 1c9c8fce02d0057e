//! Whatever a SignalR client sends, and whenever its transport is lost: the
//! connection keeps its limits, waits for a time in the future, and never panics.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run hub_connection -- -max_total_time=60`

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use pia_signalr::{ConnectionSettings, ExpectedReply, HubConnection, HubEvent, MessageLimits};

const MAX_BUFFERED_BYTES: usize = 4096;

const HANDSHAKES: [&[u8]; 3] = [
    b"{\"protocol\":\"json\",\"version\":2}\x1e",
    b"{\"protocol\":\"messagepack\",\"version\":2}\x1e",
    b"",
];

fuzz_target!(|input: (u8, Vec<(u8, &[u8])>)| {
    let (handshake, steps) = input;
    let mut now = Instant::now();
    let settings = ConnectionSettings {
        messages: MessageLimits { max_bytes: 512, ..MessageLimits::default() },
        max_open: 4,
        max_buffered_bytes: MAX_BUFFERED_BYTES,
        resume_timeout: Some(Duration::from_secs(30)),
        ..ConnectionSettings::default()
    };
    let mut connection = HubConnection::new(settings, now);
    let handshake = HANDSHAKES[usize::from(handshake) % HANDSHAKES.len()];
    connection.receive(now, handshake);
    for (step, frame) in steps {
        match step % 8 {
            0 => connection.detach(now),
            1 => {
                connection.resume(now).ok();
            }
            2 => {
                connection.invoke("question", vec![1.into()]).ok();
            }
            3 => {
                now += Duration::from_secs(step.into());
                connection.handle_timeout(now);
                assert!(connection.poll_timeout().is_none_or(|it| it > now));
            }
            4 => while connection.poll_transmit(now).is_some() {},
            _ => {
                for event in connection.receive(now, frame) {
                    respond(&mut connection, event);
                }
            }
        }
        assert!(connection.buffered_bytes() <= MAX_BUFFERED_BYTES);
    }
});

/// Answers as an application does; the connection may have ended.
fn respond(connection: &mut HubConnection, event: HubEvent) {
    let HubEvent::Invoked(call) = event else { return };
    match call.reply {
        ExpectedReply::None => connection.send("noted", call.arguments),
        ExpectedReply::Completion(id) => {
            connection.complete(&id, Ok(call.arguments.into_iter().next()))
        }
        ExpectedReply::Stream(id) => {
            call.arguments.into_iter().try_for_each(|it| connection.send_item(&id, it))
        }
    }
    .ok();
}
