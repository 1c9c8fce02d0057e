//! `POST /api/ai/chat`: a turn of a conversation.

use actix_web::http::header::ContentType;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_assistant::ChatAnswer;
use pia_web::{ApiError, Caller, RawBody};
use utoipa::ToSchema;

use crate::AiApi;
use crate::ai::asker::asker;
use crate::ai::events::events;
use crate::ai::provenance::AI_GENERATED;

/// A request in the shape of OpenAI's chat completions. It is read in place
/// and never made into this: it may hold megabytes of pictures.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ChatRequest {
    messages: Vec<serde_json::Value>,
    /// One of `GET /api/ai/models`; what the caller may not use is ignored.
    model: Option<String>,
    stream: Option<bool>,
    stream_options: Option<serde_json::Value>,
    tools: Option<Vec<serde_json::Value>>,
    tool_choice: Option<serde_json::Value>,
    temperature: Option<f64>,
    max_tokens: Option<i64>,
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

/// Runs on the worker, where the upstream connection lives: dropped with the
/// client that has gone, it ends the call.
pub(crate) async fn chat(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
    body: RawBody,
) -> Result<HttpResponse, ApiError> {
    RawBody::expect_json(&request)?;
    match api.chat.answer(asker(&caller, &request), body.into_bytes()).await? {
        ChatAnswer::Whole(answer) => {
            let answered = HttpResponse::Ok()
                .insert_header(ContentType::json())
                .insert_header(AI_GENERATED)
                .body(answer);
            Ok(answered)
        }
        ChatAnswer::Stream(answer) => Ok(events(*answer)),
    }
}
