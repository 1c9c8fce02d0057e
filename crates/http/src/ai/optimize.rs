//! `POST /api/ai/optimize`: improvement of a text.

use actix_web::http::header::ACCEPT;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_assistant::{OptimizeRequest, OptimizedText};
use pia_web::{Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ai::ai_caller::to_ai_caller;
use crate::ai::events::events;
use crate::ai::provenance::AI_GENERATED;
use crate::{AiApi, HttpError};

/// Rewrites a text according to a template.
pub(crate) async fn optimize(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
    Body(body): Body<OptimizeBody>,
) -> Result<HttpResponse, HttpError> {
    let ai_caller = to_ai_caller(&caller, &request);
    if body.stream.unwrap_or_default() || accepts_only_events(&request) {
        return Ok(events(api.optimize.stream(ai_caller, body.into()).await?));
    }
    let optimized = api.optimize.run(ai_caller, body.into()).await?;
    Ok(HttpResponse::Ok().insert_header(AI_GENERATED).json(OptimizeResponse::from(optimized)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OptimizeBody {
    /// Text of at most `Ai:MaxOptimizeTextLength` UTF-16 code units.
    #[schema(value_type = String)]
    text: Option<String>,
    /// Id of a built-in template, or of the one in `customPrompt`.
    template_id: Option<String>,
    /// Model: one of `GET /api/ai/models`. One that the caller may not use is ignored.
    provider_id: Option<String>,
    /// Language of the result: `EN`, `DE`, `FR`.
    language: Option<String>,
    /// True if the text was spoken.
    is_voice_input: Option<bool>,
    custom_prompt: Option<String>,
    custom_template_name: Option<String>,
    /// True if the response is an event stream.
    stream: Option<bool>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OptimizeResponse {
    result: String,
    /// Same as `result`, for older clients.
    optimized_text: String,
    input_tokens: i64,
    output_tokens: i64,
}

fn accepts_only_events(request: &HttpRequest) -> bool {
    let Some(accepted) = request.headers().get(ACCEPT).and_then(|it| it.to_str().ok()) else {
        return false;
    };
    accepted
        .split(',')
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .all(|media_type| media_type.eq_ignore_ascii_case("text/event-stream"))
}

impl From<OptimizeBody> for OptimizeRequest {
    fn from(body: OptimizeBody) -> Self {
        Self {
            text: body.text.unwrap_or_default(),
            template: body.template_id,
            provider: body.provider_id,
            language: body.language,
            is_voice_input: body.is_voice_input.unwrap_or_default(),
            custom_prompt: body.custom_prompt,
            custom_template_name: body.custom_template_name,
        }
    }
}

impl From<OptimizedText> for OptimizeResponse {
    fn from(optimized: OptimizedText) -> Self {
        let OptimizedText { text, usage } = optimized;
        Self {
            result: text.clone(),
            optimized_text: text,
            input_tokens: usage.input,
            output_tokens: usage.output,
        }
    }
}
