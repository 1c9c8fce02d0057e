//! WebSocket of a connection.

use actix_web::rt;
use actix_ws::{AggregatedMessage, CloseCode, MessageStream, Session};
use pia_signalr::WireFrame;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel};

use crate::connection_task::Input;

/// Handle of a WebSocket, which is closed when the handle is dropped.
pub(crate) struct Transport {
    pub(crate) number: u32,
    pub(crate) frames: Sender<WireFrame>,
}

impl Transport {
    /// Spawns the task of a WebSocket that was just opened.
    pub(crate) fn spawn(
        number: u32,
        session: Session,
        messages: MessageStream,
        inputs: UnboundedSender<Input>,
    ) -> Self {
        let (frames, outgoing) = channel(1);
        rt::spawn(async move {
            run(number, session, messages, &inputs, outgoing).await;
            inputs.send(Input::Lost(number)).ok();
        });
        Self { number, frames }
    }
}

async fn run(
    number: u32,
    mut session: Session,
    messages: MessageStream,
    inputs: &UnboundedSender<Input>,
    mut outgoing: Receiver<WireFrame>,
) {
    let mut messages = messages.max_frame_size(1024 * 1024).aggregate_continuations();
    loop {
        let outcome = tokio::select! {
            frame = outgoing.recv() => match frame {
                Some(WireFrame::Text(text)) => session.text(text).await,
                Some(WireFrame::Binary(bytes)) => session.binary(bytes).await,
                None => return drop(session.close(Some(CloseCode::Away.into())).await),
            },
            message = messages.recv() => match message {
                Some(Ok(AggregatedMessage::Text(text))) => {
                    inputs.send(Input::Frame(number, text.into_bytes())).ok();
                    Ok(())
                }
                Some(Ok(AggregatedMessage::Binary(bytes))) => {
                    inputs.send(Input::Frame(number, bytes)).ok();
                    Ok(())
                }
                Some(Ok(AggregatedMessage::Ping(data))) => session.pong(&data).await,
                Some(Ok(AggregatedMessage::Pong(_))) => Ok(()),
                Some(Ok(AggregatedMessage::Close(_)) | Err(_)) | None => return,
            },
        };
        if outcome.is_err() {
            return;
        }
    }
}
