//! Well-known URLs at which password managers look for pages.

use actix_web::HttpResponse;
use actix_web::http::header::LOCATION;
use actix_web::web::Json;
use serde::Serialize;

/// The pages where passkeys are added and removed: none.
#[derive(Serialize)]
pub(crate) struct PasskeyEndpoints {}

/// Leads to where a password is changed: by a mailed link, for browsers have
/// no session here.
///
/// Source: <https://w3c.github.io/webappsec-change-password-url/>.
pub(crate) async fn change_password() -> HttpResponse {
    HttpResponse::Found().insert_header((LOCATION, "../auth/forgot-password.html")).finish()
}

/// Reports that accounts may have passkeys. Those are added and removed in the
/// app, so that no page is named.
///
/// Source: <https://w3c.github.io/webappsec-passkey-endpoints/>.
pub(crate) async fn passkey_endpoints() -> Json<PasskeyEndpoints> {
    Json(PasskeyEndpoints {})
}
