//! Access log: one line for each request, written when its response has ended.
//!
//! `surface` creates the `Entry` and wraps the body in `Logged`. The line is written
//! by `Logged`'s destructor, since a body may end in three ways: sent completely,
//! aborted, or dropped with the connection.

use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::Method;
use actix_web::web::{Bytes, Data};
use pia_kernel::UserId;
use pin_project_lite::pin_project;
use tracing::Span;

use crate::metrics::InFlight;
use crate::{Metrics, RequestId};

/// Log entry and counters of one request. Only the pattern of the path is
/// recorded: the path may contain data that does not belong in a log.
pub(crate) struct Entry {
    pub(crate) id: RequestId,
    pub(crate) proxy_id: Option<String>,
    pub(crate) span: Span,
    pub(crate) method: Method,
    pub(crate) route: String,
    pub(crate) status: u16,
    pub(crate) client: Option<IpAddr>,
    pub(crate) user: Option<UserId>,
    pub(crate) started: Instant,
    pub(crate) metrics: Option<Data<Metrics>>,
    /// Counted until the response has been sent completely.
    pub(crate) _in_flight: Option<InFlight>,
}

impl Entry {
    pub(crate) fn write(&self, bytes: u64) {
        let elapsed = self.started.elapsed();

        if let Some(metrics) = &self.metrics {
            metrics.request(&self.method, &self.route, self.status, elapsed);
        }

        let client = self.client.map(|it| it.to_string());
        let user = self.user.map(|it| it.to_string());
        tracing::info!(
            request.id = self.id.as_str(),
            request.proxy_id = self.proxy_id.as_deref(),
            http.method = self.method.as_str(),
            http.route = self.route.as_str(),
            http.status = self.status,
            client.address = client,
            user.id = user,
            sent_bytes = bytes,
            took_ms = elapsed.as_secs_f64() * 1000.0,
            "request answered"
        );
    }
}

pin_project! {
    /// Body that writes the log entry of its request when it has been sent, or
    /// when the client has disconnected.
    pub struct Logged<B> {
        #[pin]
        body: B,
        sent_bytes: u64,
        entry: Option<Entry>,
    }

    impl<B> PinnedDrop for Logged<B> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(entry) = this.entry.take() {
                entry.write(*this.sent_bytes);
            }
        }
    }
}

impl<B: MessageBody> Logged<B> {
    pub(crate) fn new(body: B, entry: Entry) -> Self {
        // A body of a known size is sent by the connection without being
        // polled.
        let sent_bytes = if let BodySize::Sized(bytes) = body.size() { bytes } else { 0 };
        Self { body, sent_bytes, entry: Some(entry) }
    }
}

impl<B: MessageBody> MessageBody for Logged<B> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let this = self.project();
        let sized = matches!(this.body.size(), BodySize::Sized(_));
        // Log events while a response streams belong to the span of its
        // request.
        let _span = this.entry.as_ref().map(|it| it.span.enter());
        let polled = this.body.poll_next(cx);
        if let (Poll::Ready(Some(Ok(bytes))), false) = (&polled, sized) {
            *this.sent_bytes += bytes.len() as u64;
        }
        polled
    }
}
