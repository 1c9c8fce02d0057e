//! `/auth/error`: where a sign-in in the browser that failed ends.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};

use utoipa::ToSchema;

use super::notice::Notice;
use super::page_request::PageRequest;

/// Query of the page.
#[derive(ToSchema)]
#[expect(dead_code, reason = "pages read their addresses alike; this describes one")]
pub(crate) struct ErrorQuery {
    /// The code of a failure; of one that the page does not know it says that
    /// the sign-in failed.
    reason: Option<String>,
    /// `en` or `de`; without it the browser's languages decide.
    lang: Option<String>,
}

/// Says why, as far as the reason is one that we know.
pub(crate) async fn show(request: HttpRequest) -> HttpResponse {
    let (frame, query) = match PageRequest::from_request(&request).query() {
        Ok(visit) => visit,
        Err(page) => return *page,
    };
    let texts = &frame.texts.reasons;
    let paragraphs = vec![texts.reason_text(&query.reason), texts.then];
    let stored = [("reason", query.reason.as_str())];
    Notice::saying(frame.keeping_parameters(&stored), texts.title, paragraphs)
        .answer(StatusCode::OK)
}

#[cfg(test)]
mod tests;
