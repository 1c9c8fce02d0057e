//! Answers made beforehand, so that a benchmark measures what stands before
//! the upstream and not the upstream.

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
/// The length of a whole answer.
const WHOLE: usize = 359;
/// The length of each chunk with text.
const CHUNK: usize = 244;
/// Number of such chunks in a stream, unless requested otherwise.
const CHUNKS: usize = 100;

/// Whole answer and one stream, the same for everyone.
pub(crate) struct Prepared {
    whole: Bytes,
    events: Arc<[Bytes]>,
}

impl Prepared {
    pub(crate) fn new(chunks: Option<usize>) -> Self {
        let chunks = chunks.unwrap_or(CHUNKS);
        let usage = format!(
            r#"{{"prompt_tokens":20,"completion_tokens":{chunks},"total_tokens":{}}}"#,
            20 + chunks
        );
        let text = padded(CHUNK, |content| {
            event(
                &format!(r#"{{"index":0,"delta":{{"content":"{content}"}},"finish_reason":null}}"#),
                "null",
            )
        });
        let finish = event(r#"{"index":0,"delta":{},"finish_reason":"stop"}"#, "null");
        let ending = [finish, event("", &usage), "data: [DONE]\n\n".to_owned()];
        let text = std::iter::repeat_n(Bytes::from(text), chunks);
        Self {
            whole: padded(WHOLE, |content| whole(content, &usage)).into(),
            events: text.chain(ending.map(Bytes::from)).collect(),
        }
    }
}

/// `POST /v1/chat/completions`, where answers are prepared, but for requests
/// with magic words.
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
    if !requests_a_stream(&body) {
        return HttpResponse::Ok().content_type(ContentType::json()).body(prepared.whole.clone());
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
    let paced = prepared.events.iter().cloned();
    let steps = paced.flat_map(|it| [Step::Wait(options.delay), Step::Send(it)]).collect();
    response.streaming(steps::body(steps, ()))
}

/// Quotes inside a JSON string are escaped, so only the real key matches.
fn requests_a_stream(body: &[u8]) -> bool {
    [&br#""stream":true"#[..], br#""stream": true"#]
        .iter()
        .any(|it| memmem::find(body, it).is_some())
}

/// Sends one event after the other as fast as they leave, each in a packet of
/// its own as a real upstream does.
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

fn whole(content: &str, usage: &str) -> String {
    format!(
        "{{\"id\":\"chatcmpl-prepared\",\"object\":\"chat.completion\",\"created\":1767225600,\
         \"model\":\"demo\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\
         \"content\":\"{content}\"}},\"finish_reason\":\"stop\"}}],\"usage\":{usage}}}"
    )
}

/// Calls `make` with as much text as brings its result to this length.
fn padded(length: usize, make: impl Fn(&str) -> String) -> String {
    let bare = make("").len();
    make(&"x".repeat(length.saturating_sub(bare)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn answers_have_the_lengths_that_benchmarks_are_compared_by() {
        let prepared = Prepared::new(None);

        assert_eq!(prepared.whole.len(), 359);
        let text: Vec<_> = prepared.events.iter().filter(|it| it.len() == 244).collect();
        assert_eq!((text.len(), prepared.events.len()), (100, 103));
    }

    #[test]
    fn answers_are_json() {
        let prepared = Prepared::new(Some(1));

        let parsed = prepared.events.iter().map(|it| it.slice(6..)).filter(|it| it != "[DONE]\n\n");
        for data in parsed.chain([prepared.whole.clone()]) {
            assert!(serde_json::from_slice::<Value>(&data).is_ok(), "{data:?}");
        }
    }

    #[test]
    fn a_stream_is_reported_from_text_that_speaks_of_one() {
        assert!(requests_a_stream(br#"{"stream": true}"#));
        assert!(!requests_a_stream(br#"{"messages":[{"content":"\"stream\":true"}]}"#));
    }
}
