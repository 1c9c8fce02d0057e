//! Adding passkeys to an account, and removing them.

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
    CeremonyError, Factor, FactorChange, FactorState, NewPasskey, NewPasskeyChallenge,
    PasskeyAdded, PasskeyAuthorization, PasskeyCeremony, PasskeyChallenges, PasskeyChange,
    PasskeyEntry, PasskeyStore,
};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::Violation;

/// Number of passkeys an account may have.
const MAX_PASSKEYS: usize = 20;
/// Maximum age of a session that needs no other proof.
const NEW: Duration = Duration::from_mins(10);
const MAX_NAME_CHARS: usize = 64;

/// Reasons why nobody is requested a new passkey.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyOptionsError {
    /// The address of the server allows no passkeys.
    #[error("the server's address allows no passkeys")]
    Off,
    /// The account has a password or a factor, and neither was shown.
    #[error("a proof is needed")]
    ProofNeeded,
    /// Account has nothing to prove with, and its session is too old.
    #[error("the session is too old")]
    SessionTooOld,
    /// The proof is wrong, or was used before.
    #[error("the proof is wrong")]
    WrongProof,
    /// Too many wrong proofs.
    #[error("too many wrong proofs")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// The account has as many passkeys as it may have.
    #[error("the account has {limit} passkeys")]
    Full {
        /// Maximum number of passkeys.
        limit: usize,
    },
    /// The account was deleted since the gates let its owner pass.
    #[error("there is no such account")]
    Gone,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reasons why a passkey was not added.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyAddError {
    /// The address of the server allows no passkeys.
    #[error("the server's address allows no passkeys")]
    Off,
    /// Name is invalid.
    #[error("the name is not fit")]
    Name(Violation),
    /// Ceremony belongs to another user, has expired or was completed.
    #[error("no passkey is being added")]
    Over,
    /// The authenticator's answer is not of the form that browsers send.
    #[error("`{field}` is malformed")]
    Malformed {
        /// Path of the field.
        field: String,
    },
    /// The authenticator's answer is not one to what was asked.
    #[error("the answer is refused")]
    Refused,
    /// Passkey was added before, here or to another account.
    #[error("the passkey is known already")]
    Known,
    /// The account has as many passkeys as it may have.
    #[error("the account has {limit} passkeys")]
    Full {
        /// Maximum number of passkeys.
        limit: usize,
    },
    /// The session or its account is no more.
    #[error("the session is over")]
    Gone,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reasons why a passkey was not removed.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyRemoveError {
    /// The user has no such passkey, or has it no longer.
    #[error("the user has no such passkey")]
    Unknown,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reasons why a passkey was not changed.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyChangeError {
    /// Name is invalid.
    #[error("the name is not fit")]
    Name(Violation),
    /// The user has no such passkey, or has it no longer.
    #[error("the user has no such passkey")]
    Unknown,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of the passkey use cases.
#[derive(Clone)]
pub struct PasskeyPorts {
    /// Store of passkeys.
    pub store: Arc<dyn PasskeyStore>,
    /// Store of challenges that wait for their answers.
    pub challenges: Arc<dyn PasskeyChallenges>,
    /// WebAuthn ceremonies; nothing where the server's address allows no
    /// passkeys.
    pub ceremony: Option<Arc<dyn PasskeyCeremony>>,
}

/// People's passkeys.
///
/// Whoever adds or removes one has their other sessions ended, as with any
/// other factor. A passkey opens an account as password and code together do,
/// so one is added only by who has shown the password or a code just now.
#[derive(Clone)]
pub struct Passkeys {
    ports: PasskeyPorts,
    proofs: FactorProofs,
    caller_cache: CallerCache,
}

impl Passkeys {
    /// Passkeys in the given stores; `caller_cache` is notified of sessions that end.
    pub fn new(ports: PasskeyPorts, proofs: FactorProofs, caller_cache: CallerCache) -> Self {
        Self { ports, proofs, caller_cache }
    }

    /// Asks for a new passkey of a user who has shown a proof; nothing is
    /// shown by who has neither password nor factor, but their session is new.
    pub async fn ask(
        &self,
        session_ref: SessionRef,
        proof: Option<ReauthProof>,
    ) -> Result<PasskeyOptions, PasskeyOptionsError> {
        let ceremony = self.ports.ceremony.as_ref().ok_or(PasskeyOptionsError::Off)?;
        let account = self.proofs.ports.accounts.find(session_ref.user).await?;
        let account = account.ok_or(PasskeyOptionsError::Gone)?;
        let existing = self.ports.store.of_user(session_ref.user).await?;
        if existing.len() >= MAX_PASSKEYS {
            return Err(PasskeyOptionsError::Full { limit: MAX_PASSKEYS });
        }
        let existing = existing.into_iter().map(|it| it.credential).collect();
        let begun = ceremony.begin_registration(&account, existing)?;
        let (requested, challenge) = start_ceremony(begun, self.proofs.clock.now())?;
        match proof {
            Some(proof) => self.open_for(&account, proof, challenge).await?,
            None => self.open_in(session_ref, &account, challenge).await?,
        }
        Ok(requested)
    }

    /// Adds the passkey that an authenticator has made.
    pub async fn add(
        &self,
        session_ref: SessionRef,
        token: &Secret<String>,
        name: &str,
        answer: &str,
    ) -> Result<PasskeyEntry, PasskeyAddError> {
        let ceremony = self.ports.ceremony.as_ref().ok_or(PasskeyAddError::Off)?;
        let name = checked(name).map_err(PasskeyAddError::Name)?;
        let at = self.proofs.clock.now();
        let hash = hash_presented(token).ok_or(PasskeyAddError::Over)?;
        let state = self.ports.challenges.take_registration(session_ref.user, hash, at).await?;
        let state = state.ok_or(PasskeyAddError::Over)?;
        let credential = ceremony.finish_registration(&state, answer)?;

        let entry = PasskeyEntry {
            id: PasskeyId::generate(),
            name: name.clone(),
            created_at: at,
            used_at: None,
            blocked_at: None,
            credential: credential.id.clone(),
        };
        let letter = QueuedEmail::new("passkey-added").with("name", name.as_str());
        let change = change(session_ref, at, "passkey.added", letter);
        let new = NewPasskey { id: entry.id, name, credential };
        let added = self.ports.store.add(change, new, MAX_PASSKEYS).await?;
        self.caller_cache.forget_user(session_ref.user);
        match added {
            PasskeyAdded::Stored => Ok(entry),
            PasskeyAdded::Known => Err(PasskeyAddError::Known),
            PasskeyAdded::Full => Err(PasskeyAddError::Full { limit: MAX_PASSKEYS }),
            PasskeyAdded::SessionOver => Err(PasskeyAddError::Gone),
        }
    }

    /// Every passkey of a user, in the order in which they were added.
    pub async fn list(&self, user: UserId) -> Result<Vec<PasskeyEntry>, Unavailable> {
        self.ports.store.of_user(user).await
    }

    /// Removes a passkey.
    pub async fn remove(
        &self,
        session_ref: SessionRef,
        id: PasskeyId,
    ) -> Result<(), PasskeyRemoveError> {
        let all = self.ports.store.of_user(session_ref.user).await?;
        let passkey = all.into_iter().find(|it| it.id == id);
        let passkey = passkey.ok_or(PasskeyRemoveError::Unknown)?;
        let letter = QueuedEmail::new("passkey-removed").with("name", passkey.name);
        let change = change(session_ref, self.proofs.clock.now(), "passkey.removed", letter);
        let removed = self.ports.store.remove(change, id).await?;
        self.caller_cache.forget_user(session_ref.user);
        if removed { Ok(()) } else { Err(PasskeyRemoveError::Unknown) }
    }

    /// Renames a passkey, or lets it in again that was blocked because there
    /// may be a copy of it. Whether its owner asks is for the caller to know.
    pub async fn change(
        &self,
        user: UserId,
        id: PasskeyId,
        change: PasskeyChange,
    ) -> Result<PasskeyEntry, PasskeyChangeError> {
        let name = change.name.as_deref().map(checked).transpose();
        let change = PasskeyChange { name: name.map_err(PasskeyChangeError::Name)?, ..change };
        let effects = SideEffects::audit(self.proofs.clock.now(), user, "passkey.unblocked");
        if !self.ports.store.change(user, id, change, effects).await? {
            return Err(PasskeyChangeError::Unknown);
        }
        let all = self.ports.store.of_user(user).await?;
        all.into_iter().find(|it| it.id == id).ok_or(PasskeyChangeError::Unknown)
    }

    /// Forgets challenges that have ended. Answers how many they were.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.ports.challenges.sweep(self.proofs.clock.now()).await
    }

    async fn open_for(
        &self,
        account: &Account,
        proof: ReauthProof,
        challenge: NewPasskeyChallenge,
    ) -> Result<(), ProofError> {
        let user = account.user;
        let check = async {
            let verified = match (proof, self.factor(user).await?) {
                (ReauthProof::Password(it), _) => self.proofs.password(account, it).await?,
                (ReauthProof::Factor(it), Some(on)) => self.proofs.answer(user, &on, &it).await?,
                (ReauthProof::Factor(_), None) => return Err(ProofError::Wrong),
            };
            let effects = used_up(verified, user, self.proofs.clock.now());
            let leave = PasskeyAuthorization::Evidence(verified);
            let opened =
                self.ports.challenges.open_registration(user, leave, challenge, effects).await?;
            if opened { Ok(()) } else { Err(ProofError::Wrong) }
        };
        self.proofs.counted(user, check).await
    }

    async fn open_in(
        &self,
        session_ref: SessionRef,
        account: &Account,
        challenge: NewPasskeyChallenge,
    ) -> Result<(), PasskeyOptionsError> {
        let SessionRef { user, session } = session_ref;
        let credentials = self.proofs.ports.accounts.by_email(&account.email).await?;
        let own = credentials.filter(|it| it.account.user == user);
        let has_password = own.is_some_and(|it| it.password_hash.is_some());
        if has_password || self.factor(user).await?.is_some() {
            return Err(PasskeyOptionsError::ProofNeeded);
        }
        let leave =
            PasskeyAuthorization::NewSession { session, since: self.proofs.clock.now() - NEW };
        let opened =
            self.ports.challenges.open_registration(user, leave, challenge, SideEffects::default());
        if opened.await? { Ok(()) } else { Err(PasskeyOptionsError::SessionTooOld) }
    }

    async fn factor(&self, user: UserId) -> Result<Option<Factor>, Unavailable> {
        let factor = self.proofs.ports.factors.factor(user).await?;
        Ok(factor.filter(|it| it.state == FactorState::On))
    }
}

fn checked(name: &str) -> Result<String, Violation> {
    let name = name.trim();
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

fn change(
    session_ref: SessionRef,
    at: Timestamp,
    action: &'static str,
    letter: QueuedEmail,
) -> FactorChange {
    let SessionRef { user, session } = session_ref;
    let effects = SideEffects::audit(at, user, action).and_mail(letter.to_user(at, user));
    FactorChange { user, session, at, effects, if_ended: ended }
}

fn ended(user: UserId, at: Timestamp) -> SideEffects {
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
