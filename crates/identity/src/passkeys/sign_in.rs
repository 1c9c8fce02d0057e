//! Sign-in with a passkey, without a user name, and proofs of sessions with one.
//!
//! `begin` opens a challenge for any passkey; `sign_in`, `prove` or
//! `prove_owner` takes the response. Each of these consumes the challenge
//! first (`redeem`), so that a challenge accepts one response, then verifies
//! the signature and stores the passkey's counter (`verify`).

use std::sync::Arc;

use pia_kernel::{Clock, QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::factors::reauthentication::OwnerError;
use crate::passkeys::PasskeyPorts;
use crate::passkeys::options::{PasskeyOptions, hash_presented, start_ceremony};
use crate::people::account::{Account, CallerState};
use crate::ports::{
    AccountStore, CeremonyError, FailedSignIn, PasskeyUse, PasskeyUseOutcome, SessionStarts,
    SignInLog, SignInMethod, SignInOutcome, StoredPasskey,
};
use crate::sessions::session_proofs::SessionProofs;
use crate::sessions::{Sessions, StartError};
use crate::sign_in::SignedIn;
use crate::sign_in::device::SignInDevice;

/// Errors of a sign-in with a passkey.
#[derive(Debug, thiserror::Error)]
pub enum PasskeySignInError {
    /// Server's address does not allow passkeys.
    #[error("the server's public URL doesn't allow passkeys")]
    Off,
    /// Challenge is over, or its response is not of a known passkey. The cause is not revealed.
    #[error("the passkey is rejected")]
    Refused,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of sign-in with a passkey.
#[derive(Clone)]
pub struct PasskeySignInPorts {
    /// Store of accounts, which a signed response opens.
    pub accounts: Arc<dyn AccountStore>,
    /// Log of failed attempts; those that succeed are written with their session.
    pub log: Arc<dyn SignInLog>,
    /// Store and verification of passkeys.
    pub passkeys: PasskeyPorts,
    /// Store of the times when sessions proved their owners.
    pub starts: Arc<dyn SessionStarts>,
}

/// Response to a challenge, and the passkey that it claims to be signed with.
struct Assertion<'a> {
    /// State of the challenge, which was consumed.
    state: Secret<String>,
    response: &'a str,
    /// User handle that the authenticator reports.
    claimed_user: UserId,
    passkey: StoredPasskey,
}

/// Sign-in with passkeys.
///
/// No second factor is required: the passkey is something users have, and its authenticator
/// verifies them by something they know or are.
#[derive(Clone)]
pub struct PasskeySignIn {
    ports: PasskeySignInPorts,
    sessions: Sessions,
    clock: Arc<dyn Clock>,
}

impl PasskeySignIn {
    /// Creates a sign-in that starts sessions in `sessions`.
    pub fn new(ports: PasskeySignInPorts, sessions: Sessions, clock: Arc<dyn Clock>) -> Self {
        Self { ports, sessions, clock }
    }

    /// Returns whether the server's address allows passkeys.
    pub fn is_available(&self) -> bool {
        self.ports.passkeys.ceremony.is_some()
    }

    /// Starts a sign-in with a challenge for any passkey.
    pub async fn begin(&self) -> Result<PasskeyOptions, PasskeySignInError> {
        let ports = &self.ports.passkeys;
        let ceremony = ports.ceremony.as_ref().ok_or(PasskeySignInError::Off)?;
        let (options, challenge) = start_ceremony(ceremony.begin_sign_in()?, self.clock.now())?;
        ports.challenges.open_sign_in(challenge).await?;
        Ok(options)
    }

    /// Signs in the owner of the passkey that signed the challenge. A challenge accepts one
    /// response, whatever the outcome.
    pub async fn sign_in(
        &self,
        token: &Secret<String>,
        response: &str,
        device: SignInDevice,
    ) -> Result<SignedIn, PasskeySignInError> {
        let account = self.prove(token, response, &device).await?;
        let grant = self.sessions.start(&account, SignInMethod::Passkey, device).await?;
        Ok(SignedIn { account, grant })
    }

    /// Verifies the response to a challenge and records the passkey's use. Returns the account of
    /// its owner, as it was loaded before.
    pub(crate) async fn prove(
        &self,
        token: &Secret<String>,
        response: &str,
        device: &SignInDevice,
    ) -> Result<Account, PasskeySignInError> {
        let assertion = self.redeem(token, response).await?;
        let user = assertion.passkey.user;
        // Loaded before the use is recorded: a passkey that is removed later makes the account
        // outdated.
        let account = self.ports.accounts.find(user).await?.ok_or(PasskeySignInError::Refused)?;

        let outcome = self.verify(&assertion).await;
        // Earlier refusals name no passkey, so no history of sign-ins can list them.
        if matches!(outcome, Err(PasskeySignInError::Refused)) {
            self.record_failure(user, &device.clone().tidy()).await;
        }

        outcome.map(|()| account)
    }

    /// Verifies that a passkey of the caller's account signed the challenge, after which the
    /// caller's session needs no other proof for ten minutes. Refusals are recorded as failed
    /// sign-ins of the caller.
    pub async fn prove_owner(
        &self,
        caller: CallerState,
        token: &Secret<String>,
        response: &str,
    ) -> Result<(), OwnerError> {
        let session_ref = caller.credential.session().ok_or(OwnerError::SignInAgain)?;
        let assertion = self.redeem(token, response).await?;
        let outcome = if assertion.passkey.user == session_ref.user {
            self.verify(&assertion).await
        } else {
            Err(PasskeySignInError::Refused)
        };

        if matches!(outcome, Err(PasskeySignInError::Refused)) {
            self.record_failure(session_ref.user, &SignInDevice::default()).await;
        }
        outcome?;

        let starts = Arc::clone(&self.ports.starts);
        Ok(SessionProofs::new(starts, Arc::clone(&self.clock)).prove(session_ref).await?)
    }

    /// Consumes the challenge of a response, and finds the passkey that the response names.
    async fn redeem<'a>(
        &self,
        token: &Secret<String>,
        response: &'a str,
    ) -> Result<Assertion<'a>, PasskeySignInError> {
        let ports = &self.ports.passkeys;
        let ceremony = ports.ceremony.as_ref().ok_or(PasskeySignInError::Off)?;
        let hash = hash_presented(token).ok_or(PasskeySignInError::Refused)?;
        let state = ports
            .challenges
            .take_sign_in(hash, self.clock.now())
            .await?
            .ok_or(PasskeySignInError::Refused)?;

        let claimant = ceremony.claimant(response)?;
        let passkey =
            ports.store.find(&claimant.credential).await?.ok_or(PasskeySignInError::Refused)?;

        Ok(Assertion { state, response, claimed_user: claimant.user, passkey })
    }

    /// Verifies a response and records the use of its passkey.
    async fn verify(&self, assertion: &Assertion<'_>) -> Result<(), PasskeySignInError> {
        let Assertion { state, response, claimed_user, passkey } = assertion;
        let ceremony = self.ports.passkeys.ceremony.as_ref().ok_or(PasskeySignInError::Off)?;
        if passkey.user != *claimed_user {
            return Err(PasskeySignInError::Refused);
        }

        let counter = ceremony.finish_sign_in(state, response, &passkey.key)?;
        self.record_use(passkey, counter).await
    }

    /// Stores the use of a passkey. One that may be cloned is refused, and its owner warned.
    async fn record_use(
        &self,
        passkey: &StoredPasskey,
        counter: u32,
    ) -> Result<(), PasskeySignInError> {
        let user = passkey.user;
        let at = self.clock.now();
        let passkey_use = PasskeyUse {
            id: passkey.id,
            user,
            counter,
            at,
            effects: SideEffects::audit(at, user, "passkey.used"),
            if_rolled_back: clone_alert(passkey, at),
        };

        match self.ports.passkeys.store.record_use(passkey_use).await? {
            PasskeyUseOutcome::Recorded => Ok(()),
            PasskeyUseOutcome::RolledBack => {
                tracing::warn!(user.id = %user, "passkey signature counter decreased; the passkey may be cloned");
                Err(PasskeySignInError::Refused)
            }
            PasskeyUseOutcome::Blocked | PasskeyUseOutcome::Gone => {
                Err(PasskeySignInError::Refused)
            }
        }
    }

    /// Records a refused response for a user. An error does not change the response.
    async fn record_failure(&self, user: UserId, device: &SignInDevice) {
        let attempt = FailedSignIn {
            user: Some(user),
            at: self.clock.now(),
            outcome: SignInOutcome::WrongPasskey,
            method: SignInMethod::Passkey,
            device: device.clone(),
        };

        let effects = |user, at| SideEffects::about(at, user, "sign_in.failed");
        if let Err(err) = self.ports.log.record_failure(attempt, effects).await {
            tracing::warn!(
                error = &err as &dyn std::error::Error,
                "failed to record a failed sign-in"
            );
        }
    }
}

/// Returns the audit entry and the email about a passkey that was probably cloned.
fn clone_alert(passkey: &StoredPasskey, at: Timestamp) -> SideEffects {
    let email = QueuedEmail::new("passkey-cloned").with("name", passkey.name.as_str());
    SideEffects::about(at, passkey.user, "passkey.cloned").and_mail(email.to_user(at, passkey.user))
}

impl From<StartError> for PasskeySignInError {
    fn from(err: StartError) -> Self {
        match err {
            StartError::Stale => Self::Refused,
            StartError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<PasskeySignInError> for OwnerError {
    fn from(err: PasskeySignInError) -> Self {
        match err {
            PasskeySignInError::Off | PasskeySignInError::Refused => Self::WrongPasskey,
            PasskeySignInError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<CeremonyError> for PasskeySignInError {
    fn from(err: CeremonyError) -> Self {
        match err {
            CeremonyError::Malformed { .. } => Self::Refused,
            CeremonyError::Refused(reason) => {
                tracing::info!(reason, "passkey assertion rejected");
                Self::Refused
            }
            CeremonyError::Unreadable(_) => Unavailable::new("passkeys", err).into(),
        }
    }
}

#[cfg(test)]
mod tests;
