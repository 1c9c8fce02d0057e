//! One-time codes, which a program exchanges for the tokens of a sign-in in a browser.
//!
//! `issue` follows the provider's callback. `spend` consumes the code, its
//! caller starts a session, and `settle` records that session. No token of
//! the session may leave the server before `settle` has succeeded.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::people::account::Account;
use crate::ports::{
    AccountStore, CodeRedemptionOutcome, NewSignInCode, SessionStartOutcome, SignInCodes,
    SignInMethod, TokenHash,
};
use crate::providers::code_challenge::CodeChallenge;
use crate::sessions;
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;
use crate::sessions::{RevokeError, Sessions, StartError};
use crate::sign_in::SignedIn;
use crate::sign_in::device::SignInDevice;

/// Lifetime of a code; programs redeem theirs at once.
const LIFETIME: Duration = Duration::from_mins(2);

/// Errors of redeeming a code. They do not reveal which half was wrong.
#[derive(Debug, thiserror::Error)]
pub enum RedeemError {
    /// Code or verifier is invalid or expired.
    #[error("the code is invalid")]
    InvalidGrant,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// One-time codes, each valid for two minutes and one attempt.
///
/// A code that is presented twice may have been stolen, so the second attempt ends the session of
/// the first (RFC 6749, 4.1.2). If both come at once, neither signs in.
#[derive(Clone)]
pub(crate) struct OneTimeCodes {
    pub(crate) store: Arc<dyn SignInCodes>,
    pub(crate) accounts: Arc<dyn AccountStore>,
    pub(crate) sessions: Sessions,
    pub(crate) caller_cache: CallerCache,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Code that was redeemed, and the account that it signs in.
pub(crate) struct RedeemedCode {
    pub(crate) hash: TokenHash,
    pub(crate) account: Account,
}

impl OneTimeCodes {
    /// Issues a code that is redeemed with the verifier of this challenge.
    pub(crate) async fn issue(
        &self,
        user: UserId,
        challenge: CodeChallenge,
    ) -> Result<Secret<String>, StartError> {
        let code = sessions::refresh_tokens::fresh()?;
        let hash = sessions::token_hash::of_ours(&code);
        let expires_at = self.clock.now() + LIFETIME;
        match self.store.put(NewSignInCode { hash, user, challenge, expires_at }).await? {
            SessionStartOutcome::Done => Ok(code),
            SessionStartOutcome::Stale => Err(StartError::Stale),
        }
    }

    /// Starts the session of a device, if the code and its verifier match.
    pub(crate) async fn redeem(
        &self,
        code: &Secret<String>,
        verifier: &Secret<String>,
        device: SignInDevice,
    ) -> Result<SignedIn, RedeemError> {
        let RedeemedCode { hash, account } = self.spend(code, verifier).await?;
        let method = SignInMethod::IdentityProvider;
        let grant = self.sessions.start(&account, method, device).await?;
        self.settle(hash, SessionRef { user: account.user, session: grant.session }).await?;
        Ok(SignedIn { account, grant })
    }

    /// Consumes a code. The caller starts a session of the account and then settles the code.
    pub(crate) async fn spend(
        &self,
        code: &Secret<String>,
        verifier: &Secret<String>,
    ) -> Result<RedeemedCode, RedeemError> {
        let hash = sessions::token_hash::of_presented(code).ok_or(RedeemError::InvalidGrant)?;
        let challenge = CodeChallenge::from_verifier(verifier);
        let outcome = self.store.redeem(hash, challenge, self.clock.now(), replay_effects).await?;
        let user = match outcome {
            CodeRedemptionOutcome::Redeemed(user) => user,
            CodeRedemptionOutcome::Refused => return Err(RedeemError::InvalidGrant),
            CodeRedemptionOutcome::Replayed(user) => {
                self.caller_cache.forget_user(user);
                return Err(RedeemError::InvalidGrant);
            }
        };
        let account = self.accounts.find(user).await?.ok_or(RedeemError::InvalidGrant)?;

        Ok(RedeemedCode { hash, account })
    }

    /// Records a session at its code before its tokens are returned: a concurrent replay finds one
    /// or the other. Ends the session if the replay came first.
    pub(crate) async fn settle(
        &self,
        hash: TokenHash,
        session: SessionRef,
    ) -> Result<(), RedeemError> {
        if self.store.settle(hash, session.session).await? {
            return Ok(());
        }
        match self.sessions.revoke(session, session.session).await {
            Ok(()) | Err(RevokeError::Unknown | RevokeError::Gone) => {}
            Err(RevokeError::Unavailable(err)) => return Err(err.into()),
        }
        Err(RedeemError::InvalidGrant)
    }

    pub(crate) async fn sweep(&self) -> Result<u64, Unavailable> {
        self.store.sweep(self.clock.now()).await
    }
}

impl From<StartError> for RedeemError {
    fn from(err: StartError) -> Self {
        match err {
            StartError::Stale => Self::InvalidGrant,
            StartError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

/// Returns the side effects of ending a session whose code someone else may
/// hold.
fn replay_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::about(at, user, "session.code_replayed")
}
