//! Signing in at an identity provider.

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

pub use errors::{CallbackError, ProviderSignInError, StartSessionError};
pub use journey::{CallbackOutcome, ProviderCallback, ProviderRedirect, ProviderSignInRequest};

/// Maximum duration of a sign-in at the provider.
const LIFETIME: Duration = Duration::from_mins(10);
/// Maximum length of a client's state.
const MAX_STATE_CHARS: usize = 1024;
/// Longer texts are no codes of a provider.
const MAX_CODE_BYTES: usize = 4096;

/// Ports of sign-in at providers.
#[derive(Clone)]
pub struct ProviderPorts {
    /// Client of the providers.
    pub providers: Arc<dyn IdentityProviders>,
    /// Store of sign-ins that are at a provider.
    pub flows: Arc<dyn ProviderFlows>,
    /// Store of one-time codes.
    pub codes: Arc<dyn SignInCodes>,
    /// Store of which external identity belongs to which account.
    pub known: Arc<dyn ProviderAccounts>,
    /// Store of accounts.
    pub accounts: Arc<dyn AccountStore>,
    /// Licensed number of accounts.
    pub seats: Arc<dyn Seats>,
    /// Check that the licence allows new accounts.
    pub licence: Arc<dyn LicenceInForce>,
    /// Public URL of this server.
    pub public_url: String,
    /// Clock of flows and codes.
    pub clock: Arc<dyn Clock>,
}

/// Signs people in who prove elsewhere who they are.
#[derive(Clone)]
pub struct ProviderSignIn {
    providers: Arc<dyn IdentityProviders>,
    flows: Arc<dyn ProviderFlows>,
    people: ProviderAccountFinder,
    codes: OneTimeCodes,
    sessions: Sessions,
    public_url: String,
    clock: Arc<dyn Clock>,
}

impl ProviderSignIn {
    /// Sign-in that begins its sessions with `sessions` and makes accounts by
    /// `rules`.
    pub fn new(
        ports: ProviderPorts,
        sessions: Sessions,
        caller_cache: CallerCache,
        rules: LiveSetting<RegistrationRules>,
    ) -> Self {
        let clock = ports.clock;
        let people = ProviderAccountFinder {
            known: ports.known,
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
        let (providers, flows) = (ports.providers, ports.flows);
        Self { providers, flows, people, codes, sessions, public_url: ports.public_url, clock }
    }

    /// Sends a browser to a provider.
    ///
    /// Where it is to lead is judged before anything else, so that nothing
    /// ever goes to a target that was not. A browser that comes with a cookie
    /// keeps it: it may have more than one sign-in under way.
    pub async fn begin(
        &self,
        wish: ProviderSignInRequest,
        browser: Option<Secret<String>>,
    ) -> Result<ProviderRedirect, StartSessionError> {
        let ProviderSignInRequest { provider, target, challenge, challenge_method, state } = wish;
        let destination = RedirectTarget::parse(
            target.as_deref(),
            challenge.as_deref(),
            challenge_method.as_deref(),
        )?;
        if state.as_ref().is_some_and(|it| utf16_len(it) > MAX_STATE_CHARS) {
            return Err(StartSessionError::StateTooLong { limit: MAX_STATE_CHARS });
        }
        let back = self.way_back(&destination, state.clone());
        let provider = provider.as_deref().and_then(Provider::of_name);
        let left = match provider {
            Some(provider) => self.leave(provider, destination, state, browser).await,
            None => Err(ProviderSignInError::UnknownProvider),
        };
        left.map_err(|why| CallbackError { back, why }.into())
    }

    async fn leave(
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
        let browser = match browser.filter(|it| sessions::token_hash::of_presented(it).is_some()) {
            Some(known) => known,
            None => sessions::refresh_tokens::fresh()?,
        };
        let ProviderRequest { state: hash, nonce, verifier } = request;
        let new = NewProviderFlow {
            hash: sessions::token_hash::of_ours(&hash),
            browser: sessions::token_hash::of_ours(&browser),
            flow: ProviderFlow { provider, destination, state, nonce, verifier },
            expires_at: self.clock.now() + LIFETIME,
        };
        self.flows.put(new).await?;
        Ok(ProviderRedirect { url, browser })
    }

    /// Takes a browser back that comes from its provider.
    pub async fn finish(
        &self,
        answer: ProviderCallback,
        browser: Option<Secret<String>>,
        device: SignInDevice,
    ) -> Result<CallbackOutcome, CallbackError> {
        // Of a browser that began no such sign-in nobody waits to hear.
        let flow = self.flow(&answer, browser).await;
        let flow = flow.map_err(|why| CallbackError { back: None, why })?;
        let back = self.way_back(&flow.destination, flow.state.clone());
        let arrived = self.arrive(flow, answer, device).await;
        arrived.map_err(|why| CallbackError { back, why })
    }

    async fn flow(
        &self,
        answer: &ProviderCallback,
        browser: Option<Secret<String>>,
    ) -> Result<ProviderFlow, ProviderSignInError> {
        let hash = answer.state.as_ref().and_then(sessions::token_hash::of_presented);
        let browser = browser.as_ref().and_then(sessions::token_hash::of_presented);
        let (Some(hash), Some(browser)) = (hash, browser) else {
            return Err(ProviderSignInError::InvalidState);
        };
        let flow = self.flows.take(hash, browser, self.clock.now()).await?;
        flow.ok_or(ProviderSignInError::InvalidState)
    }

    async fn arrive(
        &self,
        flow: ProviderFlow,
        answer: ProviderCallback,
        device: SignInDevice,
    ) -> Result<CallbackOutcome, ProviderSignInError> {
        let back = self.way_back(&flow.destination, flow.state.clone());
        let (provider, destination) = (flow.provider, flow.destination.clone());
        let claims = self.claims(flow, answer).await?;
        let account = self.people.welcome(provider, claims).await?;
        let Some(back) = back else {
            let method = SignInMethod::IdentityProvider;
            let grant = self.sessions.start(&account, method, device).await?;
            return Ok(CallbackOutcome::Here(SignedIn { account, grant }));
        };
        let (challenge, verifier) = match destination {
            RedirectTarget::Program { challenge, .. } => (challenge, None),
            RedirectTarget::Page { .. } | RedirectTarget::Browser => {
                let verifier = sessions::refresh_tokens::fresh()?;
                (CodeChallenge::of_ours(&verifier), Some(verifier))
            }
        };
        let code = self.codes.issue(account.user, challenge).await?;
        Ok(CallbackOutcome::Onward { url: back.with(&[("code", code.expose())]), verifier })
    }

    async fn claims(
        &self,
        flow: ProviderFlow,
        answer: ProviderCallback,
    ) -> Result<ProviderClaims, ProviderSignInError> {
        if let Some(error) = answer.error {
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
        let code = answer.code.filter(|it| (1..=MAX_CODE_BYTES).contains(&it.expose().len()));
        let code = ProviderCode {
            code: code.ok_or(ProviderSignInError::ProviderFailed)?,
            issuer: answer.issuer,
            nonce: flow.nonce,
            verifier: flow.verifier,
        };
        Ok(self.providers.exchange(flow.provider, code).await?)
    }

    /// Begins the session of whoever shows a one-time code and its verifier.
    pub async fn redeem(
        &self,
        code: &Secret<String>,
        verifier: &Secret<String>,
        device: SignInDevice,
    ) -> Result<SignedIn, RedeemError> {
        self.codes.redeem(code, verifier, device).await
    }

    /// Forgets sign-ins and codes that have ended. Answers how many they were.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        Ok(self.flows.sweep(self.clock.now()).await? + self.codes.sweep().await?)
    }

    fn way_back(&self, destination: &RedirectTarget, state: Option<String>) -> Option<ReturnState> {
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
