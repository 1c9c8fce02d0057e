//! `POST /api/ai-feedback`.

use actix_web::HttpResponse;
use actix_web::web::Data;
use pia_kernel::Timestamp;
use pia_policy::FeedbackDraft;
use pia_web::{Body, Caller};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{Api, HttpError};

/// Reports an answer of the assistant, or rates it.
pub(crate) async fn submit(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<AiFeedbackRequest>,
) -> Result<HttpResponse, HttpError> {
    let user = caller.0.user;
    let draft = request.into();
    let receipt = api.run(|api| async move { api.feedback.submit(user, draft).await }).await?;
    let delivery = if receipt.notified { "notified" } else { "stored_only" };
    let body = AiFeedbackReceipt { id: receipt.id.to_string(), delivery };
    Ok(HttpResponse::Accepted().json(body))
}

/// Report on an answer. Keys that are not listed are stored as they came.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AiFeedbackRequest {
    /// 1.
    #[schema(value_type = i32)]
    schema_version: Option<i32>,
    /// Id that the client gave the rated message.
    #[schema(value_type = Uuid)]
    message_id: Option<Uuid>,
    chat_id: Option<Uuid>,
    /// `up` or `down`.
    #[schema(value_type = String)]
    rating: Option<String>,
    /// Up to 10,000 characters.
    comment: Option<String>,
    /// Text of the answer, if the user adds it: up to 200,000 characters.
    answer_text: Option<String>,
    /// True if personal data in the texts was replaced by tokens.
    #[schema(value_type = bool)]
    pii_tokenized: Option<bool>,
    privacy_concern: Option<bool>,
    /// Model, as the client labels it.
    model: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    answered_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    reported_at: Option<Timestamp>,
    app_version: Option<String>,
    locale: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    extension: Map<String, Value>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AiFeedbackReceipt {
    id: String,
    /// `notified` if an email is on its way to the operator, otherwise
    /// `stored_only`.
    delivery: &'static str,
}

impl From<AiFeedbackRequest> for FeedbackDraft {
    fn from(request: AiFeedbackRequest) -> Self {
        Self {
            schema_version: request.schema_version,
            message_id: request.message_id,
            chat_id: request.chat_id,
            rating: request.rating,
            comment: request.comment,
            answer_text: request.answer_text,
            pii_tokenized: request.pii_tokenized,
            privacy_concern: request.privacy_concern,
            model: request.model,
            answered_at: request.answered_at,
            reported_at: request.reported_at,
            app_version: request.app_version,
            locale: request.locale,
            extension: request.extension,
        }
    }
}
