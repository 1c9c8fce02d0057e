//! Telling forms from what else may be sent.

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_TYPE;

/// Whether the body is what a form's is by default.
pub(crate) fn is_form(request: &HttpRequest) -> bool {
    let given = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}
