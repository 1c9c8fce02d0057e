//! Handlers: chat, models, and the record of calls.

use std::future::pending;
use std::time::Duration;

use actix_web::body::SizedStream;
use actix_web::http::StatusCode;
use actix_web::http::header::{ContentType, RETRY_AFTER};
use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::journal::{Journal, OpenCall};
use crate::options::DemoOptions;
use crate::request::ChatRequest;
use crate::script::{Fault, Script};
use crate::steps::{self, Step};

const DONE: &[u8] = b"data: [DONE]\n\n";

/// Header that may carry magic words, beside the last user message.
const SCRIPT_HEADER: &str = "x-demo";

/// `POST /v1/chat/completions`
pub(crate) async fn complete(
    http: HttpRequest,
    body: Bytes,
    journal: Data<Journal>,
    options: Data<DemoOptions>,
) -> HttpResponse {
    journal.record(http.headers(), &body);

    let request: ChatRequest = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(err) => return refusal(StatusCode::BAD_REQUEST, &err.to_string(), None),
    };

    let script = parse_script(&http, &request);
    let open_call = journal.open(request.streamed());
    if let Some(response) = scripted_refusal(&request, &script) {
        return response;
    }

    let answer = Answer::to(&request, script.chunks.or(options.chunks));
    if script.fault == Some(Fault::Silent(0)) {
        return pending().await;
    }
    if request.streamed() {
        let delay = script.delay.unwrap_or(options.delay);
        let events = stream_events(&answer, &script, request.wants_usage());
        let steps = stream_steps(events, &script, delay);
        return HttpResponse::Ok()
            .content_type("text/event-stream")
            .streaming(steps::body(steps, open_call));
    }

    non_streaming(&answer, &script, open_call).await
}

/// `GET /v1/models`
pub(crate) async fn models() -> Json<Value> {
    let model =
        json!({ "id": "demo", "object": "model", "created": 1_767_225_600, "owned_by": "demo" });
    Json(json!({ "object": "list", "data": [model] }))
}

/// `GET /demo/calls`
pub(crate) async fn calls(journal: Data<Journal>) -> Json<Value> {
    let counts = journal.call_counts();
    Json(json!({
        "calls": counts.calls,
        "open": counts.open,
        "openStreams": counts.open_streams,
        "last": journal.last(),
    }))
}

/// Responds to every other path.
pub(crate) async fn unknown(http: HttpRequest) -> HttpResponse {
    let message = format!("Invalid URL ({} {})", http.method(), http.path());
    refusal(StatusCode::NOT_FOUND, &message, None)
}

fn parse_script(http: &HttpRequest, request: &ChatRequest) -> Script {
    let header =
        http.headers().get(SCRIPT_HEADER).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let content =
        request.last_user_message().map(crate::request::Message::text).unwrap_or_default();
    Script::parse(&format!("{header} {content}"))
}

/// Returns the refusal that the script requests.
fn scripted_refusal(request: &ChatRequest, script: &Script) -> Option<HttpResponse> {
    let status = script.status.and_then(|it| StatusCode::from_u16(it).ok());

    match script.fault {
        Some(Fault::Html) => Some(
            HttpResponse::build(status.unwrap_or(StatusCode::OK))
                .insert_header(ContentType::html())
                .body("<html><body><h1>A proxy speaking</h1></body></html>"),
        ),
        Some(Fault::Broken) => Some(
            HttpResponse::build(status.unwrap_or(StatusCode::OK))
                .insert_header(ContentType::json())
                .body("{\"choices\": [{\"message\": "),
        ),
        Some(Fault::ContextLength) => Some(too_long(request.prompt_tokens())),
        Some(Fault::NoTools) if !request.tools().is_empty() => Some(refusal(
            StatusCode::BAD_REQUEST,
            "This model does not support tools.",
            Some(("tools", "unsupported_parameter")),
        )),
        _ => status.map(|status| {
            let mut response = refusal(status, &format!("Asked to answer {status}."), None);
            if let Some(seconds) = script.retry_after {
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
            }
            response
        }),
    }
}

fn too_long(tokens: usize) -> HttpResponse {
    let message = format!(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in \
         {} tokens. Please reduce the length of the messages.",
        tokens.max(8193)
    );
    refusal(StatusCode::BAD_REQUEST, &message, Some(("messages", "context_length_exceeded")))
}

/// Returns an error in OpenAI's format.
fn refusal(status: StatusCode, message: &str, cause: Option<(&str, &str)>) -> HttpResponse {
    let kind = match status.as_u16() {
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let (param, code) = cause.unzip();
    let error = json!({ "message": message, "type": kind, "param": param, "code": code });
    HttpResponse::build(status).json(json!({ "error": error }))
}

/// Returns the events of a stream. The script decides whether the usage and `[DONE]` are among
/// them.
fn stream_events(answer: &Answer, script: &Script, usage: bool) -> Vec<Bytes> {
    let mut events: Vec<Bytes> = answer.chunks().iter().map(event).collect();
    if usage && !script.no_usage {
        events.push(event(&answer.usage_chunk()));
    }
    if !script.no_done {
        events.push(Bytes::from_static(DONE));
    }
    events
}

fn event(data: &Value) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}

/// Converts a stream's events to steps, with the script's faults applied.
fn stream_steps(mut events: Vec<Bytes>, script: &Script, delay: Duration) -> Vec<Step> {
    let half = events.len() / 2;
    let ending = match script.fault {
        Some(Fault::Cut) => {
            events.truncate(half);
            vec![Step::Break]
        }
        Some(Fault::Silent(length)) => {
            events.truncate(length);
            vec![Step::Hang]
        }
        Some(Fault::Error) => {
            events.truncate(half);
            let error = json!({ "message": "Asked to fail.", "type": "server_error" });
            let error_event = event(&json!({ "error": error }));
            vec![Step::Send(error_event), Step::Send(Bytes::from_static(DONE))]
        }
        _ => Vec::new(),
    };

    let pause = || if delay.is_zero() { Step::Flush } else { Step::Wait(delay) };
    events
        .into_iter()
        .flat_map(|it| [pause(), Step::Send(it)])
        .chain([Step::Flush])
        .chain(ending)
        .collect()
}

/// Sends a non-streaming response. Only `demo:slow` delays it, by the duration of its stream.
async fn non_streaming(answer: &Answer, script: &Script, open_call: OpenCall) -> HttpResponse {
    let body = Bytes::from(answer.completion().to_string());

    if let Some(delay) = script.delay {
        let chunks = u32::try_from(answer.chunks().len()).unwrap_or(u32::MAX);
        tokio::time::sleep(delay.saturating_mul(chunks)).await;
    }

    let half = body.slice(..body.len() / 2);

    let last_step = match script.fault {
        Some(Fault::Cut) => Step::Break,
        Some(Fault::Silent(_)) => Step::Hang,
        _ => return HttpResponse::Ok().content_type(ContentType::json()).body(body),
    };
    let length = u64::try_from(body.len()).unwrap_or(u64::MAX);
    let stream = steps::body(vec![Step::Send(half), Step::Flush, last_step], open_call);
    HttpResponse::Ok().content_type(ContentType::json()).body(SizedStream::new(length, stream))
}
