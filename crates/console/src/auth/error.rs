//! `/auth/error`: page for a failed sign-in in the browser.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};

use utoipa::ToSchema;

use super::notice::Notice;
use super::page_request::PageRequest;

/// Query of the page.
#[derive(ToSchema)]
#[expect(dead_code, reason = "pages read their addresses alike; this describes one")]
pub(crate) struct ErrorQuery {
    /// Code of the failure; an unknown one gets a general message.
    reason: Option<String>,
    /// `en` or `de`; the browser's languages apply by default.
    lang: Option<String>,
}

/// Renders the message for the reason.
pub(crate) async fn show(request: HttpRequest) -> HttpResponse {
    let (layout, query) = match PageRequest::from_request(&request).query() {
        Ok(parsed) => parsed,
        Err(page) => return *page,
    };
    let texts = &layout.texts.reasons;
    let paragraphs = vec![texts.reason_text(&query.reason), texts.then];
    let parameters = [("reason", query.reason.as_str())];
    Notice::with_paragraphs(layout.with_parameters(&parameters), texts.title, paragraphs)
        .response(StatusCode::OK)
}

#[cfg(test)]
mod tests;
