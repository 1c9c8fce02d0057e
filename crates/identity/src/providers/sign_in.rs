//! Sign-in with an identity provider.
//!
//! 1. `begin` stores a flow and sends the browser to the provider.
//! 2. `finish` takes the provider's callback, consumes the flow, exchanges
//!    the provider's code for claims, and finds or creates the account
//!    (`accounts.rs`).
//! 3. A browser without a target is signed in at once. Otherwise the target
//!    receives a one-time code, which a program presents to `redeem` and a
//!    page of this server to `BrowserSignIn::code` (`sign_in/codes.rs`).
//!
//! The state in the URL and the secret in the browser's cookie must both fit
//! the flow, so that no browser finishes the sign-in of another.

mod errors;
mod journey;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, LiveSetting, Secret, Unavailable, utf16_len};

use crate::people::registration::RegistrationRules;
use crate::ports::{
    AccountStore, IdentityProviders, LicenceInForce, NewProviderFlow, ProviderAccounts,
    ProviderClaims, ProviderCode, ProviderFlows, ProviderRequest, Seats, SignInCodes, SignInMethod,
};
use crate::providers::accounts::ProviderAccountFinder;
use crate::providers::code_challenge::CodeChallenge;
use crate::providers::flow::ProviderFlow;
use crate::providers::provider::Provider;
use crate::providers::redirect_target::{RedirectTarget, ReturnState};
use crate::sessions;
use crate::sessions::Sessions;
use crate::sessions::caller_cache::CallerCache;
use crate::sign_in::SignedIn;
use crate::sign_in::codes::{OneTimeCodes, RedeemError};
use crate::sign_in::device::SignInDevice;

pub use errors::{FailedProviderSignIn, ProviderSignInError, StartProviderSignInError};
pub use journey::{CallbackOutcome, ProviderCallback, ProviderRedirect, ProviderSignInRequest};

/// Maximum duration of a sign-in at the provider.
const LIFETIME: Duration = Duration::from_mins(10);
/// Maximum length of a client's state, in UTF-16 code units.
const MAX_STATE_CHARS: usize = 1024;
/// Maximum length of a provider's code, in bytes.
const MAX_CODE_BYTES: usize = 4096;

/// Ports of sign-in with providers.
#[derive(Clone)]
pub struct ProviderPorts {
    /// Client that redirects to providers and redeems their codes.
    pub providers: Arc<dyn IdentityProviders>,
    /// Store of sign-ins in progress.
    pub flows: Arc<dyn ProviderFlows>,
    /// Store of one-time codes for programs and pages.
    pub codes: Arc<dyn SignInCodes>,
    /// Store of external identities and their accounts.
    pub provider_accounts: Arc<dyn ProviderAccounts>,
    /// Store of accounts, which a first sign-in creates.
    pub accounts: Arc<dyn AccountStore>,
    /// Numbers of accounts that the licence allows.
    pub seats: Arc<dyn Seats>,
    /// Check that the licence allows new accounts.
    pub licence: Arc<dyn LicenceInForce>,
    /// Public URL of this server.
    pub public_url: String,
    /// Clock of flows and codes.
    pub clock: Arc<dyn Clock>,
}

/// Sign-in with identity providers.
#[derive(Clone)]
pub struct ProviderSignIn {
    providers: Arc<dyn IdentityProviders>,
    flows: Arc<dyn ProviderFlows>,
    accounts: ProviderAccountFinder,
    codes: OneTimeCodes,
    sessions: Sessions,
    public_url: String,
    clock: Arc<dyn Clock>,
}

impl ProviderSignIn {
    /// Creates a sign-in that starts sessions in `sessions` and creates accounts under `rules`.
    pub fn new(
        ports: ProviderPorts,
        sessions: Sessions,
        caller_cache: CallerCache,
        rules: LiveSetting<RegistrationRules>,
    ) -> Self {
        let clock = ports.clock;
        let accounts = ProviderAccountFinder {
            provider_accounts: ports.provider_accounts,
            accounts: Arc::clone(&ports.accounts),
            seats: ports.seats,
            licence: ports.licence,
            rules,
            clock: Arc::clone(&clock),
        };

        let codes = OneTimeCodes {
            store: ports.codes,
            accounts: ports.accounts,
            sessions: sessions.clone(),
            caller_cache,
            clock: Arc::clone(&clock),
        };

        let providers = ports.providers;
        let flows = ports.flows;

        Self { providers, flows, accounts, codes, sessions, public_url: ports.public_url, clock }
    }

    /// Redirects a browser to a provider.
    ///
    /// The target is validated first, so that nothing is ever sent to an unvalidated one. A browser
    /// that presents a cookie keeps it, since it may have several sign-ins in progress.
    pub async fn begin(
        &self,
        request: ProviderSignInRequest,
        browser: Option<Secret<String>>,
    ) -> Result<ProviderRedirect, StartProviderSignInError> {
        let ProviderSignInRequest { provider, target, challenge, challenge_method, state } =
            request;
        let destination = RedirectTarget::parse(
            target.as_deref(),
            challenge.as_deref(),
            challenge_method.as_deref(),
        )?;

        if state.as_ref().is_some_and(|it| utf16_len(it) > MAX_STATE_CHARS) {
            return Err(StartProviderSignInError::StateTooLong { limit: MAX_STATE_CHARS });
        }

        let return_state = self.return_state(&destination, state.clone());
        let outcome = match provider.as_deref().and_then(Provider::of_name) {
            Some(provider) => self.start_flow(provider, destination, state, browser).await,
            None => Err(ProviderSignInError::UnknownProvider),
        };

        outcome.map_err(|reason| FailedProviderSignIn { return_state, reason }.into())
    }

    async fn start_flow(
        &self,
        provider: Provider,
        destination: RedirectTarget,
        state: Option<String>,
        browser: Option<Secret<String>>,
    ) -> Result<ProviderRedirect, ProviderSignInError> {
        let request = ProviderRequest {
            state: sessions::refresh_tokens::fresh()?,
            nonce: sessions::refresh_tokens::fresh()?,
            verifier: sessions::refresh_tokens::fresh()?,
        };
        let url = self.providers.authorization_url(provider, &request).await?;

        // A cookie that this server cannot have set is replaced.
        let browser = match browser.filter(|it| sessions::token_hash::of_presented(it).is_some()) {
            Some(secret) => secret,
            None => sessions::refresh_tokens::fresh()?,
        };

        let ProviderRequest { state: provider_state, nonce, verifier } = request;
        let new_flow = NewProviderFlow {
            hash: sessions::token_hash::of_ours(&provider_state),
            browser: sessions::token_hash::of_ours(&browser),
            flow: ProviderFlow { provider, destination, state, nonce, verifier },
            expires_at: self.clock.now() + LIFETIME,
        };
        self.flows.put(new_flow).await?;

        Ok(ProviderRedirect { url, browser })
    }

    /// Handles the callback of a provider.
    pub async fn finish(
        &self,
        callback: ProviderCallback,
        browser: Option<Secret<String>>,
        device: SignInDevice,
    ) -> Result<CallbackOutcome, FailedProviderSignIn> {
        // Without such a flow of this browser, no program waits for the outcome.
        let flow = self
            .take_flow(&callback, browser)
            .await
            .map_err(|reason| FailedProviderSignIn { return_state: None, reason })?;
        let return_state = self.return_state(&flow.destination, flow.state.clone());
        self.complete(flow, callback, device)
            .await
            .map_err(|reason| FailedProviderSignIn { return_state, reason })
    }

    /// Removes the flow that this browser started. A secret that is missing or malformed belongs to
    /// none.
    async fn take_flow(
        &self,
        callback: &ProviderCallback,
        browser: Option<Secret<String>>,
    ) -> Result<ProviderFlow, ProviderSignInError> {
        let state_hash = callback
            .state
            .as_ref()
            .and_then(sessions::token_hash::of_presented)
            .ok_or(ProviderSignInError::InvalidState)?;
        let browser_hash = browser
            .as_ref()
            .and_then(sessions::token_hash::of_presented)
            .ok_or(ProviderSignInError::InvalidState)?;
        self.flows
            .take(state_hash, browser_hash, self.clock.now())
            .await?
            .ok_or(ProviderSignInError::InvalidState)
    }

    async fn complete(
        &self,
        flow: ProviderFlow,
        callback: ProviderCallback,
        device: SignInDevice,
    ) -> Result<CallbackOutcome, ProviderSignInError> {
        let return_state = self.return_state(&flow.destination, flow.state.clone());
        let provider = flow.provider;
        let destination = flow.destination.clone();
        let claims = self.claims(flow, callback).await?;
        let account = self.accounts.find_or_register(provider, claims).await?;
        let Some(return_state) = return_state else {
            let method = SignInMethod::IdentityProvider;
            let grant = self.sessions.start(&account, method, device).await?;
            return Ok(CallbackOutcome::Here(SignedIn { account, grant }));
        };

        // A program has the verifier of its challenge; for a page, the browser keeps one.
        let (challenge, verifier) = match destination {
            RedirectTarget::Program { challenge, .. } => (challenge, None),
            RedirectTarget::Page { .. } | RedirectTarget::Browser => {
                let verifier = sessions::refresh_tokens::fresh()?;
                (CodeChallenge::of_ours(&verifier), Some(verifier))
            }
        };

        let code = self.codes.issue(account.user, challenge).await?;

        let url = return_state.with(&[("code", code.expose())]);
        Ok(CallbackOutcome::Onward { url, verifier })
    }

    async fn claims(
        &self,
        flow: ProviderFlow,
        callback: ProviderCallback,
    ) -> Result<ProviderClaims, ProviderSignInError> {
        if let Some(error) = callback.error {
            // Anybody can send a callback, so the log has little of it.
            tracing::info!(
                provider = flow.provider.name(),
                provider.error = %error.escape_debug().take(100).collect::<String>(),
                "identity provider refused the sign-in"
            );
            return Err(match error.as_str() {
                "access_denied" => ProviderSignInError::AccessDenied,
                _ => ProviderSignInError::ProviderFailed,
            });
        }

        let code = callback
            .code
            .filter(|it| (1..=MAX_CODE_BYTES).contains(&it.expose().len()))
            .ok_or(ProviderSignInError::ProviderFailed)?;
        let provider_code = ProviderCode {
            code,
            issuer: callback.issuer,
            nonce: flow.nonce,
            verifier: flow.verifier,
        };

        Ok(self.providers.exchange(flow.provider, provider_code).await?)
    }

    /// Returns the codes of browsers that return from a provider.
    pub(crate) fn codes(&self) -> &OneTimeCodes {
        &self.codes
    }

    /// Starts a session with a one-time code and its verifier.
    pub async fn redeem(
        &self,
        code: &Secret<String>,
        verifier: &Secret<String>,
        device: SignInDevice,
    ) -> Result<SignedIn, RedeemError> {
        self.codes.redeem(code, verifier, device).await
    }

    /// Deletes flows and codes that have expired. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        Ok(self.flows.sweep(self.clock.now()).await? + self.codes.sweep().await?)
    }

    fn return_state(
        &self,
        destination: &RedirectTarget,
        state: Option<String>,
    ) -> Option<ReturnState> {
        let target = match destination {
            RedirectTarget::Program { url, .. } => url.clone(),
            RedirectTarget::Page { path } => format!("{}{path}", self.public_url),
            RedirectTarget::Browser => return None,
        };
        Some(ReturnState::new(target, state))
    }
}

#[cfg(test)]
mod tests;
