//! Line for each request, written when its answer has ended.

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

/// Log entry and counters of one request. Of the path only its pattern is
/// recorded: the rest may hold what does not belong in a log.
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
    /// Counted until the whole answer has been sent.
    pub(crate) _in_flight: Option<InFlight>,
}

impl Entry {
    pub(crate) fn write(&self, bytes: u64) {
        let took = self.started.elapsed();
        if let Some(metrics) = &self.metrics {
            metrics.request(&self.method, &self.route, self.status, took);
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
            took_ms = took.as_secs_f64() * 1000.0,
            "request answered"
        );
    }
}

pin_project! {
    /// A body that writes its request's line when it has been sent, or when
    /// the client has gone.
    pub struct Logged<B> {
        #[pin]
        body: B,
        sent: u64,
        entry: Option<Entry>,
    }

    impl<B> PinnedDrop for Logged<B> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(entry) = this.entry.take() {
                entry.write(*this.sent);
            }
        }
    }
}

impl<B: MessageBody> Logged<B> {
    pub(crate) fn new(body: B, entry: Entry) -> Self {
        // What has a known size is sent by the connection without being asked.
        let sent = if let BodySize::Sized(bytes) = body.size() { bytes } else { 0 };
        Self { body, sent, entry: Some(entry) }
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
        // What is logged while an answer streams is notified of its request too.
        let _of_the_request = this.entry.as_ref().map(|it| it.span.enter());
        let polled = this.body.poll_next(cx);
        if let (Poll::Ready(Some(Ok(bytes))), false) = (&polled, sized) {
            *this.sent += bytes.len() as u64;
        }
        polled
    }
}
