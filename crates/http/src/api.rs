//! The use cases that handlers call.

use std::sync::Arc;

use pia_assistant::Credits;
use pia_e2ee::{Devices, Recovery};
use pia_identity::{
    AccountDeletion, AccountExport, Accounts, ApiKeys, AppPasswords, CallerState, PasskeySignIn,
    Passkeys, PasswordChanges, PasswordResets, ProviderSignIn, ReauthProof, Reauthenticator,
    Registration, SecondFactors, Sessions, SignIn, SignInHistory, Verification,
};
use pia_kernel::{LiveSetting, Reauthentication, Secret, SessionId, UserId};
use pia_sync::Chats;
use pia_web::{ApiError, ConcurrencyLimiter, Runner};

use crate::{BrowserRedirects, HttpError, Readiness, SyncApi};

/// The use cases that handlers call.
#[derive(Clone)]
pub struct Api {
    /// Making accounts.
    pub registration: Registration,
    /// Signing in.
    pub sign_in: SignIn,
    /// Signing in by the word of an identity provider.
    pub provider_sign_in: ProviderSignIn,
    /// Cookies and redirects of browsers during that.
    pub browsers: BrowserRedirects,
    /// Staying signed in.
    pub sessions: Sessions,
    /// History of sign-ins.
    pub history: SignInHistory,
    /// Looking at and changing one's account.
    pub accounts: Accounts,
    /// Telling people what is kept of them.
    pub export: AccountExport,
    /// Forgetting them.
    pub deletion: AccountDeletion,
    /// Proof of ownership, where a session is not enough.
    pub reauthenticator: Reauthenticator,
    /// Protecting one's account with a second factor.
    pub second_factors: SecondFactors,
    /// Showing that one's address is one's own.
    pub verification: Verification,
    /// Choosing another password in the place of a forgotten one.
    pub password_resets: PasswordResets,
    /// Choosing another password.
    pub passwords: PasswordChanges,
    /// Passwords for programs that cannot ask for one.
    pub app_passwords: AppPasswords,
    /// Keys that scripts call with.
    pub api_keys: ApiKeys,
    /// Adding passkeys to one's account, and removing them.
    pub passkeys: Passkeys,
    /// Signing in with one.
    pub passkey_sign_in: PasskeySignIn,
    /// Keeping devices in step.
    pub sync: SyncApi,
    /// Storing chats.
    pub chats: Chats,
    /// Devices that hold the keys of encrypted accounts.
    pub devices: Devices,
    /// Coming back by the recovery code.
    pub recovery: Recovery,
    /// Telling people of their credits.
    pub credits: Credits,
    /// Dependencies that `/ready` checks.
    pub readiness: Arc<dyn Readiness>,
    /// True if `/openapi/v1.json` is published.
    pub openapi: LiveSetting<bool>,
    /// Runner of use cases.
    pub runner: Runner,
    /// Concurrency limit of the use cases that hash passwords.
    pub sign_ins: ConcurrencyLimiter,
}

impl Api {
    /// Runs a use case on its own task, with the limits of [`Runner::run`].
    pub(crate) async fn run<T, E, F>(&self, use_case: F) -> Result<T, HttpError>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<HttpError> + Send + 'static,
    {
        let translated = async { use_case.await.map_err(|err| ApiError::from(err.into())) };
        Ok(self.runner.run(translated).await?)
    }

    /// Returns who a caller is, and whether they have shown lately that the
    /// account is theirs. A code is spent by it.
    pub(crate) async fn owner(
        &self,
        caller: CallerState,
        proof: Option<ReauthProof>,
    ) -> Result<(UserId, Reauthentication), ApiError> {
        Ok((caller.user, self.reauthenticator.check(caller, proof).await?))
    }

    /// The session that a refresh token belongs to.
    pub(crate) async fn session_of(
        &self,
        token: &Secret<String>,
    ) -> Result<Option<SessionId>, ApiError> {
        let (sessions, token) = (self.sessions.clone(), token.clone());
        let find = async move { sessions.session_of(&token).await };
        self.runner.run(find).await
    }
}
