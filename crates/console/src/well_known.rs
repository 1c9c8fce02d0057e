//! Well-known URLs that password managers use.

use actix_web::HttpResponse;
use actix_web::http::header::LOCATION;
use actix_web::web::Json;
use serde::Serialize;

/// Pages that manage passkeys: none.
#[derive(Serialize)]
pub(crate) struct PasskeyEndpoints {}

/// Redirects to the page that changes a password: by an emailed link, since
/// browsers have no session here.
///
/// Source: <https://w3c.github.io/webappsec-change-password-url/>.
pub(crate) async fn change_password() -> HttpResponse {
    HttpResponse::Found().insert_header((LOCATION, "../auth/forgot-password.html")).finish()
}

/// Reports that accounts may have passkeys. They are managed in the app, so no
/// page is named.
///
/// Source: <https://w3c.github.io/webappsec-passkey-endpoints/>.
pub(crate) async fn passkey_endpoints() -> Json<PasskeyEndpoints> {
    Json(PasskeyEndpoints {})
}
