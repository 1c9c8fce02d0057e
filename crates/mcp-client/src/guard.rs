//! Guard before a transport, which lets through only what the client needs.
//!
//! Admitted are responses, errors, and requests while fewer than 16 replies are
//! pending. A notification of changed tools becomes an event; others are dropped.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

/// Maximum number of requests of a server that are not answered yet.
const MAX_PENDING_REPLIES: usize = 16;

/// Events of a connection that its user can wait for.
#[derive(Debug, Default)]
pub(crate) struct ConnectionEvents {
    pub(crate) tools_changed: Notify,
    pub(crate) closed: CancellationToken,
}

/// Guarded transport. Notifications end here, since each would be logged, and
/// so do requests of a server that does not read their replies.
pub(crate) struct GuardedTransport<T> {
    inner: T,
    events: Arc<ConnectionEvents>,
    replies: Arc<Semaphore>,
}

impl<T> GuardedTransport<T> {
    pub(crate) fn new(inner: T, events: Arc<ConnectionEvents>) -> Self {
        Self { inner, events, replies: Arc::new(Semaphore::new(MAX_PENDING_REPLIES)) }
    }

    /// Returns whether a message is for the client.
    fn admit(&self, message: &ServerJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
            JsonRpcMessage::Request(_) => self.try_reserve_reply(),
            JsonRpcMessage::Notification(message) => {
                let is_of_tools = matches!(
                    message.notification,
                    ServerNotification::ToolListChangedNotification(_)
                );
                if is_of_tools {
                    self.events.tools_changed.notify_one();
                }
                false
            }
        }
    }

    /// Reserves a place among the pending replies, which is free again once the reply was
    /// sent. Returns whether there was one.
    fn try_reserve_reply(&self) -> bool {
        let Ok(permit) = self.replies.try_acquire() else { return false };
        // `send` returns the permit with the reply.
        permit.forget();
        true
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for GuardedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_reply = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let replies = is_reply.then(|| Arc::clone(&self.replies));
        let sending = self.inner.send(message);
        async move {
            let outcome = sending.await;
            if let Some(replies) = replies {
                replies.add_permits(1);
            }
            outcome
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.events.closed.cancel();
                return None;
            };
            if self.admit(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

impl<T> Drop for GuardedTransport<T> {
    fn drop(&mut self) {
        self.events.closed.cancel();
    }
}
