//! Task that owns a connection of the hub.

use std::time::{Duration, Instant};

use actix_ws::{AggregatedMessage, MessageStream, Session};
use pia_kernel::{Clock, SystemClock};
use pia_signalr::{ExpectedReply, HubConnection, HubEvent, Reconnect, WireFrame};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::sleep_until;

use crate::hub::{Event, HubOptions, RENEWED};

/// Command of a test.
#[derive(Debug)]
pub(crate) enum Command {
    /// Call of a method of the pod that has a result.
    Invoke(&'static str, Value),
    Cancel(&'static str),
    /// End of the WebSocket without a message of SignalR.
    Cut,
    Close(Reconnect),
    /// Closes the connection as the server does when an administrator has ended the pod.
    Drain,
    /// Closes the connection as the server does when the token has ended.
    Expel,
}

/// Connection with its WebSocket.
pub(crate) struct HubConnectionTask {
    connection: HubConnection,
    session: Session,
    refusal: Option<&'static str>,
    token_lifetime: Option<Duration>,
    events: UnboundedSender<Event>,
}

impl HubConnectionTask {
    pub(crate) fn new(
        options: &HubOptions,
        session: Session,
        events: UnboundedSender<Event>,
    ) -> Self {
        let connection = HubConnection::new(options.settings, Instant::now());
        let HubOptions { refusal, token_lifetime, .. } = *options;
        Self { connection, session, refusal, token_lifetime, events }
    }

    pub(crate) async fn run(
        mut self,
        messages: MessageStream,
        mut commands: UnboundedReceiver<Command>,
    ) {
        let mut messages = messages.max_frame_size(1024 * 1024).aggregate_continuations();
        while let Some(due) = self.connection.poll_timeout() {
            self.transmit().await;
            tokio::select! {
                message = messages.recv() => match message {
                    Some(Ok(AggregatedMessage::Text(text))) => self.receive(text.as_bytes()),
                    Some(Ok(AggregatedMessage::Binary(bytes))) => self.receive(&bytes),
                    Some(Ok(AggregatedMessage::Ping(data))) => {
                        self.session.pong(&data).await.ok();
                    }
                    Some(Ok(AggregatedMessage::Pong(_))) => {}
                    Some(Ok(AggregatedMessage::Close(_)) | Err(_)) | None => break,
                },
                Some(command) = commands.recv() => match command {
                    Command::Cut => break,
                    command => self.obey(command),
                },
                () = sleep_until(due.into()) => self.connection.handle_timeout(Instant::now()),
            }
        }
        self.transmit().await;
        // Received first by the test, which may wait for the end of the pod.
        self.report(Event::Gone);
        self.session.close(None).await.ok();
    }

    async fn transmit(&mut self) {
        while let Some(frame) = self.connection.poll_transmit(Instant::now()) {
            let outcome = match frame {
                WireFrame::Text(text) => self.session.text(text).await,
                WireFrame::Binary(bytes) => self.session.binary(bytes).await,
            };
            outcome.ok();
        }
    }

    fn receive(&mut self, frame: &[u8]) {
        if frame == b"{\"type\":6}\x1e" {
            self.report(Event::Ping);
        }
        for event in self.connection.receive(Instant::now(), frame) {
            self.handle(event);
        }
    }

    fn handle(&mut self, event: HubEvent) {
        match event {
            HubEvent::Invoked(mut call) if call.target == "Progress" => {
                assert_eq!(call.reply, ExpectedReply::None, "nobody reads it");
                self.report(Event::Progress(call.arguments.pop().unwrap_or_default()));
            }
            HubEvent::Invoked(mut call) => {
                let ExpectedReply::Completion(id) = &call.reply else {
                    panic!("no such call: {call:?}")
                };
                let description = call.arguments.pop().unwrap_or_default();
                let (event, result) = match (call.target.as_str(), self.refusal) {
                    ("Hello", Some(refusal)) => {
                        (Event::Hello(description), Err(refusal.to_owned()))
                    }
                    ("Hello", None) => {
                        let mut ids = json!({ "podId": "pod-1", "connectorId": "connector-1" });
                        if let Some(lifetime) = self.token_lifetime {
                            ids["tokenExpiresAt"] = json!(SystemClock.now() + lifetime);
                        }
                        (Event::Hello(description), Ok(Some(ids)))
                    }
                    ("RotateToken", _) => {
                        let expires_at = SystemClock.now() + Duration::from_hours(24 * 90);
                        let token = json!({ "token": RENEWED, "expiresAt": expires_at });
                        (Event::Rotate, Ok(Some(token)))
                    }
                    ("Drain", _) => (Event::Drain, Ok(None)),
                    (other, _) => panic!("no method {other}"),
                };
                self.connection.complete(id, result).expect("an open invocation");
                self.report(event);
            }
            HubEvent::Returned { result, .. } => self.report(Event::Result(result)),
            HubEvent::Connected => {}
            other => panic!("{other:?}"),
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Invoke(target, argument) => {
                self.connection.invoke(target, vec![argument]).expect("an open connection");
            }
            Command::Cancel(call_id) => {
                self.connection.send("Cancel", vec![json!(call_id)]).expect("an open connection");
            }
            Command::Drain => {
                let message = "An administrator has ended this pod.".to_owned();
                self.connection.close(Some(message), Reconnect::Denied);
            }
            Command::Close(reconnect) => {
                self.connection.close(Some("closed by the test".to_owned()), reconnect);
            }
            Command::Expel => {
                let reason = "The token is no longer valid.".to_owned();
                self.connection.close(Some(reason), Reconnect::Denied);
            }
            Command::Cut => {}
        }
    }

    fn report(&self, event: Event) {
        self.events.send(event).ok();
    }
}
