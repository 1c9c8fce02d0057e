//! Gates before every route, in a fixed order: licence, identity (only the
//! token's signature), rate limit, account, proof, feature, length of the body.
//!
//! Begin at `decide`, which finds the row, and `check_access`, which applies it.
//! `gates/credential.rs` identifies the caller without the database where possible,
//! `caller.rs` checks the account and its role, `console.rs` forged requests and
//! proofs. The results travel in the request's extensions to the extractors of
//! `extract.rs`, which never decide anything.

mod caller;
mod console;
mod credential;
mod licence;
mod service;

use std::sync::Arc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderName, UPGRADE};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use pia_identity::{
    AccessTokens, AccountRules, ApiKeyAuthenticator, CallerCache, ConsoleSessions, Credential,
    RateLimitOutcome, ScimClient, ScimScope, ScimTokens, SessionProofs,
};
use pia_kernel::{Clock, LiveSetting, Secret, UserId};
use pia_policy::LicenceState;

use crate::budgets::{Budget, Budgets, Payer};
use crate::client_address::ClientAddress;
use crate::extract::{BodyLimit, RateLimitPayer, ServiceCaller};
use crate::routes::{Access, CountedAgainst, Licensing, RateLimit, Route, RouteMatch, RouteTable};
use crate::{ApiError, Caller, ConsoleCookie, PresentedCredential, Runner, ScimCaller};

/// Dependencies of the gates.
pub struct Gates {
    /// All routes.
    pub table: RouteTable,
    /// Verification of access tokens.
    pub tokens: AccessTokens,
    /// State of accounts and sessions.
    pub callers: CallerCache,
    /// Verification of API keys.
    pub keys: ApiKeyAuthenticator,
    /// Verification of the console's cookies.
    pub consoles: ConsoleSessions,
    /// Recent proofs of the owners of sessions.
    pub proofs: SessionProofs,
    /// Cookie of the console.
    pub console_cookie: ConsoleCookie,
    /// Verification of SCIM tokens.
    pub scim_tokens: ScimTokens,
    /// Rate limits of callers.
    pub budgets: Arc<Budgets>,
    /// Licence in force.
    pub licence: LiveSetting<LicenceState>,
    /// URL of the setup page: `https://…/admin/setup`, or only the path if the
    /// public URL is not configured.
    pub setup_url: String,
    /// Requirements that accounts must meet first.
    pub rules: LiveSetting<AccountRules>,
    /// Token that opens [`Access::Operator`]; without one, only calls from the
    /// local machine do.
    pub metrics_token: LiveSetting<Option<Secret<String>>>,
    /// Service key that opens [`Access::Service`]; without one, or with an
    /// empty one, these routes do not exist.
    pub ingest_key: LiveSetting<Option<Secret<String>>>,
    /// Clock that decides whether a licence has expired.
    pub clock: Arc<dyn Clock>,
    /// Runner of database queries.
    pub runner: Runner,
}

/// Middleware that admits a request to its handler, or refuses it.
///
/// Routes that are registered outside the table are refused: they declare no
/// access.
pub async fn admit<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let gates = request
        .app_data::<web::Data<Gates>>()
        .cloned()
        .ok_or_else(|| ApiError::internal("no gates are configured"))?;
    match gates.decide(&request).await {
        Ok(()) => Ok(next.call(request).await?.map_into_left_body()),
        Err(refusal) => Ok(request.error_response(refusal).map_into_right_body()),
    }
}

impl Gates {
    /// Returns whether a page can be opened at the paths of a pattern.
    pub fn has_page(&self, pattern: &str) -> bool {
        self.table.iter().any(|it| it.method == Method::GET && it.path == pattern)
    }

    async fn decide(&self, request: &ServiceRequest) -> Result<(), ApiError> {
        let pattern = request.match_pattern().unwrap_or_default();
        let route_match = self.table.find(request.method(), &pattern, |it| self.is_served(it));
        let accepts_websocket =
            matches!(&route_match, RouteMatch::Route(route) if route.access == Access::Pod);
        if requests_websocket(request) && !accepts_websocket {
            return Err(no_websocket());
        }

        let licensing = match &route_match {
            RouteMatch::Route(route) => route.licensing,
            // An unlicensed server reports it on every path.
            RouteMatch::OtherMethods(_) | RouteMatch::Nothing => Licensing::MayHaveEnded,
        };
        self.check_licence(licensing)?;

        match route_match {
            RouteMatch::Route(route) => self.check_access(request, route).await,
            RouteMatch::OtherMethods(allowed) => Err(ApiError::other_methods(&allowed)),
            RouteMatch::Nothing => Err(ApiError::no_such_path()),
        }
    }

    /// Checks the rules of a route. Calls are counted before a caller is
    /// refused, so that guessing tokens is limited; and callers are refused
    /// before the body is read.
    async fn check_access(&self, request: &ServiceRequest, route: &Route) -> Result<(), ApiError> {
        let credential = self.identify(request, route).await?;
        let user = match route.counted_against {
            CountedAgainst::Caller => credential.map(Credential::user),
            CountedAgainst::Address => None,
        };
        let payer = payer_of(request, user);
        if let (RateLimit::AtGate(budget), Some(payer)) = (route.rate_limit, payer) {
            self.count(budget, payer).await?;
        }

        match route.access {
            Access::Anonymous | Access::Pod => {}
            Access::Bearer
            | Access::KbManager
            | Access::Owner
            | Access::OwnerOrGone
            | Access::Console(_)
            | Access::GroupConsole(_)
            | Access::ConsolePage(_)
            | Access::GroupPage(_)
            | Access::AccountPage => {
                let state = self.check_caller(request, credential, route).await?;
                request.extensions_mut().insert(Caller(state));
            }
            Access::Operator => self.check_operator(request)?,
            Access::Scim(scope) => {
                let client = self.scim_client(request, scope).await?;
                request.extensions_mut().insert(ScimCaller(client));
            }
            Access::Service => {
                self.check_service_key(request)?;
                request.extensions_mut().insert(ServiceCaller);
            }
        }

        self.check_feature(route)?;
        check_content_length(request, route)?;
        let mut extensions = request.extensions_mut();
        extensions.insert(BodyLimit(route.body_limit));
        extensions.insert(PresentedCredential(credential.and_then(Credential::session)));

        if let (RateLimit::InHandler(budget), Some(payer)) = (route.rate_limit, payer) {
            extensions.insert(RateLimitPayer { budget, default_payer: payer });
        }

        Ok(())
    }

    /// Counts a call against the budget of a payer, in memory or in the database.
    pub(crate) async fn count(&self, budget: Budget, payer: Payer) -> Result<(), ApiError> {
        let outcome = if let Some(outcome) = self.budgets.take_local(budget, payer) {
            outcome
        } else {
            let budgets = Arc::clone(&self.budgets);
            self.runner.run(async move { budgets.take_shared(budget, payer).await }).await?
        };
        match outcome {
            RateLimitOutcome::Allowed => Ok(()),
            RateLimitOutcome::Wait(wait) => Err(ApiError::over_budget(wait)),
        }
    }

    /// Checks the metrics token. If one is configured, it is required from the
    /// local machine too: behind a proxy on this machine, all callers look
    /// local.
    fn check_operator(&self, request: &ServiceRequest) -> Result<(), ApiError> {
        let is_admitted = match &*self.metrics_token.get() {
            Some(token) => bearer(request).is_some_and(|it| token.ct_eq(it)),
            None => {
                request.extensions().get::<ClientAddress>().is_some_and(ClientAddress::is_local)
            }
        };
        if is_admitted { Ok(()) } else { Err(ApiError::unauthenticated()) }
    }

    async fn scim_client(
        &self,
        request: &ServiceRequest,
        scope: ScimScope,
    ) -> Result<ScimClient, ApiError> {
        let token = bearer(request)
            .map(|it| Secret::new(it.to_owned()))
            .ok_or_else(ApiError::unauthenticated)?;
        let tokens = self.scim_tokens.clone();
        let client = self
            .runner
            .run(async move { tokens.authenticate(&token).await })
            .await?
            .ok_or_else(ApiError::unauthenticated)?;
        if !client.scopes.contains(&scope) {
            let message = format!("The token does not have the scope `{}`.", scope.name());
            return Err(ApiError::refused(StatusCode::FORBIDDEN, "forbidden", message));
        }

        Ok(client)
    }
}

fn payer_of(request: &ServiceRequest, user: Option<UserId>) -> Option<Payer> {
    if let Some(user) = user {
        return Some(Payer::User(user));
    }
    let address = request.extensions().get::<ClientAddress>().map(|it| it.ip);
    address.flatten().map(Payer::address)
}

/// Returns the access token or API key of a request. No other code reads it.
fn bearer(request: &ServiceRequest) -> Option<&str> {
    let (scheme, token) = text(request, AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(token.trim())
}

/// Returns whether a request requests an upgrade. The HTTP parser would take
/// all further bytes of its connection for the body of this request.
///
/// An unreadable value counts as one: another program on the way may interpret
/// it.
fn requests_websocket(request: &ServiceRequest) -> bool {
    request.headers().get_all(UPGRADE).any(|value| match value.to_str() {
        Ok(names) => names.to_ascii_lowercase().contains("websocket"),
        Err(_unreadable) => true,
    })
}

fn no_websocket() -> ApiError {
    let message = "There is no WebSocket here.";
    ApiError::refused(StatusCode::BAD_REQUEST, "upgrade_not_supported", message).closing()
}

fn check_content_length(request: &ServiceRequest, route: &Route) -> Result<(), ApiError> {
    let length = text(request, CONTENT_LENGTH).and_then(|it| it.parse::<usize>().ok());
    match length {
        Some(length) if length > route.body_limit => Err(ApiError::too_large(route.body_limit)),
        _ => Ok(()),
    }
}

fn text(request: &ServiceRequest, name: HeaderName) -> Option<&str> {
    request.headers().get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests;
