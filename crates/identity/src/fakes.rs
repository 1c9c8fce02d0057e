//! Stateful fakes of second factors and emails.

mod accounts;
mod challenges;
mod counts;
mod secrets;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use pia_kernel::{
    AuditEntry, Clock, LiveSetting, QueuedEmail, Secret, SessionId, SideEffects, Timestamp,
    Unavailable, UserId,
};

use crate::factors::challenges::FactorChallenges;
use crate::factors::proofs::{FactorPorts, FactorProofs, FactorSettings};
use crate::people::account::Account;
use crate::ports::{
    AccountStore, Credentials, EnrolmentOutcome, Factor, FactorChange, FactorState, FactorStore,
    MockAccountStore, MockPasswordHasher, NewChallenge, PasswordHasher, RecoveryHash, Step,
    TokenHash, Verdict, VerifiedProof,
};
use crate::sessions::access_tokens::SessionRef;

pub(crate) use accounts::{InMemoryAccounts, session_ref, verification};

pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// Second factor, challenges and emails of one user, in memory.
///
/// It implements six ports: [`FactorStore`] here, `ChallengeStore` and `SessionStarts` in
/// `challenges`, `SecretBox` in `secrets`, and `RateLimitStore` and `PasswordThrottleStore`
/// in `counts`.
#[derive(Default)]
pub(crate) struct InMemoryFactors {
    state: Mutex<State>,
    wrong_proofs: AtomicU32,
    wrong_answers: AtomicU32,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) factor: Option<Factor>,
    pub(crate) last_step: Option<Step>,
    pub(crate) codes: Vec<RecoveryHash>,
    pub(crate) challenges: HashMap<TokenHash, (NewChallenge, u32)>,
    pub(crate) audit: Vec<AuditEntry>,
    /// Emails that were queued, oldest first.
    pub(crate) emails: Vec<QueuedEmail>,
    /// True if the account has no password.
    pub(crate) without_password: bool,
    /// Time of the last proof in the caller's session, at first that of its sign-in.
    pub(crate) proved_at: Option<Timestamp>,
    /// Session that the last change left open.
    pub(crate) surviving_session: Option<SessionId>,
    /// Sealed secrets that were replaced, each with its replacement.
    pub(crate) resealed: Vec<(Vec<u8>, Vec<u8>)>,
    /// True if sealed secrets are under the previous key.
    pub(crate) key_changed: bool,
    /// True if sealed secrets no longer open.
    pub(crate) key_lost: bool,
    /// Change of the account after it was loaded.
    pub(crate) meanwhile: Option<Meanwhile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meanwhile {
    /// Account was deleted before the store wrote.
    Deleted,
    /// Epoch of the credentials was incremented before the store wrote.
    Changed,
}

impl InMemoryFactors {
    /// Creates a user with a second factor, whose authenticator app displays no valid code.
    pub(crate) fn with_factor_on() -> Arc<Self> {
        let factor = Some(Factor { sealed: Vec::new(), state: FactorState::On });
        let state = Mutex::new(State { factor, ..State::default() });
        Arc::new(Self { state, ..Self::default() })
    }

    /// Locks the state. The guard must be dropped before another call of this fake.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn challenges(self: &Arc<Self>, clock: Arc<dyn Clock>) -> FactorChallenges {
        let store = Arc::clone(self) as _;
        let throttle = Arc::clone(self) as _;
        FactorChallenges::new(store, throttle, self.proofs(clock))
    }

    /// Returns proofs over [`ports`](Self::ports), with the default limits.
    pub(crate) fn proofs(self: &Arc<Self>, clock: Arc<dyn Clock>) -> FactorProofs {
        let settings = LiveSetting::new(FactorSettings::default());
        FactorProofs { ports: self.ports(), settings, clock }
    }

    /// Returns ports where every account is Ada's, with the password [`PASSWORD`].
    pub(crate) fn ports(self: &Arc<Self>) -> FactorPorts {
        FactorPorts {
            accounts: self.accounts(),
            factors: Arc::clone(self) as _,
            attempts: Arc::clone(self) as _,
            hasher: hasher(),
            secrets: Arc::clone(self) as _,
            starts: Arc::clone(self) as _,
        }
    }

    pub(crate) fn has_factor(&self) -> bool {
        self.state().factor.is_some()
    }

    /// Returns the number of recovery codes.
    pub(crate) fn code_count(&self) -> usize {
        self.state().codes.len()
    }

    /// Returns the session that the last change left open.
    pub(crate) fn surviving_session(&self) -> Option<SessionId> {
        self.state().surviving_session
    }

    /// Changes the account before the store writes.
    pub(crate) fn set_meanwhile(&self, change: Meanwhile) {
        self.state().meanwhile = Some(change);
    }

    /// Makes sealed secrets unreadable.
    pub(crate) fn lose_key(&self) {
        self.state().key_lost = true;
    }

    /// Returns the number of wrong answers to challenges.
    pub(crate) fn wrong_answers(&self) -> u32 {
        self.wrong_answers.load(Ordering::SeqCst)
    }

    /// Returns the number of wrong proofs.
    pub(crate) fn wrong_proofs(&self) -> u32 {
        self.wrong_proofs.load(Ordering::SeqCst)
    }

    pub(crate) fn audited(&self) -> Vec<&'static str> {
        self.state().audit.iter().map(|it| it.action).collect()
    }

    /// Removes the account's password and sets the time of the session's last proof.
    pub(crate) fn remove_password(&self, proved_at: Option<Timestamp>) {
        let mut state = self.state();
        state.without_password = true;
        state.proved_at = proved_at;
    }

    pub(crate) fn queued_emails(&self) -> Vec<QueuedEmail> {
        self.state().emails.clone()
    }

    /// Returns the names of the queued emails.
    pub(crate) fn emails(&self) -> Vec<&'static str> {
        self.state().emails.iter().map(|it| it.name).collect()
    }

    /// Returns a store that has every account. The one found last is also found by any address.
    fn accounts(self: &Arc<Self>) -> Arc<dyn AccountStore> {
        let mut accounts = MockAccountStore::new();
        let found_user = Arc::new(Mutex::new(UserId::generate()));
        let recorded_user = Arc::clone(&found_user);
        accounts.expect_find().returning(move |user| {
            *recorded_user.lock().unwrap() = user;
            Ok(Some(account(user)))
        });
        let factors = Arc::clone(self);
        accounts.expect_by_email().returning(move |_| {
            let account = account(*found_user.lock().unwrap());
            let has_password = !factors.state().without_password;
            let password_hash = has_password.then(|| Secret::new("kept".to_owned()));
            Ok(Some(Credentials { account, password_hash }))
        });
        Arc::new(accounts)
    }
}

impl State {
    /// Consumes a proof as the store does. Returns whether it was valid.
    pub(crate) fn consume_proof(&mut self, verified_proof: VerifiedProof) -> bool {
        if !self.factor.as_ref().is_some_and(|it| it.state == FactorState::On) {
            return false;
        }
        match verified_proof {
            VerifiedProof::Password | VerifiedProof::SignIn => true,
            VerifiedProof::Code(step) => {
                let is_fresh = self.last_step.is_none_or(|last| last < step);
                self.last_step = self.last_step.max(Some(step));
                is_fresh
            }
            VerifiedProof::RecoveryCode(hash) => {
                let count_before = self.codes.len();
                self.codes.retain(|it| *it != hash);
                self.codes.len() < count_before
            }
        }
    }

    fn changed(&mut self, change: FactorChange) {
        self.surviving_session = Some(change.session);
        self.write(change.effects);
    }

    pub(crate) fn write(&mut self, effects: SideEffects) {
        self.audit.extend(effects.audit);
        self.emails.extend(effects.mail.into_iter().map(|it| it.email));
    }
}

pub(crate) fn account(user: UserId) -> Account {
    Account::local(user, "ada@example.org".to_owned(), Timestamp::UNIX_EPOCH)
}

fn hasher() -> Arc<dyn PasswordHasher> {
    let mut hasher = MockPasswordHasher::new();
    hasher.expect_verify().returning(|password, _| {
        Ok(if password.ct_eq(PASSWORD) { Verdict::Right } else { Verdict::Wrong })
    });
    Arc::new(hasher)
}

#[async_trait]
impl FactorStore for InMemoryFactors {
    async fn factor(&self, _: UserId) -> Result<Option<Factor>, Unavailable> {
        Ok(self.state().factor.clone())
    }

    async fn codes_left(&self, _: UserId) -> Result<u32, Unavailable> {
        Ok(u32::try_from(self.state().codes.len()).unwrap())
    }

    async fn begin(
        &self,
        _: UserId,
        sealed: &[u8],
        at: Timestamp,
    ) -> Result<EnrolmentOutcome, Unavailable> {
        let state = FactorState::Pending { at };
        self.state().factor = Some(Factor { sealed: sealed.to_vec(), state });
        Ok(EnrolmentOutcome::Pending)
    }

    async fn enable(
        &self,
        change: FactorChange,
        sealed: &[u8],
        step: Step,
        codes: &[RecoveryHash],
    ) -> Result<bool, Unavailable> {
        let mut state = self.state();
        state.factor = Some(Factor { sealed: sealed.to_vec(), state: FactorState::On });
        state.last_step = Some(step);
        state.codes = codes.to_vec();
        state.changed(change);
        Ok(true)
    }

    async fn disable(
        &self,
        change: FactorChange,
        verified_proof: VerifiedProof,
    ) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let is_valid = state.consume_proof(verified_proof);
        if is_valid {
            state.factor = None;
            state.codes.clear();
            state.challenges.clear();
            state.changed(change);
        }
        Ok(is_valid)
    }

    async fn replace_codes(
        &self,
        change: FactorChange,
        verified_proof: VerifiedProof,
        codes: &[RecoveryHash],
    ) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let is_valid = state.consume_proof(verified_proof);
        if is_valid {
            state.codes = codes.to_vec();
            state.changed(change);
        }
        Ok(is_valid)
    }

    async fn spend(
        &self,
        _: SessionRef,
        verified_proof: VerifiedProof,
        _: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let is_valid = state.consume_proof(verified_proof);
        if is_valid {
            state.write(effects);
        }
        Ok(is_valid)
    }

    async fn reseal(&self, _: UserId, old: &[u8], new: &[u8]) -> Result<(), Unavailable> {
        let mut state = self.state();
        state.resealed.push((old.to_vec(), new.to_vec()));
        Ok(())
    }

    async fn sweep(&self, _: Timestamp) -> Result<u64, Unavailable> {
        Ok(0)
    }
}
