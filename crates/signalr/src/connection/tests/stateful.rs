//! Tests of stateful reconnect.

use super::*;

const HANDSHAKE_2: &str = "{\"protocol\":\"json\",\"version\":2}\u{1e}";

fn open() -> Fixture {
    let resume_timeout = Some(Duration::from_secs(30));
    let settings =
        ConnectionSettings { resume_timeout, max_buffered_bytes: 1000, ..Default::default() };
    let mut fixture = Fixture::new(settings);
    assert_eq!(fixture.receive_text(HANDSHAKE_2), [HubEvent::Connected]);
    assert_eq!(fixture.sent(), ["{}"]);
    fixture
}

fn message(target: &str) -> String {
    json!({"type": 1, "target": target, "arguments": []}).to_string()
}

fn sequence(sequence_id: u64) -> Value {
    json!({"type": 9, "sequenceId": sequence_id})
}

fn ack(sequence_id: u64) -> Value {
    json!({"type": 8, "sequenceId": sequence_id})
}

impl Fixture {
    fn send(&mut self, targets: &[&str]) {
        for target in targets {
            self.connection.send(target, vec![]).unwrap();
        }
    }

    /// Replaces the transport, as a client does after an interruption.
    fn reconnect(&mut self) {
        self.connection.detach(self.now);
        self.connection.resume(self.now).unwrap();
    }
}

#[test]
fn messages_without_an_ack_are_repeated_behind_their_sequence() {
    let mut fixture = open();
    fixture.send(&["a", "b", "c"]);
    assert_eq!(fixture.sent().len(), 3);
    fixture.receive(&ack(1));
    fixture.connection.detach(fixture.now);
    fixture.send(&["d"]);
    assert_eq!(fixture.sent(), Vec::<String>::new());

    fixture.connection.resume(fixture.now).unwrap();

    let repeated = [sequence(2).to_string(), message("b"), message("c"), message("d")];
    assert_eq!(fixture.sent(), repeated);
    fixture.receive(&sequence(1));
    fixture.receive(&ack(4));
    fixture.reconnect();
    assert_eq!(fixture.sent(), [sequence(5).to_string()]);
}

#[test]
fn a_client_cannot_acknowledge_what_it_was_not_sent() {
    let mut fixture = open();
    fixture.send(&["a"]);
    fixture.sent();
    fixture.send(&["b"]);

    fixture.receive(&ack(u64::MAX));

    assert_eq!(fixture.sent(), [message("b")]);
    fixture.reconnect();
    assert_eq!(fixture.sent(), [sequence(2).to_string(), message("b")]);
}

#[test]
fn messages_that_the_client_repeats_are_ignored() {
    let mut fixture = open();
    assert_eq!(fixture.receive(&call("1")).len(), 1);
    assert_eq!(fixture.receive(&call("2")).len(), 1);

    fixture.reconnect();

    assert_eq!(fixture.receive(&call("2")), [], "before its sequence");
    assert_eq!(fixture.receive(&sequence(1)), []);
    assert_eq!(fixture.receive(&call("1")), []);
    assert_eq!(fixture.receive(&call("2")), []);
    assert_eq!(fixture.receive(&call("3")).len(), 1);
    assert_eq!(fixture.connection.close_reason(), None);
}

#[test]
fn a_transport_may_be_lost_again_while_messages_are_repeated() {
    let mut fixture = open();
    for id in ["1", "2", "3"] {
        fixture.receive(&call(id));
    }
    fixture.reconnect();
    fixture.receive(&sequence(2));
    assert_eq!(fixture.receive(&call("2")), []);

    fixture.reconnect();

    fixture.receive(&sequence(4));
    assert_eq!(fixture.receive(&call("4")).len(), 1);
}

#[test]
fn missing_messages_close_the_connection() {
    let mut fixture = open();
    fixture.receive(&call("1"));
    fixture.reconnect();

    fixture.receive(&sequence(3));

    let reason = CloseReason::Protocol(ProtocolError::SequenceGap);
    assert_eq!(fixture.connection.close_reason(), Some(&reason));
}

#[test]
fn received_messages_are_acknowledged_after_a_second() {
    let mut fixture = open();
    fixture.receive(&call("1"));
    fixture.receive(&json!({"type": 6}));
    fixture.receive(&call("2"));
    assert_eq!(fixture.connection.poll_timeout(), Some(fixture.now + Duration::from_secs(1)));

    fixture.advance(1);

    assert_eq!(fixture.sent(), [ack(2).to_string()]);
    fixture.advance(1);
    assert_eq!(fixture.sent(), Vec::<String>::new());
}

#[test]
fn a_partial_message_does_not_continue_on_the_next_transport() {
    let mut fixture = open();
    fixture.receive_text("{\"type\":");
    fixture.reconnect();

    fixture.receive(&sequence(1));

    assert_eq!(fixture.receive(&call("1")).len(), 1);
    assert_eq!(fixture.connection.close_reason(), None);
}

#[test]
fn frames_of_a_lost_transport_are_ignored() {
    let mut fixture = open();
    fixture.connection.detach(fixture.now);

    assert_eq!(fixture.receive(&call("1")), []);
}

#[test]
fn a_transport_may_be_replaced_before_its_loss_is_noticed() {
    let mut fixture = open();
    fixture.send(&["a"]);

    fixture.connection.resume(fixture.now).unwrap();

    assert_eq!(fixture.sent(), [sequence(1).to_string(), message("a")]);
}

#[test]
fn a_client_has_thirty_seconds_to_return() {
    let mut fixture = open();
    fixture.connection.detach(fixture.now);
    fixture.advance(29);
    assert!(fixture.connection.is_resumable());

    fixture.advance(1);

    assert!(!fixture.connection.is_resumable());
    assert_eq!(fixture.connection.resume(fixture.now), Err(SendError::NotOpen));
    assert_eq!(fixture.connection.close_reason(), Some(&CloseReason::TransportLost));
}

#[test]
fn messages_without_an_ack_are_limited() {
    let mut fixture = open();
    let big = || vec![json!("x".repeat(400))];
    for _ in 0..2 {
        fixture.connection.send("m", big()).unwrap();
        assert_eq!(fixture.sent().len(), 1);
    }

    assert_eq!(fixture.connection.send("m", big()), Err(SendError::BufferFull));

    assert!(!fixture.connection.is_resumable());
    assert_eq!(fixture.sent().len(), 1);
}

#[test]
fn a_client_of_version_1_cannot_resume() {
    let settings = ConnectionSettings {
        resume_timeout: Some(Duration::from_secs(30)),
        ..ConnectionSettings::default()
    };
    let mut fixture = Fixture::open(settings);
    fixture.send(&["a"]);
    fixture.sent();

    assert!(!fixture.connection.is_resumable());
    assert_eq!(fixture.connection.buffered_bytes(), 0);
}

#[test]
fn a_close_of_the_client_ends_a_connection_that_could_be_resumed() {
    let mut fixture = open();

    fixture.receive(&json!({"type": 7}));

    assert!(!fixture.connection.is_resumable());
}

proptest! {
    /// Either side receives each message once and in order, wherever the
    /// transports are cut.
    #[test]
    fn nothing_is_lost_or_repeated(
        steps in prop::collection::vec((any::<bool>(), 0_usize..4, 0_usize..4), 1..30),
    ) {
        let mut fixture = open();
        let mut client = Client::default();
        for (number, (reconnects, to_client, acks)) in steps.iter().enumerate() {
            client.sent.push(number);
            fixture.connection.send(&number.to_string(), vec![]).unwrap();
            client.deliver(&mut fixture, *to_client, *acks);
            if *reconnects {
                fixture.reconnect();
                client.reconnect(&mut fixture);
            }
        }
        fixture.reconnect();
        client.reconnect(&mut fixture);
        client.deliver(&mut fixture, usize::MAX, 0);

        let expected: Vec<usize> = (0..steps.len()).collect();
        prop_assert_eq!(client.received, expected.clone());
        prop_assert_eq!(client.accepted, expected);
    }
}

/// Client that sends and counts messages.
#[derive(Default)]
struct Client {
    /// Numbers that it sends, and how many of them the transport has taken.
    sent: Vec<usize>,
    transmitted: usize,
    /// Numbers that the server has processed.
    accepted: Vec<usize>,
    /// Numbers that it has received, and the sequence id of the next.
    received: Vec<usize>,
    next_id: u64,
}

impl Client {
    /// Transmits one message, and takes up to `count` from the server.
    fn deliver(&mut self, fixture: &mut Fixture, count: usize, acks: usize) {
        while let Some(number) = self.sent.get(self.transmitted) {
            self.transmitted += 1;
            let call = json!({"type": 1, "target": number.to_string(), "arguments": []});
            for event in fixture.receive(&call) {
                let HubEvent::Invoked(call) = event else { continue };
                self.accepted.push(call.target.parse().unwrap());
            }
        }
        for _ in 0..count {
            let Some(frame) = fixture.connection.poll_transmit(fixture.now) else { break };
            self.take(&frame);
        }
        if acks > 0 {
            let last = self.received.len() + 1 - acks.min(self.received.len() + 1);
            fixture.receive(&ack(last as u64));
        }
    }

    fn take(&mut self, frame: &WireFrame) {
        let text = std::str::from_utf8(frame.as_bytes()).unwrap();
        let message: Value = serde_json::from_str(text.trim_end_matches('\u{1e}')).unwrap();
        if message["type"] == 9
            && let Some(id) = message["sequenceId"].as_u64()
        {
            self.next_id = id;
        } else if message["type"] == 1 {
            self.next_id = self.next_id.max(1) + 1;
            if self.next_id - 1 > self.received.len() as u64 {
                self.received.push(message["target"].as_str().unwrap().parse().unwrap());
            }
        }
    }

    /// Repeats everything: its server never acknowledges in time.
    fn reconnect(&mut self, fixture: &mut Fixture) {
        self.transmitted = 0;
        assert_eq!(fixture.receive(&sequence(1)), []);
    }
}
