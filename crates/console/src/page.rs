//! HTTP responses of pages: not stored, not framed, and able to load nothing
//! but the style sheet, the script and the icon of this server.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CROSS_ORIGIN_OPENER_POLICY, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpResponse, ResponseError as _};
use askama::Template;
use pia_web::ApiError;

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
/// Policy of the pages of accounts and of the console: for passkeys and JSON a
/// script, which sends requests to this server, and for authenticator apps a QR
/// code.
const SCRIPTED_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
                               connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                               base-uri 'none'; frame-ancestors 'none'";

/// Renders a template as an HTTP response.
pub(crate) fn page(status: StatusCode, template: &impl Template) -> HttpResponse {
    let html = match template.render() {
        Ok(html) => html,
        Err(err) => return ApiError::internal(err).error_response(),
    };

    HttpResponse::build(status)
        .content_type("text/html; charset=utf-8")
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .insert_header((CROSS_ORIGIN_OPENER_POLICY, "same-origin"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(html)
}

/// Renders a template with the script of the pages.
pub(crate) fn scripted_page(status: StatusCode, template: &impl Template) -> HttpResponse {
    let mut response = page(status, template);
    let headers = response.headers_mut();
    let policy = HeaderValue::from_static(SCRIPTED_POLICY);
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    // Otherwise browsers would send the forms without an origin.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// Serves the style sheet of all pages.
pub(crate) async fn style() -> HttpResponse {
    asset("text/css; charset=utf-8", include_str!("../assets/style.css"))
}

/// Serves the script of the pages.
pub(crate) async fn script() -> HttpResponse {
    asset("text/javascript; charset=utf-8", include_str!("../assets/pages.js"))
}

/// Serves the icon of all pages.
pub(crate) async fn icon() -> HttpResponse {
    asset("image/svg+xml", include_str!("../assets/icon.svg"))
}

fn asset(content_type: &'static str, text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(content_type)
        .insert_header((CACHE_CONTROL, "max-age=300"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(text)
}
