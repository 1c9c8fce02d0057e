//! Responses that are built in advance, so that a benchmark measures the proxy
//! and not the upstream.
//!
//! With the option `prepared`, `complete` replaces the handler of `chat.rs`. It does
//! not parse the request: it searches the body for magic words and for `stream`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::http::header::ContentType;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::Stream;
use memchr::memmem;

use crate::chat;
use crate::journal::Journal;
use crate::options::DemoOptions;
use crate::steps::{self, Step};

/// Prefix of every magic word.
const MAGIC: &[u8] = b"demo:";
/// Length of a non-streaming response in bytes.
const COMPLETION_BYTES: usize = 359;
/// Length of each chunk with text in bytes.
const CHUNK_BYTES: usize = 244;
/// Default number of such chunks in a stream.
const DEFAULT_CHUNKS: usize = 100;

/// Non-streaming response and stream that serve all requests.
pub(crate) struct Prepared {
    completion: Bytes,
    events: Arc<[Bytes]>,
}

impl Prepared {
    pub(crate) fn new(chunks: Option<usize>) -> Self {
        let chunks = chunks.unwrap_or(DEFAULT_CHUNKS);
        let usage = format!(
            r#"{{"prompt_tokens":20,"completion_tokens":{chunks},"total_tokens":{}}}"#,
            20 + chunks
        );

        let text_event = padded(CHUNK_BYTES, |content| {
            event(
                &format!(r#"{{"index":0,"delta":{{"content":"{content}"}},"finish_reason":null}}"#),
                "null",
            )
        });

        let finish = event(r#"{"index":0,"delta":{},"finish_reason":"stop"}"#, "null");
        let ending = [finish, event("", &usage), "data: [DONE]\n\n".to_owned()];
        let text_events = std::iter::repeat_n(Bytes::from(text_event), chunks);
        Self {
            completion: padded(COMPLETION_BYTES, |content| completion(content, &usage)).into(),
            events: text_events.chain(ending.map(Bytes::from)).collect(),
        }
    }
}

/// `POST /v1/chat/completions` with prepared responses, except to requests with
/// magic words.
pub(crate) async fn complete(
    http: HttpRequest,
    body: Bytes,
    prepared: Data<Prepared>,
    journal: Data<Journal>,
    options: Data<DemoOptions>,
) -> HttpResponse {
    if memmem::find(&body, MAGIC).is_some() {
        return chat::complete(http, body, journal, options).await;
    }
    if !requests_stream(&body) {
        return HttpResponse::Ok()
            .content_type(ContentType::json())
            .body(prepared.completion.clone());
    }

    let mut response = HttpResponse::Ok();
    response.content_type("text/event-stream");
    if options.delay.is_zero() {
        return response.streaming(Burst {
            events: Arc::clone(&prepared.events),
            next: 0,
            sent: false,
        });
    }

    let steps = prepared
        .events
        .iter()
        .cloned()
        .flat_map(|it| [Step::Wait(options.delay), Step::Send(it)])
        .collect();

    response.streaming(steps::body(steps, ()))
}

/// Returns whether a body requests a stream. Quotes inside a JSON string are
/// escaped, so only the real key matches.
fn requests_stream(body: &[u8]) -> bool {
    [&br#""stream":true"#[..], br#""stream": true"#]
        .iter()
        .any(|it| memmem::find(body, it).is_some())
}

/// Stream of events without delays, each in a separate packet as a real
/// upstream sends them.
struct Burst {
    events: Arc<[Bytes]>,
    next: usize,
    sent: bool,
}

impl Stream for Burst {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.sent) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let event = self.events.get(self.next).cloned();
        self.next += 1;
        self.sent = true;
        Poll::Ready(event.map(Ok))
    }
}

fn event(choice: &str, usage: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-prepared\",\"object\":\"chat.completion.chunk\",\
         \"created\":1767225600,\"model\":\"demo\",\"choices\":[{choice}],\"usage\":{usage}}}\n\n"
    )
}

fn completion(content: &str, usage: &str) -> String {
    format!(
        "{{\"id\":\"chatcmpl-prepared\",\"object\":\"chat.completion\",\"created\":1767225600,\
         \"model\":\"demo\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\
         \"content\":\"{content}\"}},\"finish_reason\":\"stop\"}}],\"usage\":{usage}}}"
    )
}

/// Calls `make` with as much text as its result needs to reach this length.
fn padded(length: usize, make: impl Fn(&str) -> String) -> String {
    let bare = make("").len();
    make(&"x".repeat(length.saturating_sub(bare)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn responses_have_the_lengths_that_benchmarks_assume() {
        let prepared = Prepared::new(None);

        assert_eq!(prepared.completion.len(), 359);
        let text: Vec<_> = prepared.events.iter().filter(|it| it.len() == 244).collect();
        assert_eq!(text.len(), 100);
        assert_eq!(prepared.events.len(), 103);
    }

    #[test]
    fn prepared_responses_are_json() {
        let prepared = Prepared::new(Some(1));

        let events = prepared.events.iter().map(|it| it.slice(6..)).filter(|it| it != "[DONE]\n\n");
        for data in events.chain([prepared.completion.clone()]) {
            assert!(serde_json::from_slice::<Value>(&data).is_ok(), "{data:?}");
        }
    }

    #[test]
    fn a_stream_request_is_distinguished_from_text_that_mentions_one() {
        assert!(requests_stream(br#"{"stream": true}"#));
        assert!(!requests_stream(br#"{"messages":[{"content":"\"stream\":true"}]}"#));
    }
}
