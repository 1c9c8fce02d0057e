//! `POST /v1/embeddings`: embeddings of texts.

use actix_web::http::header::ContentType;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_web::{Caller, RawBody};
use utoipa::ToSchema;

use crate::ai::ai_caller::to_ai_caller;
use crate::{AiApi, HttpError};

/// Maximum number of array values: OpenAI's limit of tokens per request, and a
/// margin.
const MAX_VALUES: usize = 400_000;

/// Runs on the worker, which owns the upstream connection.
pub(crate) async fn embeddings(
    caller: Caller,
    request: HttpRequest,
    api: Data<AiApi>,
    body: RawBody,
) -> Result<HttpResponse, HttpError> {
    RawBody::expect_json(&request)?;
    body.expect_values(MAX_VALUES)?;
    let response =
        api.embeddings.answer(to_ai_caller(&caller, &request), &body.into_bytes()).await?;
    Ok(HttpResponse::Ok().insert_header(ContentType::json()).body(response))
}

/// Request in the format of OpenAI's embeddings. Unknown members are not forwarded.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct EmbeddingsRequest {
    /// Embedding model of `GET /v1/models`.
    #[schema(min_length = 1)]
    model: String,
    /// Text, list of 1 to 2048 texts, or tokens of one or several texts; none empty.
    input: serde_json::Value,
    /// `float` or `base64`.
    #[schema(pattern = "^(float|base64)$")]
    encoding_format: Option<String>,
    /// Number of dimensions of a vector, if the model can choose it.
    #[schema(minimum = 1, maximum = 65535)]
    dimensions: Option<u16>,
}

/// Response of the upstream in the format of OpenAI's embeddings.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct EmbeddingsResponse {
    /// `list`.
    object: Option<String>,
    /// Vectors in the order of the texts.
    data: Vec<serde_json::Value>,
    model: Option<String>,
    usage: Option<serde_json::Value>,
}
