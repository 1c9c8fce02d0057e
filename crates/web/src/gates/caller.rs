//! State of the account and the session or key behind a credential.
//!
//! A cached state may admit a caller but never refuse one: before a refusal the
//! state is loaded again, so that a change, such as a verified address, takes effect
//! at once. The reverse, an account that was deactivated on another instance, is
//! noticed when the cached state has expired.

use actix_web::dev::ServiceRequest;
use actix_web::http::StatusCode;
use pia_identity::{CallerState, Credential, Role, SessionScope};

use super::Gates;
use crate::ApiError;
use crate::routes::{Access, AccountScope, Route};

impl Gates {
    /// Checks that the caller may call a route, and returns their state.
    pub(super) async fn check_caller(
        &self,
        request: &ServiceRequest,
        credential: Option<Credential>,
        route: &Route,
    ) -> Result<CallerState, ApiError> {
        let state = self.caller_state(request, credential, route).await?;
        if route.accepts_cookie() {
            self.check_forgery(request, route)?;
        }

        self.check_proof(state, route).await?;

        Ok(state)
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
        if let Some(state) = self.callers.cached(credential)
            && self.refusal(request, state, route).is_none()
        {
            return Ok(state);
        }

        let Some(state) = self.load_state(credential, route).await? else {
            return Err(self.missing_caller_error(credential, route).await);
        };

        match self.refusal(request, state, route) {
            Some(refusal) => Err(refusal),
            None => Ok(state),
        }
    }

    async fn load_state(
        &self,
        credential: Credential,
        route: &Route,
    ) -> Result<Option<CallerState>, ApiError> {
        match credential {
            Credential::Session(session) if route.accepts_cookie() => {
                let consoles = self.consoles.clone();
                self.runner.run(async move { consoles.caller(session).await }).await
            }
            Credential::Session(session) => {
                let callers = self.callers.clone();
                self.runner.run(async move { callers.fresh(session).await }).await
            }
            Credential::ApiKey(key) => {
                let keys = self.keys.clone();
                self.runner.run(async move { keys.load_state(key).await }).await
            }
        }
    }

    /// Returns the error for a caller whose session, key or account no longer exists.
    async fn missing_caller_error(&self, credential: Credential, route: &Route) -> ApiError {
        let Credential::Session(session_ref) = credential else {
            return ApiError::unauthenticated();
        };
        if route.access != Access::OwnerOrGone {
            return ApiError::unauthenticated();
        }

        let callers = self.callers.clone();
        match self.runner.run(async move { callers.is_gone(session_ref.user).await }).await {
            Ok(true) => ApiError::no_such_account(),
            Ok(false) => ApiError::unauthenticated(),
            Err(err) => err,
        }
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

        if manages_another_group(request, route, state) {
            return Some(ApiError::not_found());
        }

        if route.owners_only() && state.scope == SessionScope::Data {
            let message = "Sessions started with an app password can't do this. Sign in with \
                           your account password.";
            return Some(refused("app_password_refused", message));
        }

        if let Some(refusal) = self.incomplete_account(&state, route.accounts) {
            return Some(refusal);
        }

        if route.needs_kb_manager(state.role) {
            let message = "Only managers of knowledge bases may do this.";
            return Some(refused("not_a_kb_manager", message));
        }

        None
    }

    /// Returns the error for an account that owes its verification or declaration to a route.
    fn incomplete_account(&self, state: &CallerState, required: AccountScope) -> Option<ApiError> {
        let refused = |code, message| ApiError::refused(StatusCode::FORBIDDEN, code, message);
        let rules = self.rules.get();
        if required == AccountScope::Complete && rules.owes_verification(state) {
            let message = "Verify your email address first: open the link that we emailed you.";
            return Some(refused("email_not_verified", message));
        }

        if required != AccountScope::Any && rules.owes_declaration(state.customer) {
            let message = "First declare whether you use the service as a business.";
            return Some(refused("business_profile_incomplete", message));
        }

        None
    }
}

/// Returns whether the caller is a manager whose group is not the one in the path.
fn manages_another_group(request: &ServiceRequest, route: &Route, state: CallerState) -> bool {
    let is_of_group = matches!(route.access, Access::GroupConsole(_) | Access::GroupPage(_));
    if !is_of_group || state.role == Role::Admin {
        return false;
    }

    // The gates run before the router has matched the path, so they find the id themselves.
    let path_group = route
        .path
        .split('/')
        .zip(request.path().split('/'))
        .find(|(pattern, _)| *pattern == "{id}")
        .and_then(|(_, id)| id.parse().ok());
    path_group != Some(state.group.0)
}
