//! Requests of browsers that are signed in to the console.
//!
//! Browsers send the cookie with every request, even one that a foreign page
//! causes. A write must therefore prove that a page of this server made it: JSON
//! calls by a header (`check_forgery`), forms by a field (`check_form`).

use actix_web::HttpRequest;
use actix_web::dev::ServiceRequest;
use actix_web::http::header::HeaderName;
use actix_web::http::{Method, StatusCode};
use pia_identity::{CallerState, ConsoleSessions, Credential};
use pia_kernel::Secret;

use super::{Gates, text};
use crate::ApiError;
use crate::cross_site::is_cross_site;
use crate::routes::{ProofCheck, Route};

/// Header with the CSRF token of the browser.
const CSRF_TOKEN: HeaderName = HeaderName::from_static("x-csrf-token");

impl Gates {
    /// Returns the session of the request's cookie, if the cookie is valid.
    pub(super) fn console_session(&self, request: &ServiceRequest) -> Option<Credential> {
        let cookie = self.console_cookie.read(request.headers())?;
        self.consoles.verify(cookie).map(Credential::Session)
    }

    /// Returns the caller whose session a browser's cookie names, for a page about a refused
    /// request; `None` if the session has ended or cannot be read.
    pub async fn browser_caller(&self, request: &HttpRequest) -> Option<CallerState> {
        let cookie = self.console_cookie.read(request.headers())?;
        let session_ref = self.consoles.verify(cookie)?;
        if let Some(state) = self.callers.cached(session_ref) {
            return Some(state);
        }

        let consoles = self.consoles.clone();
        self.runner.run(async move { consoles.caller(session_ref).await }).await.ok()?
    }

    /// Returns the CSRF token of the request's session.
    pub fn csrf_token(&self, request: &HttpRequest) -> Option<String> {
        self.console_cookie.read(request.headers()).map(ConsoleSessions::csrf_token)
    }

    /// Refuses a write that a page of another site may have sent: it must carry
    /// the CSRF token, and its headers must not name another site. A form
    /// carries the token in its body, where its handler verifies it by
    /// [`Self::check_form`].
    pub(super) fn check_forgery(
        &self,
        request: &ServiceRequest,
        route: &Route,
    ) -> Result<(), ApiError> {
        if [Method::GET, Method::HEAD].contains(request.method()) {
            return Ok(());
        }
        let Some(cookie) = self.console_cookie.read(request.headers()) else {
            return Err(ApiError::unauthenticated());
        };

        let expected = Secret::new(ConsoleSessions::csrf_token(cookie));
        let has_token =
            route.is_page() || text(request, CSRF_TOKEN).is_some_and(|it| expected.ct_eq(it));
        if has_token && !is_cross_site(request.headers(), self.console_cookie.origin()) {
            return Ok(());
        }

        Err(csrf_rejected())
    }

    /// Refuses an act that needs a proof, from a session that neither began nor
    /// proved its owner within the last ten minutes.
    pub(super) async fn check_proof(
        &self,
        caller: CallerState,
        route: &Route,
    ) -> Result<(), ApiError> {
        if route.proof_check == ProofCheck::InHandler {
            return Ok(());
        }
        let session_ref = caller.credential.session().ok_or_else(ApiError::unauthenticated)?;
        let proofs = self.proofs.clone();
        let is_fresh = self.runner.run(async move { proofs.is_fresh(session_ref).await }).await?;
        if is_fresh { Ok(()) } else { Err(ApiError::session_unproved()) }
    }

    /// Refuses a form without the CSRF token of the request's session.
    pub fn check_form(&self, request: &HttpRequest, token: &str) -> Result<(), ApiError> {
        let expected = self.csrf_token(request).map(Secret::new);
        let has_token = expected.is_some_and(|it| it.ct_eq(token));
        if has_token { Ok(()) } else { Err(csrf_rejected()) }
    }
}

fn csrf_rejected() -> ApiError {
    let message = "Send the `X-CSRF-Token` of your session, from a page of this server.";
    ApiError::refused(StatusCode::FORBIDDEN, "csrf_rejected", message)
}
