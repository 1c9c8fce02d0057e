//! Enabling and disabling of an account's second factor.
//!
//! The order is `begin`, which issues a secret without effect; `confirm`,
//! whose code enables the factor and issues recovery codes; later `disable`
//! or `regenerate_codes`, each with a proof. `totp.rs` computes codes,
//! `proofs.rs` verifies and counts them.

use std::future::ready;
use std::time::Duration;

use pia_kernel::{QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::factors;
use crate::factors::proofs::{
    FactorAnswer, FactorProofs, PURPOSE, ProofError, ReauthProof, used_up,
};
use crate::factors::reauthentication::{OwnerError, ProtectedAccount};
use crate::factors::totp::{self, Enrolment};
use crate::people::account::Account;
use crate::ports::{
    EnrolmentOutcome, Factor, FactorChange, FactorState, RecoveryHash, VerifiedProof,
};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;

/// Errors that prevent an authenticator from being set up.
#[derive(Debug, thiserror::Error)]
pub enum EnrolError {
    /// Another is on; it must be disabled first.
    #[error("a second factor is already enabled")]
    AlreadyOn,
    /// Proof of ownership is missing or wrong.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors that prevent an authenticator from being enabled.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmError {
    /// Enrolment was not started, or has expired.
    #[error("no setup of an authenticator app is in progress")]
    NotPending,
    /// Code is wrong, or was used before; the attempt was counted.
    #[error("the code is wrong")]
    WrongCode,
    /// Too many wrong codes.
    #[error("too many wrong codes")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors that prevent a second factor from being changed.
#[derive(Debug, thiserror::Error)]
pub enum FactorChangeError {
    /// Account has no second factor that is on.
    #[error("no second factor is enabled")]
    NotOn,
    /// Proof is wrong, or was used before.
    #[error("the proof is wrong")]
    WrongProof,
    /// Too many wrong codes.
    #[error("too many wrong proofs")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Recovery codes, presented once: only their hashes are stored.
#[derive(Debug, Clone)]
pub struct RecoveryCodes(pub Vec<Secret<String>>);

/// Second factors of accounts.
///
/// A change ends the user's other sessions: an attacker who had the old factor may hold them.
#[derive(Clone)]
pub struct SecondFactors {
    proofs: FactorProofs,
    caller_cache: CallerCache,
}

impl SecondFactors {
    /// Creates second factors over these proofs; `caller_cache` is notified of sessions that end.
    pub fn new(proofs: FactorProofs, caller_cache: CallerCache) -> Self {
        Self { proofs, caller_cache }
    }

    /// Returns the number of recovery codes left; `None` if no second factor is on.
    pub async fn overview(&self, user: UserId) -> Result<Option<u32>, Unavailable> {
        if self.proofs.enabled_factor(user).await?.is_none() {
            return Ok(None);
        }
        self.proofs.ports.factors.codes_left(user).await.map(Some)
    }

    /// Starts enrolment with a new secret, which has no effect until its first code is confirmed.
    /// It replaces an unconfirmed one.
    ///
    /// A factor locks out everyone without it, so a session alone is not enough.
    pub async fn begin(
        &self,
        session_ref: SessionRef,
        password: Option<Secret<String>>,
    ) -> Result<Enrolment, EnrolError> {
        let FactorProofs { ports, settings, clock } = &self.proofs;
        let user = session_ref.user;
        let account = ports.accounts.find(user).await?.ok_or(EnrolError::Gone)?;
        if self.proofs.enabled_factor(user).await?.is_some() {
            return Err(EnrolError::AlreadyOn);
        }

        let protected = ProtectedAccount { account: &account, factor: None };
        let proof = password.map(ReauthProof::Password);
        let check = self.proofs.owner(session_ref, protected, proof, |_| ready(Ok(())));
        if let Err(err) = check.await {
            // An account that was deleted meanwhile cannot present a proof.
            let still_exists = ports.accounts.find(user).await?.is_some();
            return Err(if still_exists { err.into() } else { EnrolError::Gone });
        }

        let secret = totp::fresh()?;
        let enrolment = totp::enrolment(&secret, &settings.get().issuer, &account.email)?;
        let sealed_secret =
            ports.secrets.seal(user, PURPOSE, &secret).await?.ok_or(EnrolError::Gone)?;
        match ports.factors.begin(user, &sealed_secret, clock.now()).await? {
            EnrolmentOutcome::Pending => Ok(enrolment),
            EnrolmentOutcome::AlreadyOn => Err(EnrolError::AlreadyOn),
            EnrolmentOutcome::Gone => Err(EnrolError::Gone),
        }
    }

    /// Enables the authenticator after its first code. Returns the recovery codes.
    pub async fn confirm(
        &self,
        session_ref: SessionRef,
        code: Secret<String>,
    ) -> Result<RecoveryCodes, ConfirmError> {
        let FactorProofs { ports, settings, clock } = &self.proofs;
        let min_start = clock.now() - settings.get().enrolment_lifetime;
        let factor = ports.factors.factor(session_ref.user).await?;
        let pending_factor = factor.filter(|it| match it.state {
            FactorState::Pending { at } => at > min_start,
            FactorState::On => false,
        });

        let factor = pending_factor.ok_or(ConfirmError::NotPending)?;
        let answer = FactorAnswer::Code(code);
        let check = self.proofs.answer(session_ref.user, &factor, &answer);
        let proof = self.proofs.counted(session_ref.user, check).await?;
        let VerifiedProof::Code(step) = proof else { return Err(ConfirmError::WrongCode) };

        let (codes, hashes) = fresh_codes(session_ref.user)?;
        let change = self.change(session_ref, proof, "factor.enabled", "factor-enabled");
        let is_enabled = ports.factors.enable(change, &factor.sealed, step, &hashes).await?;
        self.caller_cache.forget_user(session_ref.user);

        if is_enabled { Ok(codes) } else { Err(ConfirmError::NotPending) }
    }

    /// Disables the second factor, deletes the recovery codes and ends the other sessions.
    pub async fn disable(
        &self,
        session_ref: SessionRef,
        proof: ReauthProof,
    ) -> Result<(), FactorChangeError> {
        let (account, factor) = self.load(session_ref.user).await?;
        let check = async {
            let verified_proof = self.proofs.proof(&account, &factor, proof).await?;
            let change =
                self.change(session_ref, verified_proof, "factor.disabled", "factor-disabled");
            require_spent(self.proofs.ports.factors.disable(change, verified_proof).await?)
        };
        let outcome = self.proofs.counted(session_ref.user, check).await;
        self.caller_cache.forget_user(session_ref.user);
        Ok(outcome?)
    }

    /// Replaces the recovery codes; the previous ones become invalid.
    pub async fn regenerate_codes(
        &self,
        session_ref: SessionRef,
        proof: ReauthProof,
    ) -> Result<RecoveryCodes, FactorChangeError> {
        let (account, factor) = self.load(session_ref.user).await?;
        let (codes, hashes) = fresh_codes(session_ref.user)?;
        let check = async {
            let verified_proof = self.proofs.proof(&account, &factor, proof).await?;
            let action = "recovery_codes.regenerated";
            let email = "recovery-codes-regenerated";
            let change = self.change(session_ref, verified_proof, action, email);
            require_spent(
                self.proofs.ports.factors.replace_codes(change, verified_proof, &hashes).await?,
            )
        };
        let outcome = self.proofs.counted(session_ref.user, check).await;
        self.caller_cache.forget_user(session_ref.user);
        outcome?;

        Ok(codes)
    }

    /// Deletes secrets that were never confirmed. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        let lifetime = self.proofs.settings.get().enrolment_lifetime;
        self.proofs.ports.factors.sweep(self.proofs.clock.now() - lifetime).await
    }

    /// Returns the account of a caller and its enabled factor.
    async fn load(&self, user: UserId) -> Result<(Account, Factor), FactorChangeError> {
        let account =
            self.proofs.ports.accounts.find(user).await?.ok_or(FactorChangeError::Gone)?;
        let factor = self.proofs.enabled_factor(user).await?.ok_or(FactorChangeError::NotOn)?;
        Ok((account, factor))
    }

    fn change(
        &self,
        session_ref: SessionRef,
        verified_proof: VerifiedProof,
        action: &'static str,
        email: &'static str,
    ) -> FactorChange {
        let SessionRef { user, session } = session_ref;
        let at = self.proofs.clock.now();
        let email = QueuedEmail::new(email).to_user(at, user);
        let change_effects = SideEffects::audit(at, user, action).and_mail(email);
        let effects = used_up(verified_proof, user, at).and(change_effects);
        FactorChange { user, session, at, effects, if_ended: end_effects }
    }
}

fn fresh_codes(user: UserId) -> Result<(RecoveryCodes, Vec<RecoveryHash>), Unavailable> {
    let codes = factors::recovery_codes::fresh()?;
    let hashes = codes.iter().filter_map(|it| factors::recovery_codes::hash(user, it)).collect();
    Ok((RecoveryCodes(codes), hashes))
}

/// Converts the outcome of a store that consumes a proof if it is still valid.
fn require_spent(is_spent: bool) -> Result<(), ProofError> {
    if is_spent { Ok(()) } else { Err(ProofError::Wrong) }
}

fn end_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "session.ended")
}

impl From<ProofError> for ConfirmError {
    fn from(err: ProofError) -> Self {
        match err {
            ProofError::Wrong => Self::WrongCode,
            ProofError::TooMany { wait } => Self::TooMany { wait },
            ProofError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<ProofError> for FactorChangeError {
    fn from(err: ProofError) -> Self {
        match err {
            ProofError::Wrong => Self::WrongProof,
            ProofError::TooMany { wait } => Self::TooMany { wait },
            ProofError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

#[cfg(test)]
mod tests;
