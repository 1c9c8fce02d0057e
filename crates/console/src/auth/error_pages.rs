//! Refusals that a person can read.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, LOCATION};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, HttpResponse};
use pia_web::{Dialect, reads_pages};

use super::notice::refusal;
use super::page_request::PageRequest;

/// Middleware round the gates: what they refuse on one of these pages, or on a
/// browser's way to a provider and back, it is reported by a page, and so is that
/// there is nothing where somebody looked; what does not ask for one gets JSON.
/// Whoever opens a server without a licence is led to where it is set up.
pub async fn render_errors<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let answer = next.call(request).await?;
    if is_unlicensed_front(&answer) {
        let page =
            format!("admin/setup{}", PageRequest::from_request(answer.request()).frame.suffix);
        let to_set_up = HttpResponse::Found().insert_header((LOCATION, page)).finish();
        return Ok(answer.into_response(to_set_up).map_into_right_body());
    }
    if !is_json(&answer) || !is_for_a_browser(answer.request(), answer.status()) {
        return Ok(answer.map_into_left_body());
    }
    let frame =
        PageRequest::from_request(answer.request()).frame.with_base_for(answer.request().path());
    let page = refusal(frame, answer.response());
    Ok(answer.into_response(page).map_into_right_body())
}

/// Returns whether the front page of a server that is not yet set up was
/// opened.
fn is_unlicensed_front<B>(answer: &ServiceResponse<B>) -> bool {
    let request = answer.request();
    answer.status() == StatusCode::FORBIDDEN
        && request.method() == Method::GET
        && request.path() == "/"
        && reads_pages(request.headers())
}

fn is_json<B>(answer: &ServiceResponse<B>) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE);
    !answer.status().is_success() && kind.is_some_and(|it| it == "application/json")
}

fn is_for_a_browser(request: &HttpRequest, status: StatusCode) -> bool {
    let path = request.path();
    let ours = path == "/admin/setup"
        || match path.strip_prefix("/auth/").unwrap_or_default() {
            "login" | "callback" | "error" => true,
            page => page.rsplit_once('.').is_some_and(|(_, kind)| kind == "html"),
        };
    (ours || is_unknown_page(request.method(), path, status)) && reads_pages(request.headers())
}

/// Returns whether a page was opened that does not exist. Only programs call
/// paths below `/api` and `/v1`.
fn is_unknown_page(method: &Method, path: &str, status: StatusCode) -> bool {
    let opens = matches!(*method, Method::GET | Method::HEAD);
    let is_for_programs = path.starts_with("/api/") || Dialect::from_path(path) != Dialect::Pia;
    opens && status == StatusCode::NOT_FOUND && !is_for_programs
}
