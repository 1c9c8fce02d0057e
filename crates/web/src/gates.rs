//! Gates before every route, in a fixed order: licence, identity (only the
//! token's signature), rate limit, account, proof, feature, length of the body.

mod console;
mod credential;
mod service;

use std::sync::Arc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderName, UPGRADE};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use pia_identity::{
    AccessTokens, AccountRules, ApiKeyAuthenticator, CallerCache, CallerState, ConsoleSessions,
    Credential, RateLimitOutcome, Role, ScimClient, ScimScope, ScimTokens, SessionProofs,
    SessionScope,
};
use pia_kernel::{Clock, LiveSetting, Secret, UserId};
use pia_policy::{LicenceState, Licensed};

use crate::budgets::{Budget, Budgets, Payer};
use crate::client_address::ClientAddress;
use crate::extract::{BodyLimit, RateLimitPayer, ServiceCaller};
use crate::routes::{
    Access, AccountScope, CountedAgainst, Licensing, RateLimit, Route, RouteMatch, RouteTable,
};
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
    /// Returns whether the licence includes the feature of the route that a request
    /// with this method and path reaches.
    pub fn includes_feature_of(&self, method: &Method, path: &str) -> bool {
        let mut routes = self.table.iter();
        let route = routes.find(|it| it.method == *method && it.matches(path));
        route.is_none_or(|it| self.check_feature(it).is_ok())
    }

    /// Returns whether a page can be opened at the paths of a pattern.
    pub fn has_page(&self, pattern: &str) -> bool {
        self.table.iter().any(|it| it.method == Method::GET && it.path == pattern)
    }

    async fn decide(&self, request: &ServiceRequest) -> Result<(), ApiError> {
        let pattern = request.match_pattern().unwrap_or_default();
        let route_match = self.table.find(request.method(), &pattern, |it| self.is_served(it));
        let is_hub =
            matches!(&route_match, RouteMatch::Route(route) if route.access == Access::Pod);
        if requests_websocket(request) && !is_hub {
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

    fn check_licence(&self, required: Licensing) -> Result<(), ApiError> {
        if required == Licensing::NotNeeded {
            return Ok(());
        }

        let state = self.licence.get();
        match (state.at(self.clock.now()), required) {
            (Licensed::Not, _) => {
                let message = "This server has no licence yet. Its operator must install one.";
                Err(ApiError::refused(StatusCode::FORBIDDEN, "no_license", message)
                    .with("setupUrl", self.setup_url.as_str()))
            }
            (Licensed::Expired(_), Licensing::InForce) => {
                let message = "The server's licence has ended: until it is renewed, data can be \
                               read but not changed.";
                Err(ApiError::refused(StatusCode::FORBIDDEN, "license_expired", message))
            }
            (Licensed::Expired(_) | Licensed::Valid(_), _) => Ok(()),
        }
    }

    /// Checks the rules of a route. Calls are counted before a caller is
    /// refused, so that guessing tokens is limited; and callers are refused
    /// before the body is read.
    async fn check_access(&self, request: &ServiceRequest, route: &Route) -> Result<(), ApiError> {
        let credential = self.identify(request, route).await?;
        let user = if route.counted_against == CountedAgainst::Caller {
            credential.map(Credential::user)
        } else {
            None
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
                let state = self.caller_state(request, credential, route).await?;
                if route.accepts_cookie() {
                    self.check_forgery(request, route)?;
                }
                self.check_proof(state, route).await?;
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

    /// Returns the state of a caller, checked on every request: a token proves
    /// who its owner was when it was issued, not that access is still allowed.
    /// A cached state may only admit, not refuse.
    async fn caller_state(
        &self,
        request: &ServiceRequest,
        credential: Option<Credential>,
        route: &Route,
    ) -> Result<CallerState, ApiError> {
        let credential = credential.ok_or_else(ApiError::unauthenticated)?;
        if let Some(state) = self.cached(credential)
            && self.refusal(request, state, route).is_none()
        {
            return Ok(state);
        }

        let fresh = self.fresh(credential, route).await?;
        let Some(state) = fresh else {
            return Err(self.missing_caller_error(credential, route).await?);
        };

        match self.refusal(request, state, route) {
            Some(refusal) => Err(refusal),
            None => Ok(state),
        }
    }

    /// Returns the error for a caller whose session, key or account no longer exists.
    async fn missing_caller_error(
        &self,
        credential: Credential,
        route: &Route,
    ) -> Result<ApiError, ApiError> {
        let Credential::Session(session_ref) = credential else {
            return Ok(ApiError::unauthenticated());
        };
        if route.access != Access::OwnerOrGone {
            return Ok(ApiError::unauthenticated());
        }
        let caller_cache = self.callers.clone();
        let is_gone =
            self.runner.run(async move { caller_cache.is_gone(session_ref.user).await }).await?;
        Ok(if is_gone { ApiError::no_such_account() } else { ApiError::unauthenticated() })
    }

    /// Returns the error for a caller who lacks the scope, role or account state that a
    /// route requires.
    fn refusal(
        &self,
        request: &ServiceRequest,
        state: CallerState,
        route: &Route,
    ) -> Option<ApiError> {
        let refused = |code, message| ApiError::refused(StatusCode::FORBIDDEN, code, message);
        if !route.accepts(state.scope) {
            return Some(ApiError::unauthenticated());
        }
        if route.console_roles().is_some_and(|roles| !roles.contains(&state.role)) {
            return Some(refused("forbidden", "Your role does not include this."));
        }
        if route.needs_kb_manager(state.role) {
            let message = "Only managers of knowledge bases may do this.";
            return Some(refused("not_a_kb_manager", message));
        }
        if manages_another_group(request, route, state) {
            return Some(ApiError::not_found());
        }
        if route.owners_only() && state.scope == SessionScope::Data {
            let message = "Sessions started with an app password can't do this. Sign in with \
                           your account password.";
            return Some(refused("app_password_refused", message));
        }
        if route.accounts == AccountScope::Any {
            return None;
        }

        let rules = self.rules.get();
        if rules.owes_verification(&state) {
            let message = "Verify your email address first: open the link that we emailed you.";
            return Some(refused("email_not_verified", message));
        }

        if rules.owes_declaration(state.customer) {
            let message = "First declare whether you use the service as a business.";
            return Some(refused("business_profile_incomplete", message));
        }

        None
    }

    /// Checks the metrics token. If one is configured, it is required from the
    /// local machine too: behind a proxy on this machine, all callers look
    /// local.
    fn check_operator(&self, request: &ServiceRequest) -> Result<(), ApiError> {
        let admitted = match &*self.metrics_token.get() {
            Some(token) => bearer(request).is_some_and(|it| token.ct_eq(it)),
            None => {
                request.extensions().get::<ClientAddress>().is_some_and(ClientAddress::is_local)
            }
        };
        if admitted { Ok(()) } else { Err(ApiError::unauthenticated()) }
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
        if client.scopes.contains(&scope) {
            return Ok(client);
        }
        let message = format!("The token does not have the scope `{}`.", scope.name());
        Err(ApiError::refused(StatusCode::FORBIDDEN, "forbidden", message))
    }

    fn check_feature(&self, route: &Route) -> Result<(), ApiError> {
        match route.feature {
            Some(feature) if !self.licence.get().includes(feature, self.clock.now()) => {
                Err(ApiError::not_licensed(feature))
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether the caller is a manager whose group is not the one in the path.
fn manages_another_group(request: &ServiceRequest, route: &Route, state: CallerState) -> bool {
    let (Access::GroupConsole(_) | Access::GroupPage(_)) = route.access else { return false };
    // The router has yet to match the path.
    let path_group = route
        .path
        .split('/')
        .zip(request.path().split('/'))
        .find(|(pattern, _)| *pattern == "{id}")
        .and_then(|(_, id)| id.parse().ok());
    state.role != Role::Admin && path_group != Some(state.group.0)
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

/// Returns whether a request requests an upgrade. No route supports one, and
/// the HTTP parser would take all further bytes of the connection for this
/// request's body.
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
