//! `/metrics`: metrics for Prometheus.

use actix_web::HttpResponse;
use actix_web::http::header::ContentType;
use actix_web::web::Data;
use pia_web::{ApiError, Metrics};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns metrics for Prometheus, to local callers or with the metrics token.
pub(crate) async fn metrics(metrics: Data<Metrics>) -> Result<HttpResponse, ApiError> {
    let text = metrics.text().map_err(ApiError::internal)?;
    let content_type = OPEN_METRICS.parse().map_or_else(|_| ContentType::plaintext(), ContentType);
    Ok(HttpResponse::Ok().insert_header(content_type).body(text))
}
