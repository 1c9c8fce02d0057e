//! `POST /v1/responses`: OpenAI's responses API, translated to chat completions
//! and back.
//!
//! `request.rs` translates the request, `Chat` of the assistant answers it as a chat
//! completion, and `answer.rs` (full) or `stream.rs` (event by event) translates the
//! answer back. Nothing is stored, so a request contains its whole conversation.

mod answer;
mod members;
mod request;
mod stream;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use futures_util::StreamExt;
use pia_assistant::ChatAnswer;
use pia_web::{ApiError, Caller, RawBody};
use utoipa::ToSchema;

use crate::ai::ai_caller::to_ai_caller;
use crate::ai::events::events;
use crate::ai::provenance::AI_GENERATED;
use crate::{AiApi, HttpError};
use answer::Response;

/// Maximum number of array values; longer conversations exceed the limit of
/// 2,000 messages.
const MAX_VALUES: usize = 200_000;

/// Runs on the worker, which owns the upstream connection.
pub(crate) async fn responses(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
    body: RawBody,
) -> Result<HttpResponse, HttpError> {
    RawBody::expect_json(&request)?;
    body.expect_values(MAX_VALUES)?;
    let translated = request::parse(&body.into_bytes())?;
    let response = Response::new(translated.echo);

    match api.chat.answer(to_ai_caller(&caller, &request), translated.chat).await? {
        ChatAnswer::Complete(answer) => {
            let answer = response.complete_with(&answer).map_err(ApiError::internal)?;
            Ok(HttpResponse::Ok().insert_header(AI_GENERATED).json(answer))
        }
        ChatAnswer::Stream(answer) => {
            let mut translator = stream::Events::new(response);
            Ok(events(answer.map(move |it| translator.translate(&it))))
        }
    }
}

/// Request in the format of OpenAI's responses, as far as it maps onto a chat
/// completion. Unknown members are ignored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ResponsesRequest {
    /// Text, or items of the conversation: messages, function calls and their outputs.
    /// Reasoning items are ignored.
    input: serde_json::Value,
    /// Model: one of `GET /v1/models`.
    model: Option<String>,
    /// Instructions before the conversation, as a system message.
    instructions: Option<String>,
    /// True if the response is an event stream.
    stream: Option<bool>,
    #[schema(minimum = 1)]
    max_output_tokens: Option<i64>,
    #[schema(minimum = 0, maximum = 2)]
    temperature: Option<f64>,
    #[schema(minimum = 0, maximum = 1)]
    top_p: Option<f64>,
    /// Functions.
    #[schema(max_items = 2000)]
    tools: Option<Vec<serde_json::Value>>,
    tool_choice: Option<serde_json::Value>,
    parallel_tool_calls: Option<bool>,
    /// Reasoning options; only `effort` is used.
    reasoning: Option<serde_json::Value>,
    /// Text options; only `format` is used.
    text: Option<serde_json::Value>,
    /// Metadata that is returned with the response.
    metadata: Option<serde_json::Value>,
}

/// Response in the format of OpenAI's responses.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ResponsesResponse {
    id: String,
    /// `response`.
    object: String,
    /// Seconds since 1970.
    created_at: i64,
    /// `completed` or `incomplete`.
    status: String,
    model: String,
    /// Message, function calls, or both.
    output: Vec<serde_json::Value>,
    usage: Option<serde_json::Value>,
}
