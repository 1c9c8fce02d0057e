//! Registration, renaming and removal of passkeys.
//!
//! A registration takes two requests: `begin` verifies the owner and opens a
//! challenge, and `add` takes the authenticator's response to that challenge.
//! The proof belongs to `begin`: a challenge exists only for a proved owner.
//! `passkeys/sign_in.rs` signs in with passkeys; WebAuthn itself is behind
//! `PasskeyCeremony`, in the crate `passkeys`.

pub(crate) mod options;
pub(crate) mod sign_in;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    PasskeyId, QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId, utf16_len,
};

use crate::factors::proofs::{FactorProofs, ProofError, ReauthProof, used_up};
use crate::passkeys::options::{PasskeyOptions, hash_presented, start_ceremony};
use crate::people::account::Account;
use crate::ports::{
    CeremonyError, FactorChange, NewPasskey, NewPasskeyChallenge, PasskeyAuthorization,
    PasskeyCeremony, PasskeyChallenges, PasskeyChange, PasskeyCreationOutcome, PasskeyEntry,
    PasskeyStore,
};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::Violation;

/// Maximum number of passkeys per account.
const MAX_PASSKEYS: usize = 20;
/// Maximum age of a session that needs no other proof.
const MAX_SESSION_AGE: Duration = Duration::from_mins(10);
const MAX_NAME_CHARS: usize = 64;

/// Errors of starting the registration of a passkey.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyOptionsError {
    /// Server's address does not allow passkeys.
    #[error("the server's public URL doesn't allow passkeys")]
    Off,
    /// Account has a password or a factor, and no proof was presented.
    #[error("a proof is required")]
    ProofNeeded,
    /// Account has no proof, and its session is too old.
    #[error("the session is too old")]
    SessionTooOld,
    /// Proof is wrong, or was used before.
    #[error("the proof is wrong")]
    WrongProof,
    /// Too many wrong proofs.
    #[error("too many wrong proofs")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// Account has the maximum number of passkeys.
    #[error("the account has the maximum of {limit} passkeys")]
    Full {
        /// Maximum number of passkeys of one account.
        limit: usize,
    },
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors of adding a passkey.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyAddError {
    /// Server's address does not allow passkeys.
    #[error("the server's public URL doesn't allow passkeys")]
    Off,
    /// Name is missing, too long or not one line.
    #[error("the name is invalid")]
    Name(Violation),
    /// Ceremony belongs to another user, has expired or was completed.
    #[error("no registration of a passkey is in progress")]
    Over,
    /// Authenticator's response is malformed.
    #[error("`{field}` is malformed")]
    Malformed {
        /// Path of the field: `credential.response.attestationObject`.
        field: String,
    },
    /// Authenticator's response failed verification.
    #[error("the response was rejected")]
    Refused,
    /// Passkey was added before, here or to another account.
    #[error("the passkey is already registered")]
    Known,
    /// Account has the maximum number of passkeys.
    #[error("the account has the maximum of {limit} passkeys")]
    Full {
        /// Maximum number of passkeys of one account.
        limit: usize,
    },
    /// Session or account is gone.
    #[error("the session has ended")]
    Gone,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors of removing a passkey.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyRemoveError {
    /// User has no such passkey.
    #[error("the user has no such passkey")]
    Unknown,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors of changing a passkey.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyChangeError {
    /// Name is missing, too long or not one line.
    #[error("the name is invalid")]
    Name(Violation),
    /// User has no such passkey.
    #[error("the user has no such passkey")]
    Unknown,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of the passkey use cases.
#[derive(Clone)]
pub struct PasskeyPorts {
    /// Store of passkeys, and of the sessions that a change ends.
    pub store: Arc<dyn PasskeyStore>,
    /// Store of challenges until they are answered or expire.
    pub challenges: Arc<dyn PasskeyChallenges>,
    /// WebAuthn ceremonies; `None` if the server's address does not allow passkeys.
    pub ceremony: Option<Arc<dyn PasskeyCeremony>>,
}

/// Passkeys of users.
///
/// Adding or removing one ends the user's other sessions, as with any other factor. A passkey opens
/// an account like password and code together, so adding one requires a fresh proof.
#[derive(Clone)]
pub struct Passkeys {
    ports: PasskeyPorts,
    proofs: FactorProofs,
    caller_cache: CallerCache,
}

impl Passkeys {
    /// Creates passkeys over these ports; `caller_cache` is notified of sessions that end.
    pub fn new(ports: PasskeyPorts, proofs: FactorProofs, caller_cache: CallerCache) -> Self {
        Self { ports, proofs, caller_cache }
    }

    /// Starts the registration of a passkey. It requires a proof, or a new session if the user has
    /// neither password nor factor.
    pub async fn begin(
        &self,
        session_ref: SessionRef,
        proof: Option<ReauthProof>,
    ) -> Result<PasskeyOptions, PasskeyOptionsError> {
        let ceremony = self.ports.ceremony.as_ref().ok_or(PasskeyOptionsError::Off)?;
        let accounts = &self.proofs.ports.accounts;
        let account = accounts.find(session_ref.user).await?.ok_or(PasskeyOptionsError::Gone)?;
        let existing_passkeys = self.ports.store.of_user(session_ref.user).await?;
        if existing_passkeys.len() >= MAX_PASSKEYS {
            return Err(PasskeyOptionsError::Full { limit: MAX_PASSKEYS });
        }

        let credentials = existing_passkeys.into_iter().map(|it| it.credential).collect();
        let registration = ceremony.begin_registration(&account, credentials)?;
        let (options, challenge) = start_ceremony(registration, self.proofs.clock.now())?;

        match proof {
            Some(proof) => self.open_for(&account, proof, challenge).await?,
            None => self.open_in(session_ref, &account, challenge).await?,
        }

        Ok(options)
    }

    /// Adds the passkey of an authenticator's response.
    pub async fn add(
        &self,
        session_ref: SessionRef,
        token: &Secret<String>,
        name: &str,
        response: &str,
    ) -> Result<PasskeyEntry, PasskeyAddError> {
        let ceremony = self.ports.ceremony.as_ref().ok_or(PasskeyAddError::Off)?;
        let name = parse_name(name).map_err(PasskeyAddError::Name)?;
        let at = self.proofs.clock.now();
        let hash = hash_presented(token).ok_or(PasskeyAddError::Over)?;
        let challenges = &self.ports.challenges;
        let state = challenges
            .take_registration(session_ref.user, hash, at)
            .await?
            .ok_or(PasskeyAddError::Over)?;
        let credential = ceremony.finish_registration(&state, response)?;

        // `begin` has verified the owner, so no proof is required again.
        let entry = PasskeyEntry {
            id: PasskeyId::generate(),
            name: name.clone(),
            created_at: at,
            used_at: None,
            blocked_at: None,
            credential: credential.id.clone(),
        };
        let email = QueuedEmail::new("passkey-added").with("name", name.as_str());
        let change = factor_change(session_ref, at, "passkey.added", email);
        let new_passkey = NewPasskey { id: entry.id, name, credential };
        let outcome = self.ports.store.add(change, new_passkey, MAX_PASSKEYS).await?;
        self.caller_cache.forget_user(session_ref.user);
        match outcome {
            PasskeyCreationOutcome::Stored => Ok(entry),
            PasskeyCreationOutcome::Known => Err(PasskeyAddError::Known),
            PasskeyCreationOutcome::Full => Err(PasskeyAddError::Full { limit: MAX_PASSKEYS }),
            PasskeyCreationOutcome::SessionOver => Err(PasskeyAddError::Gone),
        }
    }

    /// Returns the passkeys of a user in order of creation.
    pub async fn list(&self, user: UserId) -> Result<Vec<PasskeyEntry>, Unavailable> {
        self.ports.store.of_user(user).await
    }

    /// Removes a passkey and ends the other sessions.
    pub async fn remove(
        &self,
        session_ref: SessionRef,
        id: PasskeyId,
    ) -> Result<(), PasskeyRemoveError> {
        let all = self.ports.store.of_user(session_ref.user).await?;
        let passkey = all.into_iter().find(|it| it.id == id).ok_or(PasskeyRemoveError::Unknown)?;
        let email = QueuedEmail::new("passkey-removed").with("name", passkey.name);
        let change = factor_change(session_ref, self.proofs.clock.now(), "passkey.removed", email);
        let is_removed = self.ports.store.remove(change, id).await?;
        self.caller_cache.forget_user(session_ref.user);
        if is_removed { Ok(()) } else { Err(PasskeyRemoveError::Unknown) }
    }

    /// Renames a passkey, or unblocks one that was blocked as possibly cloned. The caller must have
    /// verified the owner.
    pub async fn change(
        &self,
        user: UserId,
        id: PasskeyId,
        change: PasskeyChange,
    ) -> Result<PasskeyEntry, PasskeyChangeError> {
        let name =
            change.name.as_deref().map(parse_name).transpose().map_err(PasskeyChangeError::Name)?;
        let change = PasskeyChange { name, ..change };
        // Written by the store only if the passkey was blocked.
        let effects = SideEffects::audit(self.proofs.clock.now(), user, "passkey.unblocked");
        if !self.ports.store.change(user, id, change, effects).await? {
            return Err(PasskeyChangeError::Unknown);
        }
        let all = self.ports.store.of_user(user).await?;
        all.into_iter().find(|it| it.id == id).ok_or(PasskeyChangeError::Unknown)
    }

    /// Deletes challenges that have expired. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.ports.challenges.sweep(self.proofs.clock.now()).await
    }

    /// Opens the challenge if the proof is right, and consumes the proof with it.
    async fn open_for(
        &self,
        account: &Account,
        proof: ReauthProof,
        challenge: NewPasskeyChallenge,
    ) -> Result<(), ProofError> {
        let user = account.user;
        let check = async {
            let factor = self.proofs.enabled_factor(user).await?;
            let verified_proof = self.proofs.verify(account, factor.as_ref(), proof).await?;
            let effects = used_up(verified_proof, user, self.proofs.clock.now());
            let authorization = PasskeyAuthorization::Evidence(verified_proof);
            let is_opened = self
                .ports
                .challenges
                .open_registration(user, authorization, challenge, effects)
                .await?;

            if is_opened { Ok(()) } else { Err(ProofError::Wrong) }
        };

        self.proofs.counted(user, check).await
    }

    /// Opens the challenge in a new session of a user who has neither password nor factor.
    async fn open_in(
        &self,
        session_ref: SessionRef,
        account: &Account,
        challenge: NewPasskeyChallenge,
    ) -> Result<(), PasskeyOptionsError> {
        let SessionRef { user, session } = session_ref;
        let has_password = self.proofs.password_hash(account).await?.is_some();
        if has_password || self.proofs.enabled_factor(user).await?.is_some() {
            return Err(PasskeyOptionsError::ProofNeeded);
        }

        let authorization = PasskeyAuthorization::NewSession {
            session,
            since: self.proofs.clock.now() - MAX_SESSION_AGE,
        };

        let is_opened = self
            .ports
            .challenges
            .open_registration(user, authorization, challenge, SideEffects::default())
            .await?;

        if is_opened { Ok(()) } else { Err(PasskeyOptionsError::SessionTooOld) }
    }
}

fn parse_name(input: &str) -> Result<String, Violation> {
    let name = input.trim();
    if name.is_empty() {
        return Err(Violation::new("name", "required", "A name is required."));
    }
    if utf16_len(name) > MAX_NAME_CHARS {
        let message = format!("The name can be at most {MAX_NAME_CHARS} characters long.");
        return Err(Violation::new("name", "too_long", message));
    }
    if name.chars().any(char::is_control) {
        return Err(Violation::new("name", "invalid", "The name must be a single line of text."));
    }

    Ok(name.to_owned())
}

fn factor_change(
    session_ref: SessionRef,
    at: Timestamp,
    action: &'static str,
    email: QueuedEmail,
) -> FactorChange {
    let SessionRef { user, session } = session_ref;
    let effects = SideEffects::audit(at, user, action).and_mail(email.to_user(at, user));
    FactorChange { user, session, at, effects, if_ended: end_effects }
}

fn end_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "session.ended")
}

impl From<ProofError> for PasskeyOptionsError {
    fn from(err: ProofError) -> Self {
        match err {
            ProofError::Wrong => Self::WrongProof,
            ProofError::TooMany { wait } => Self::TooMany { wait },
            ProofError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<CeremonyError> for PasskeyAddError {
    fn from(err: CeremonyError) -> Self {
        match err {
            CeremonyError::Malformed { field } => Self::Malformed { field },
            CeremonyError::Refused(reason) => {
                tracing::info!(reason, "passkey registration rejected");
                Self::Refused
            }
            CeremonyError::Unreadable(_) => Unavailable::new("passkeys", err).into(),
        }
    }
}

#[cfg(test)]
mod tests;
