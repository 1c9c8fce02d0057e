//! `POST /admin/logout`: sign-out of the console.

use actix_web::HttpResponse;
use actix_web::http::header::SET_COOKIE;
use actix_web::web::Data;
use pia_identity::RevokeError;
use pia_web::{ApiError, Caller, Gates};

use crate::Api;
use crate::auth::Done;

/// Signs out of the console.
pub(crate) async fn logout(
    caller: Caller,
    api: Data<Api>,
    gates: Data<Gates>,
) -> Result<HttpResponse, ApiError> {
    let session = caller.session_ref()?;
    api.run(|api| async move {
        match api.identity.consoles.end(session).await {
            // It has already ended.
            Err(RevokeError::Unknown | RevokeError::Gone) => Ok(()),
            result => result,
        }
    })
    .await?;
    let cookie = gates.console_cookie.clear();

    Ok(HttpResponse::Ok().insert_header((SET_COOKIE, cookie)).json(Done::success()))
}
