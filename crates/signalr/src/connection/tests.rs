//! Tests of a connection, over JSON unless the encoding matters.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::error::ProtocolError;

mod invocations;
mod stateful;

const HANDSHAKE: &str = "{\"protocol\":\"json\",\"version\":1}\u{1e}";

/// Connection, and a clock that only a test advances.
struct Fixture {
    connection: HubConnection,
    now: Instant,
}

impl Fixture {
    /// Creates a connection that awaits its handshake.
    fn new(settings: ConnectionSettings) -> Self {
        let now = Instant::now();
        Self { connection: HubConnection::new(settings, now), now }
    }

    /// Creates a connection that has shaken hands.
    fn open(settings: ConnectionSettings) -> Self {
        let mut fixture = Self::new(settings);
        assert_eq!(fixture.receive_text(HANDSHAKE), [HubEvent::Connected]);
        assert_eq!(fixture.sent(), ["{}"]);
        fixture
    }

    fn receive_text(&mut self, text: &str) -> Vec<HubEvent> {
        self.connection.receive(self.now, text.as_bytes())
    }

    fn receive(&mut self, message: &Value) -> Vec<HubEvent> {
        self.receive_text(&format!("{message}\u{1e}"))
    }

    /// Returns what is to be sent, without separators.
    fn sent(&mut self) -> Vec<String> {
        let frames = std::iter::from_fn(|| self.connection.poll_transmit(self.now));
        frames
            .map(|frame| {
                let WireFrame::Text(text) = frame else { panic!("not text: {frame:?}") };
                text.strip_suffix('\u{1e}').expect("a separator").to_owned()
            })
            .collect()
    }

    fn advance(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.connection.handle_timeout(self.now);
    }
}

fn call(id: &str) -> Value {
    json!({"type": 1, "invocationId": id, "target": "m", "arguments": [id]})
}

fn stream(id: &str) -> Value {
    json!({"type": 4, "invocationId": id, "target": "m", "arguments": []})
}

#[test]
fn the_handshake_may_be_cut_and_may_be_followed_by_messages() {
    let input = format!("{HANDSHAKE}{}\u{1e}", call("1"));
    for cut in 0..input.len() {
        let mut fixture = Fixture::new(ConnectionSettings::default());
        let (start, end) = input.split_at(cut);
        let mut events = fixture.receive_text(start);
        events.extend(fixture.receive_text(end));

        assert_eq!(events.len(), 2, "{cut}");
        assert_eq!(events[0], HubEvent::Connected);
        assert_eq!(fixture.sent(), ["{}"]);
    }
}

#[test]
fn the_response_to_a_message_pack_handshake_is_binary() {
    let mut fixture = Fixture::new(ConnectionSettings::default());

    let events = fixture.receive_text("{\"protocol\":\"messagepack\",\"version\":1}\u{1e}\u{2}");

    assert_eq!(events, [HubEvent::Connected]);
    let response = fixture.connection.poll_transmit(fixture.now);
    assert_eq!(response, Some(WireFrame::Binary(b"{}\x1e".to_vec())));
    assert_eq!(fixture.connection.receive(fixture.now, b"\x91\x06"), []);
    assert_eq!(fixture.connection.close_reason(), None);
}

#[test]
fn a_refused_handshake_is_answered_with_its_error() {
    let mut fixture = Fixture::new(ConnectionSettings::default());

    assert_eq!(fixture.receive_text("{\"protocol\":\"xml\",\"version\":1}\u{1e}"), []);

    assert_eq!(fixture.sent(), [r#"{"error":"the protocol is not supported"}"#]);
    let reason = CloseReason::Protocol(ProtocolError::UnsupportedProtocol);
    assert_eq!(fixture.connection.close_reason(), Some(&reason));
}

#[test]
fn a_handshake_has_fifteen_seconds() {
    let mut fixture = Fixture::new(ConnectionSettings::default());
    fixture.advance(14);
    assert_eq!(fixture.receive_text("{"), []);
    assert_eq!(fixture.connection.close_reason(), None);

    fixture.advance(1);

    assert_eq!(fixture.connection.close_reason(), Some(&CloseReason::HandshakeTimeout));
    assert_eq!(fixture.sent(), [r#"{"error":"the handshake took too long"}"#]);
    assert_eq!(fixture.connection.poll_timeout(), None);
}

#[test]
fn violations_close_the_connection_after_the_events_before_them() {
    let settings = ConnectionSettings { max_open: 2, ..ConnectionSettings::default() };
    let with_upload = |id: &str, uploads: &Value| json!({"type": 1, "invocationId": id, "target": "m", "arguments": [], "streamIds": uploads});
    for (message, error) in [
        (call("1"), ProtocolError::DuplicateId),
        (stream("1"), ProtocolError::DuplicateId),
        (with_upload("2", &json!(["u", "u"])), ProtocolError::DuplicateId),
        (with_upload("2", &json!(["u", "v", "w"])), ProtocolError::TooManyInvocations),
        (call(&"i".repeat(129)), ProtocolError::IdTooLong),
        (with_upload("2", &json!(["u".repeat(129)])), ProtocolError::IdTooLong),
        (json!({"type": 5}), ProtocolError::Field("CancelInvocation")),
    ] {
        let mut fixture = Fixture::open(settings);

        let events = fixture.receive_text(&format!("{}\u{1e}{message}\u{1e}", call("1")));

        assert_eq!(events.len(), 1, "{message}");
        let close = json!({"type": 7, "error": error.to_string()}).to_string();
        assert_eq!(fixture.sent(), [close]);
        assert_eq!(fixture.connection.close_reason(), Some(&CloseReason::Protocol(error)));
        assert_eq!(fixture.receive(&call("9")), []);
        assert_eq!(fixture.connection.send("m", vec![]), Err(SendError::NotOpen));
    }
}

#[test]
fn a_ping_is_sent_only_if_nothing_else_was() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    fixture.advance(14);
    fixture.connection.send("m", vec![]).unwrap();
    assert_eq!(fixture.sent().len(), 1);
    fixture.receive(&json!({"type": 6}));
    fixture.advance(14);
    assert_eq!(fixture.sent(), Vec::<String>::new());

    fixture.advance(1);

    assert_eq!(fixture.sent(), [r#"{"type":6}"#]);
}

#[test]
fn pings_do_not_pile_up_behind_a_transport_that_is_stuck() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    for _ in 0..20 {
        fixture.advance(15);
        fixture.receive(&json!({"type": 6}));
    }

    assert_eq!(fixture.sent(), [r#"{"type":6}"#]);
}

#[test]
fn a_silent_client_is_disconnected_and_may_return() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    fixture.advance(29);
    fixture.receive(&json!({"type": 6}));
    fixture.advance(29);
    fixture.sent();
    assert_eq!(fixture.connection.close_reason(), None);

    fixture.advance(1);

    assert_eq!(fixture.connection.close_reason(), Some(&CloseReason::ClientTimeout));
    let close = r#"{"type":7,"error":"the client is silent","allowReconnect":true}"#;
    assert_eq!(fixture.sent(), [close]);
}

#[test]
fn a_client_that_does_not_read_is_disconnected_and_its_messages_are_discarded() {
    let settings = ConnectionSettings { max_buffered_bytes: 1000, ..Default::default() };
    let mut fixture = Fixture::open(settings);
    let big = || vec![json!("x".repeat(400))];
    fixture.connection.send("m", big()).unwrap();
    fixture.connection.send("m", big()).unwrap();
    assert!(fixture.connection.buffered_bytes() > 800);

    assert_eq!(fixture.connection.send("m", big()), Err(SendError::BufferFull));

    assert_eq!(fixture.connection.close_reason(), Some(&CloseReason::BufferFull));
    assert_eq!(fixture.connection.buffered_bytes(), 0);
    assert_eq!(fixture.sent().len(), 1);
}

#[test]
fn messages_that_were_sent_free_the_buffer() {
    let settings = ConnectionSettings { max_buffered_bytes: 1000, ..Default::default() };
    let mut fixture = Fixture::open(settings);
    for _ in 0..10 {
        fixture.connection.send("m", vec![json!("x".repeat(800))]).unwrap();
        assert_eq!(fixture.sent().len(), 1);
        assert_eq!(fixture.connection.buffered_bytes(), 0);
    }
}

#[test]
fn closing_lets_messages_go_first() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    fixture.connection.send("m", vec![]).unwrap();

    fixture.connection.close(Some("restart".to_owned()), Reconnect::Allowed);
    fixture.connection.close(None, Reconnect::Denied);

    let close = r#"{"type":7,"error":"restart","allowReconnect":true}"#;
    assert_eq!(fixture.sent(), [r#"{"type":1,"target":"m","arguments":[]}"#, close]);
    assert_eq!(fixture.connection.close_reason(), Some(&CloseReason::Server));
}

#[test]
fn a_close_of_the_client_ends_everything() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    fixture.connection.send("m", vec![]).unwrap();

    let input = format!("{}\u{1e}{}\u{1e}", json!({"type": 7, "error": "bye"}), call("1"));
    assert_eq!(fixture.receive_text(&input), []);

    let reason = CloseReason::Client { error: Some("bye".to_owned()) };
    assert_eq!(fixture.connection.close_reason(), Some(&reason));
    assert_eq!(fixture.sent(), Vec::<String>::new());
}

#[test]
fn a_connection_without_stateful_reconnect_ends_with_its_transport() {
    let mut fixture = Fixture::open(ConnectionSettings::default());
    assert!(!fixture.connection.is_resumable());
    assert_eq!(fixture.connection.resume(fixture.now), Err(SendError::NotOpen));

    fixture.connection.detach(fixture.now);

    assert_eq!(fixture.connection.close_reason(), Some(&CloseReason::TransportLost));
}

proptest! {
    #[test]
    fn timeouts_are_never_in_the_past_once_they_are_handled(
        waits in prop::collection::vec(0_u64..40, 1..20),
        frames in prop::collection::vec(any::<bool>(), 20),
        resume_timeout in prop::option::of(Just(Duration::from_secs(30))),
    ) {
        let mut fixture = Fixture::new(ConnectionSettings { resume_timeout, ..Default::default() });
        fixture.receive_text("{\"protocol\":\"json\",\"version\":2}\u{1e}");
        for (wait, receives) in waits.into_iter().zip(frames) {
            if receives {
                fixture.receive(&json!({"type": 1, "target": "m", "arguments": []}));
                fixture.connection.poll_transmit(fixture.now);
            }
            fixture.advance(wait);
            prop_assert!(fixture.connection.poll_timeout().is_none_or(|it| it > fixture.now));
        }
    }

    #[test]
    fn random_frames_never_panic(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..10),
    ) {
        for handshake in [HANDSHAKE, "{\"protocol\":\"messagepack\",\"version\":2}\u{1e}", ""] {
            let mut fixture = Fixture::new(ConnectionSettings::default());
            fixture.receive_text(handshake);
            for frame in &frames {
                fixture.connection.receive(fixture.now, frame);
            }
        }
    }
}
