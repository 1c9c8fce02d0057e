//! WebSocket of a connection: a task that moves frames between the socket and the
//! queues of `connection_task.rs`.
//!
//! The task stops reading while `MAX_WAITING_FRAMES` wait, so that a pod cannot fill
//! the memory; the socket closes when its `Transport` is dropped.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use actix_ws::{AggregatedMessage, CloseCode, MessageStream, Session};
use pia_signalr::WireFrame;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel};
use tokio::time::timeout;

use crate::input::Input;

/// Number of frames that may wait for the connection.
const MAX_WAITING_FRAMES: usize = 8;
/// Time for sending a frame to a pod that reads slowly.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a frame, and of a message of several.
pub(crate) const MAX_FRAME_BYTES: usize = 512 * 1024;

/// Handle of a WebSocket, which is closed when the handle is dropped.
pub(crate) struct Transport {
    pub(crate) number: u32,
    pub(crate) frames: Sender<WireFrame>,
}

impl Transport {
    /// Spawns the task of a WebSocket that was just opened, and attaches it to its
    /// connection.
    pub(crate) fn spawn(
        number: u32,
        socket: Session,
        messages: MessageStream,
        inputs: UnboundedSender<Input>,
    ) {
        let (frames, outgoing) = channel(1);
        inputs.send(Input::Attached(Self { number, frames })).ok();
        rt::spawn(async move {
            run(number, socket, messages, &inputs, outgoing).await;
            inputs.send(Input::Lost(number)).ok();
        });
    }
}

async fn run(
    number: u32,
    mut socket: Session,
    messages: MessageStream,
    inputs: &UnboundedSender<Input>,
    mut outgoing: Receiver<WireFrame>,
) {
    let mut messages = messages
        .max_frame_size(MAX_FRAME_BYTES)
        .aggregate_continuations()
        .max_continuation_size(MAX_FRAME_BYTES);
    let slots = Arc::new(Semaphore::new(MAX_WAITING_FRAMES));

    loop {
        // Nothing is read while frames of the pod wait.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };

        let outcome = tokio::select! {
            frame = outgoing.recv() => match frame {
                Some(WireFrame::Text(text)) => timeout(SEND_TIMEOUT, socket.text(text)).await,
                Some(WireFrame::Binary(bytes)) => timeout(SEND_TIMEOUT, socket.binary(bytes)).await,
                None => {
                    let close = socket.close(Some(CloseCode::Away.into()));
                    return drop(timeout(SEND_TIMEOUT, close).await);
                }
            },
            message = messages.recv() => match message {
                Some(Ok(AggregatedMessage::Text(text))) => {
                    inputs.send(Input::Frame(number, text.into_bytes(), slot)).ok();
                    continue;
                }
                Some(Ok(AggregatedMessage::Binary(bytes))) => {
                    inputs.send(Input::Frame(number, bytes, slot)).ok();
                    continue;
                }
                Some(Ok(AggregatedMessage::Ping(data))) => {
                    timeout(SEND_TIMEOUT, socket.pong(&data)).await
                }
                Some(Ok(AggregatedMessage::Pong(_))) => continue,
                Some(Ok(AggregatedMessage::Close(_)) | Err(_)) | None => return,
            },
        };

        if !matches!(outcome, Ok(Ok(()))) {
            return;
        }
    }
}
