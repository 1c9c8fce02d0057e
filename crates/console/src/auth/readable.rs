//! Refusals that a person can read.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, CONTENT_TYPE};
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest};

use super::notice::refusal;
use super::visit::Visit;

/// Middleware round the gates: what they refuse on one of these pages, or on a
/// browser's way to a provider and back, it is told by a page; what does not
/// ask for one gets JSON.
pub async fn readable<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let answer = next.call(request).await?;
    if !is_json(&answer) || !is_for_a_browser(answer.request(), answer.status()) {
        return Ok(answer.map_into_left_body());
    }
    let frame = Visit::of(answer.request()).frame;
    let page = refusal(frame, answer.response());
    Ok(answer.into_response(page).map_into_right_body())
}

fn is_json<B>(answer: &ServiceResponse<B>) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE);
    !answer.status().is_success() && kind.is_some_and(|it| it == "application/json")
}

fn is_for_a_browser(request: &HttpRequest, status: StatusCode) -> bool {
    let page = request.path().strip_prefix("/auth/").unwrap_or_default();
    let ours = match page {
        // What is wrong with the address is for whoever has written it.
        "login" | "callback" => status != StatusCode::BAD_REQUEST,
        "error" => true,
        _ => page.rsplit_once('.').is_some_and(|(_, kind)| kind == "html"),
    };
    let accepts = request.headers().get(ACCEPT).and_then(|it| it.to_str().ok());
    ours && accepts.is_some_and(|it| it.contains("text/html"))
}
