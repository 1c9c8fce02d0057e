//! `POST /api/ai/chat`: a turn of a conversation.

use actix_web::http::header::ContentType;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_assistant::ChatAnswer;
use pia_web::{Caller, RawBody};
use utoipa::ToSchema;

use crate::ai::ai_caller::ai_caller;
use crate::ai::events::events;
use crate::ai::provenance::AI_GENERATED;
use crate::{AiApi, HttpError};

/// A request in the shape of OpenAI's chat completions. It is read in place
/// and never made into this: it may hold megabytes of pictures.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ChatRequest {
    /// Messages, at least one; each has a `role` and most a `content`.
    #[schema(min_items = 1, max_items = 2000)]
    messages: Vec<serde_json::Value>,
    /// One of `GET /api/ai/models`; what the caller may not use is ignored.
    model: Option<String>,
    /// True if the response is an event stream.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Without any, `tool_choice` and `parallel_tool_calls` are not passed on.
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
    /// The newer name of `max_tokens`; both go by what the model understands.
    #[schema(minimum = 1)]
    max_completion_tokens: Option<i64>,
    /// Reasoning effort: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`,
    /// in any case. Anything else is ignored.
    reasoning_effort: Option<String>,
    metadata: Option<ChatMetadata>,
    /// Number of answers; must be 1.
    #[schema(minimum = 1, maximum = 1)]
    n: Option<i64>,
    /// The text at which the answer ends, or a list of such.
    stop: Option<serde_json::Value>,
    seed: Option<i64>,
    response_format: Option<serde_json::Value>,
    logit_bias: Option<serde_json::Value>,
    logprobs: Option<bool>,
    top_logprobs: Option<i64>,
}

/// Options of a streamed answer.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct StreamOptions {
    /// True if one more chunk reports the total usage.
    include_usage: Option<bool>,
}

/// Read here and never passed on. Other keys, and a value that is none, are
/// ignored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ChatMetadata {
    /// Strength of the persona, such as `code`, at most 50 characters; blank is
    /// `general`. In the mode `assistant` it chooses the model that the
    /// caller's group has for it, unless it has one for the mode.
    pia_persona_type: Option<String>,
}

/// An answer in the shape of OpenAI's chat completions, as the upstream gave it.
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

/// Runs on the worker, which owns the upstream connection: if the client
/// disconnects, the call is dropped and ends.
pub(crate) async fn chat(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
    body: RawBody,
) -> Result<HttpResponse, HttpError> {
    RawBody::expect_json(&request)?;
    match api.chat.answer(ai_caller(&caller, &request), body.into_bytes()).await? {
        ChatAnswer::Whole(answer) => {
            let response = HttpResponse::Ok()
                .insert_header(ContentType::json())
                .insert_header(AI_GENERATED)
                .body(answer);
            Ok(response)
        }
        ChatAnswer::Stream(answer) => Ok(events(*answer)),
    }
}
