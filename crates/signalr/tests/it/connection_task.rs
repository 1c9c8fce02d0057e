//! Task that owns a connection, and connects it with its transports.

use std::time::{Duration, Instant};

use actix_web::rt;
use actix_web::web::Bytes;
use pia_signalr::{ConnectionSettings, HubConnection, Reconnect, SendError, WireFrame};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep_until, timeout};

use crate::echo_hub::{Action, EchoHub};
use crate::transport::Transport;

/// Input of the task.
pub(crate) enum Input {
    Attached(Transport),
    /// Frame of the transport with this number.
    Frame(u32, Bytes),
    /// End of the transport with this number.
    Lost(u32),
    /// End of a delay before the completion of an invocation.
    Due(String),
}

/// Connection with its application and its present transport.
pub(crate) struct ConnectionTask {
    connection: HubConnection,
    hub: EchoHub,
    sender: UnboundedSender<Input>,
    transport: Option<Transport>,
    /// Frame that the transport takes next.
    next_frame: Option<WireFrame>,
}

impl ConnectionTask {
    /// Spawns the task of a connection that awaits its first transport.
    pub(crate) fn spawn(settings: ConnectionSettings) -> UnboundedSender<Input> {
        let (sender, inputs) = unbounded_channel();
        let task = Self {
            connection: HubConnection::new(settings, Instant::now()),
            hub: EchoHub::default(),
            sender: sender.clone(),
            transport: None,
            next_frame: None,
        };
        rt::spawn(task.run(inputs));
        sender
    }

    async fn run(mut self, mut inputs: UnboundedReceiver<Input>) {
        while let Some(due) = self.connection.poll_timeout() {
            // Invocations end when their clients cancel them or leave.
            self.hub.produce(&mut self.connection).ok();
            let can_write = self.has_frame();
            // The clock goes on while a client does not read.
            tokio::select! {
                () = self.write(), if can_write => {}
                Some(input) = inputs.recv() => self.handle(input),
                () = sleep_until(due.into()) => self.connection.handle_timeout(Instant::now()),
            }
        }
        timeout(Duration::from_secs(5), async {
            while self.has_frame() {
                self.write().await;
            }
        })
        .await
        .ok();
    }

    /// Returns whether there is a frame to write, and a transport for it.
    fn has_frame(&mut self) -> bool {
        if self.next_frame.is_none() {
            self.next_frame = self.connection.poll_transmit(Instant::now());
        }
        self.next_frame.is_some() && self.transport.is_some()
    }

    /// Writes the next frame once the transport takes it.
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
            Input::Attached(transport) => {
                if transport.number > 1 {
                    self.detach();
                    self.connection.resume(now).ok();
                }
                self.transport = Some(transport);
            }
            Input::Frame(number, frame) if Some(number) == present => {
                for event in self.connection.receive(now, &frame) {
                    let action = self.hub.handle(&mut self.connection, event);
                    self.perform(action);
                }
            }
            Input::Lost(number) if Some(number) == present => self.detach(),
            Input::Frame(..) | Input::Lost(_) => {}
            Input::Due(invocation_id) => {
                self.connection.complete(&invocation_id, Ok(None)).ok();
            }
        }
    }

    fn perform(&mut self, action: Result<Action, SendError>) {
        match action {
            Ok(Action::Drop) => {
                // What is sent now is lost on its way.
                while self.connection.poll_transmit(Instant::now()).is_some() {}
                self.detach();
            }
            Ok(Action::Forget) => {
                self.detach();
                self.connection.close(None, Reconnect::Denied);
            }
            Ok(Action::Delay(invocation_id, milliseconds)) => {
                let sender = self.sender.clone();
                rt::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                    sender.send(Input::Due(invocation_id)).ok();
                });
            }
            Ok(Action::None) | Err(_) => {}
        }
    }

    fn detach(&mut self) {
        if self.transport.take().is_some() {
            self.next_frame = None;
            self.connection.detach(Instant::now());
        }
    }
}
