//! `POST /api/ai/chat`: a turn of a conversation.

use actix_web::http::header::ContentType;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_assistant::ChatAnswer;
use pia_web::{Caller, RawBody};
use utoipa::ToSchema;

use crate::ai::ai_caller::to_ai_caller;
use crate::ai::events::events;
use crate::ai::provenance::AI_GENERATED;
use crate::{AiApi, HttpError};

/// Runs on the worker, which owns the upstream connection: if the client
/// disconnects, the call is dropped and ends.
pub(crate) async fn chat(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
    body: RawBody,
) -> Result<HttpResponse, HttpError> {
    RawBody::expect_json(&request)?;
    match api.chat.answer(to_ai_caller(&caller, &request), body.into_bytes()).await? {
        ChatAnswer::Complete(answer) => {
            let response = HttpResponse::Ok()
                .insert_header(ContentType::json())
                .insert_header(AI_GENERATED)
                .body(answer);
            Ok(response)
        }
        ChatAnswer::Stream(answer) => Ok(events(*answer)),
    }
}

/// Request in the format of OpenAI's chat completions.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ChatRequest {
    /// Messages, at least one; each has a `role`, and most have a `content`.
    #[schema(min_items = 1, max_items = 2000)]
    messages: Vec<serde_json::Value>,
    /// Model: one of `GET /api/ai/models`. One that the caller may not use is ignored.
    model: Option<String>,
    /// True if the response is an event stream.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Tools. Without any, `tool_choice` and `parallel_tool_calls` are not forwarded.
    #[schema(max_items = 2000)]
    tools: Option<Vec<serde_json::Value>>,
    tool_choice: Option<serde_json::Value>,
    parallel_tool_calls: Option<bool>,
    #[schema(minimum = 0, maximum = 2)]
    temperature: Option<f64>,
    #[schema(minimum = 0, maximum = 1)]
    top_p: Option<f64>,
    #[schema(minimum = -2, maximum = 2)]
    presence_penalty: Option<f64>,
    #[schema(minimum = -2, maximum = 2)]
    frequency_penalty: Option<f64>,
    /// Maximum number of tokens in the response. The smaller of this and
    /// `max_completion_tokens` applies, and a budget may leave room for fewer.
    #[schema(minimum = 1)]
    max_tokens: Option<i64>,
    /// Newer name of `max_tokens`.
    #[schema(minimum = 1)]
    max_completion_tokens: Option<i64>,
    /// Reasoning effort: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`,
    /// in any case. Anything else is ignored.
    reasoning_effort: Option<String>,
    metadata: Option<ChatMetadata>,
    /// Number of answers; must be 1.
    #[schema(minimum = 1, maximum = 1)]
    n: Option<i64>,
    /// Text at which the response ends, or a list of such texts.
    stop: Option<serde_json::Value>,
    seed: Option<i64>,
    response_format: Option<serde_json::Value>,
    logit_bias: Option<serde_json::Value>,
    logprobs: Option<bool>,
    top_logprobs: Option<i64>,
}

/// Options of a streamed response.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct StreamOptions {
    /// True for a final chunk with the total usage.
    include_usage: Option<bool>,
}

/// Metadata for the server, which is not forwarded. Unknown keys and invalid values are
/// ignored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ChatMetadata {
    /// Type of the persona, such as `code`, at most 50 characters; blank is `general`.
    /// In the mode `assistant` it selects the model that the caller's group has for the
    /// type, unless the group has one for the mode.
    pia_persona_type: Option<String>,
}

/// Response of the upstream in the format of OpenAI's chat completions.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ChatResponse {
    id: Option<String>,
    /// `chat.completion`.
    object: Option<String>,
    /// Seconds since 1970.
    created: Option<i64>,
    choices: Vec<serde_json::Value>,
    model: Option<String>,
    usage: Option<serde_json::Value>,
}
