//! Task that owns a connection, and connects it with its WebSockets.
//!
//! One loop in `run` has everything of the connection, so that nothing is locked.
//! It ends with the connection, whatever the WebSocket does: then callers get
//! `Lost`, and the last frames are sent.

use std::time::{Duration, Instant};

use actix_web::rt;
use pia_signalr::{ConnectionSettings, HubConnection, WireFrame};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::yield_now;
use tokio::time::{sleep_until, timeout};

use crate::input::{Input, LinkInput};
use crate::pod_session::{Leaving, PodSenders, PodSession};
use crate::transport::Transport;

/// Time for the last frames of a connection that ends.
const LAST_FRAMES_TIMEOUT: Duration = Duration::from_secs(5);

/// Connection with its session and its present WebSocket.
pub(crate) struct ConnectionTask {
    connection: HubConnection,
    session: PodSession,
    transport: Option<Transport>,
    /// Frame that the WebSocket takes next.
    next_frame: Option<WireFrame>,
}

impl ConnectionTask {
    /// Spawns the task of a connection that awaits its first WebSocket.
    pub(crate) fn spawn(
        settings: ConnectionSettings,
        session: impl FnOnce(PodSenders) -> PodSession,
    ) -> UnboundedSender<Input> {
        let (sender, inputs) = unbounded_channel();
        let (link, links) = unbounded_channel();
        let task = Self {
            connection: HubConnection::new(settings, Instant::now()),
            session: session(PodSenders { inputs: sender.clone(), link }),
            transport: None,
            next_frame: None,
        };
        rt::spawn(task.run(inputs, links));
        sender
    }

    async fn run(
        mut self,
        mut inputs: UnboundedReceiver<Input>,
        mut links: UnboundedReceiver<LinkInput>,
    ) {
        while let Some(due) = self.connection.poll_timeout() {
            self.session.leave_if_done(&mut self.connection);
            let due = self.session.calls.deadline().map_or(due, |it| it.min(due));
            let can_write = self.has_frame();
            // The clock goes on while a pod does not read.
            tokio::select! {
                () = self.write(), if can_write => {}
                Some(input) = inputs.recv() => {
                    self.handle(input);
                    // Decoding takes long, and other connections share the worker.
                    yield_now().await;
                }
                Some(input) = links.recv() => self.handle_link(input),
                () = sleep_until(due.into()) => {
                    let now = Instant::now();
                    self.session.calls.expire(&mut self.connection, now);
                    self.connection.handle_timeout(now);
                }
            }
        }

        // No caller is linked to the connection any more when its last frames are sent.
        inputs.close();
        // Dropping the frames that were not handled releases their slots, without which
        // the WebSocket would not take the last ones.
        while inputs.try_recv().is_ok() {}
        let Self { connection, session, transport, next_frame } = self;
        session.end();
        drop(links);

        if let Some(transport) = transport {
            drop(timeout(LAST_FRAMES_TIMEOUT, finish(connection, transport, next_frame)).await);
        }
    }

    /// Returns whether a frame and a WebSocket to write it to are present.
    fn has_frame(&mut self) -> bool {
        if self.next_frame.is_none() {
            self.next_frame = self.connection.poll_transmit(Instant::now());
        }
        self.next_frame.is_some() && self.transport.is_some()
    }

    /// Writes the next frame once the WebSocket takes it.
    async fn write(&mut self) {
        let Some(transport) = &self.transport else { return };
        if let Ok(permit) = transport.frames.reserve().await {
            if let Some(frame) = self.next_frame.take() {
                permit.send(frame);
            }
            return;
        }
        self.detach();
    }

    fn handle(&mut self, input: Input) {
        let now = Instant::now();
        let present = self.transport.as_ref().map(|it| it.number);

        match input {
            // Another WebSocket was opened later, and attached before.
            Input::Attached(transport) if present > Some(transport.number) => {}
            Input::Attached(transport) => {
                if transport.number > 1 {
                    self.detach();
                    self.connection.resume(now).ok();
                }
                self.transport = Some(transport);
            }
            Input::Frame(number, frame, _slot) if Some(number) == present => {
                for event in self.connection.receive(now, &frame) {
                    self.session.handle(&mut self.connection, event);
                }
            }
            Input::Lost(number) if Some(number) == present => self.detach(),
            // Input of a WebSocket that was replaced.
            Input::Frame(..) | Input::Lost(_) => {}
            Input::Registered(invocation, outcome) => {
                self.session.registered(&mut self.connection, invocation, outcome);
            }
            Input::Rotated(invocation, token) => {
                self.session.rotated(&mut self.connection, &invocation, token.map(|it| *it));
            }
            Input::Stopping => self.session.leave(Leaving::ServerStops),
        }
    }

    fn handle_link(&mut self, input: LinkInput) {
        match input {
            LinkInput::Call(pending) => self.session.calls.begin(&mut self.connection, *pending),
            LinkInput::Cancel(id) => self.session.calls.cancel(&mut self.connection, id),
            LinkInput::Unregistered => self.session.register_again(),
            LinkInput::Draining => self.session.end_draining(Instant::now()),
        }
    }

    fn detach(&mut self) {
        if self.transport.take().is_some() {
            self.next_frame = None;
            self.connection.detach(Instant::now());
        }
    }
}

/// Writes the last frames of a connection that has ended.
async fn finish(mut connection: HubConnection, transport: Transport, first: Option<WireFrame>) {
    let mut next_frame = first.or_else(|| connection.poll_transmit(Instant::now()));
    while let Some(frame) = next_frame {
        if transport.frames.send(frame).await.is_err() {
            return;
        }
        next_frame = connection.poll_transmit(Instant::now());
    }
}
