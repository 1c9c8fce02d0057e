//! Stateful fakes of accounts, passwords and emails.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use pia_kernel::{
    LiveSetting, Mail, Recipient, Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId,
};
use pia_testkit::ManualClock;

use crate::people::account::{Account, AccountRules, CallerState};
use crate::people::email::fold_email;
use crate::people::email_tokens::EmailTokenPorts;
use crate::people::verification::Verification;
use crate::ports::{
    AccountStore, AddressChange, AddressChangeOutcome, AppAccess, Credentials, EmailTokenPurpose,
    EmailTokenStore, MockAccountStore, MockPasswordHasher, NewEmailToken, PasswordChange,
    PasswordHasher, PasswordReset, PasswordStore, RateLimitOutcome, RateLimitStore, RateQuota,
    TokenHash, Verdict,
};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;

/// Accounts, passwords, tokens and emails in memory, and the order of the calls.
///
/// It is a store of email tokens, of passwords and of rate limits.
pub(crate) struct InMemoryAccounts {
    state: Mutex<State>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) mail: LiveSetting<bool>,
}

#[derive(Default)]
struct State {
    people: Vec<Credentials>,
    tokens: Vec<(UserId, NewEmailToken)>,
    emails: Vec<Mail>,
    audit: Vec<&'static str>,
    steps: Vec<&'static str>,
    counted: HashMap<String, u32>,
}

/// Returns a verification on a server that sends no emails.
pub(crate) fn verification(required: bool) -> Verification {
    let accounts = InMemoryAccounts::empty();
    accounts.mail.set(false);
    accounts.verification(required)
}

impl InMemoryAccounts {
    /// Creates a store without accounts, on a server that sends emails.
    pub(crate) fn empty() -> Arc<Self> {
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        Arc::new(Self { state: Mutex::default(), clock, mail: LiveSetting::new(true) })
    }

    /// Adds an account with this address, and a password if a hash is passed.
    pub(crate) fn person(&self, email: &str, hash: Option<&str>) -> UserId {
        let user = UserId::generate();
        let account = Account {
            display_name: Some("Ada Augusta".to_owned()),
            ..Account::local(user, email.to_owned(), Timestamp::UNIX_EPOCH)
        };
        let password_hash = hash.map(|it| Secret::new(it.to_owned()));
        self.state().people.push(Credentials { account, password_hash });
        user
    }

    /// Marks the user's address as verified.
    pub(crate) fn prove(&self, user: UserId) {
        let mut state = self.state();
        for person in state.people.iter_mut().filter(|it| it.account.user == user) {
            person.account.email_verified_at = Some(Timestamp::UNIX_EPOCH);
        }
    }

    pub(crate) fn ports(self: &Arc<Self>) -> EmailTokenPorts {
        EmailTokenPorts {
            accounts: self.account_store(),
            tokens: Arc::clone(self) as _,
            attempts: Arc::clone(self) as _,
            mail: self.mail.clone(),
            public_url: "https://pia.example/pia".to_owned(),
            clock: Arc::<ManualClock>::clone(&self.clock),
        }
    }

    pub(crate) fn verification(self: &Arc<Self>, required: bool) -> Verification {
        let rules = AccountRules { require_verification: required, ..AccountRules::default() };
        Verification::new(self.ports(), LiveSetting::new(rules), self.caller_cache())
    }

    pub(crate) fn caller_cache(self: &Arc<Self>) -> CallerCache {
        CallerCache::new(self.account_store(), Arc::<ManualClock>::clone(&self.clock))
    }

    pub(crate) fn account_store(self: &Arc<Self>) -> Arc<dyn AccountStore> {
        let mut accounts = MockAccountStore::new();
        let store = Arc::clone(self);
        accounts.expect_by_email().returning(move |email| {
            let mut state = store.state();
            state.steps.push("look");
            let has_email = |it: &&Credentials| fold_email(&it.account.email) == fold_email(email);
            Ok(state.people.iter().find(has_email).cloned())
        });
        let store = Arc::clone(self);
        accounts.expect_find().returning(move |user| Ok(store.account(user)));
        accounts
            .expect_caller_state()
            .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
        Arc::new(accounts)
    }

    /// Returns a hasher that prefixes passwords with `kept `.
    pub(crate) fn hasher() -> Arc<dyn PasswordHasher> {
        let mut hasher = MockPasswordHasher::new();
        let hashed = |it: &Secret<String>| format!("kept {}", it.expose());
        hasher.expect_hash().returning(move |it| Ok(Secret::new(hashed(&it))));
        hasher.expect_verify().returning(move |password, hash| {
            let right = hash.is_some_and(|it| it.ct_eq(&hashed(&password)));
            Ok(if right { Verdict::Right } else { Verdict::Wrong })
        });
        Arc::new(hasher)
    }

    pub(crate) fn account(&self, user: UserId) -> Option<Account> {
        self.credentials(user).map(|it| it.account)
    }

    pub(crate) fn credentials(&self, user: UserId) -> Option<Credentials> {
        let state = self.state();
        state.people.iter().find(|it| it.account.user == user).cloned()
    }

    /// Returns the name and the recipient of every email.
    pub(crate) fn emails(&self) -> Vec<(&'static str, UserId)> {
        let state = self.state();
        let name_and_user = |mail: &Mail| match mail.to {
            Recipient::User(user) => (mail.email.name, user),
            Recipient::Address(_) => panic!("{mail:?}"),
        };
        state.emails.iter().map(name_and_user).collect()
    }

    /// Returns the name and the address of every email that is not to a user.
    pub(crate) fn addressed(&self) -> Vec<(&'static str, String)> {
        let state = self.state();
        let name_and_address = |mail: &Mail| match &mail.to {
            Recipient::User(_) => None,
            Recipient::Address(address) => Some((mail.email.name, address.clone())),
        };
        state.emails.iter().filter_map(name_and_address).collect()
    }

    /// Returns the link in the last email.
    pub(crate) fn link(&self) -> String {
        let state = self.state();
        let email = &state.emails.last().unwrap().email;
        email.fields.iter().find(|it| it.0 == "link").unwrap().1.clone()
    }

    /// Returns the token in the last email.
    pub(crate) fn token(&self) -> Secret<String> {
        Secret::new(self.link().rsplit_once("&token=").unwrap().1.to_owned())
    }

    /// Returns and clears the recorded calls.
    pub(crate) fn steps(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().steps)
    }

    pub(crate) fn audited(&self) -> Vec<&'static str> {
        self.state().audit.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn write(state: &mut State, effects: SideEffects) {
        state.audit.extend(effects.audit.iter().map(|it| it.action));
        state.emails.extend(effects.mail);
    }

    /// Consumes a token. Returns whether it was valid.
    fn consume_token(
        state: &mut State,
        user: UserId,
        hash: TokenHash,
        purpose: EmailTokenPurpose,
        now: Timestamp,
    ) -> bool {
        let before = state.tokens.len();
        state.tokens.retain(|(owner, it)| {
            let is_valid = it.purpose == purpose && it.expires_at > now;
            !(is_valid && *owner == user && it.hash == hash)
        });
        state.tokens.len() < before
    }
}

#[async_trait]
impl EmailTokenStore for InMemoryAccounts {
    async fn put(
        &self,
        user: UserId,
        token: Option<NewEmailToken>,
        effects: SideEffects,
    ) -> Result<(), Unavailable> {
        let mut state = self.state();
        state.steps.push("write");
        state.tokens.extend(token.map(|it| (user, it)));
        Self::write(&mut state, effects);
        Ok(())
    }

    async fn pretend(&self, _: Timestamp) -> Result<(), Unavailable> {
        self.state().steps.push("write");
        Ok(())
    }

    async fn owner(
        &self,
        token: TokenHash,
        purpose: EmailTokenPurpose,
        now: Timestamp,
    ) -> Result<Option<UserId>, Unavailable> {
        let state = self.state();
        let is_valid =
            |it: &NewEmailToken| it.hash == token && it.purpose == purpose && it.expires_at > now;
        Ok(state.tokens.iter().find(|(_, it)| is_valid(it)).map(|(owner, _)| *owner))
    }

    async fn verify(
        &self,
        user: UserId,
        token: TokenHash,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let is_valid =
            Self::consume_token(&mut state, user, token, EmailTokenPurpose::Verification, at);
        if is_valid {
            for person in state.people.iter_mut().filter(|it| it.account.user == user) {
                person.account.email_verified_at = Some(at);
            }
            Self::write(&mut state, effects);
        }
        Ok(is_valid)
    }

    async fn change_address(
        &self,
        change: AddressChange,
    ) -> Result<AddressChangeOutcome, Unavailable> {
        let AddressChange { user, token, email, at, effects } = change;
        let mut state = self.state();
        if !Self::consume_token(&mut state, user, token, EmailTokenPurpose::AddressChange, at) {
            return Ok(AddressChangeOutcome::InvalidToken);
        }
        for person in state.people.iter_mut().filter(|it| it.account.user == user) {
            person.account.email.clone_from(&email);
        }
        Self::write(&mut state, effects);
        Ok(AddressChangeOutcome::Changed)
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable> {
        let mut state = self.state();
        let before = state.tokens.len();
        state.tokens.retain(|(_, it)| it.expires_at > now);
        Ok((before - state.tokens.len()) as u64)
    }
}

#[async_trait]
impl PasswordStore for InMemoryAccounts {
    async fn reset(&self, reset: PasswordReset) -> Result<bool, Unavailable> {
        let PasswordReset { user, token, password_hash, at, effects, if_ended } = reset;
        let mut state = self.state();
        let is_valid =
            Self::consume_token(&mut state, user, token, EmailTokenPurpose::PasswordReset, at);
        if is_valid {
            for person in state.people.iter_mut().filter(|it| it.account.user == user) {
                person.password_hash = Some(password_hash.clone());
            }
            Self::write(&mut state, effects.and(if_ended(user, at)));
        }
        Ok(is_valid)
    }

    /// Replaces the password. Every account has two app passwords and an API key until they are
    /// revoked.
    async fn change(&self, change: PasswordChange) -> Result<Option<AppAccess>, Unavailable> {
        let PasswordChange { by, old, new, at, effects, if_ended, .. } = change;
        let mut state = self.state();
        let person = state.people.iter_mut().find(|person| {
            let hash = person.password_hash.as_ref();
            person.account.user == by.user && hash.is_some_and(|it| it.ct_eq(old.expose()))
        });
        let Some(person) = person else { return Ok(None) };
        person.password_hash = Some(new);
        let before = AppAccess { app_passwords: 2, api_keys: 1 };
        let remaining_access = if change.revoke_app_access { AppAccess::default() } else { before };
        Self::write(&mut state, effects(by.user, at, remaining_access).and(if_ended(by.user, at)));
        Ok(Some(remaining_access))
    }
}

#[async_trait]
impl RateLimitStore for InMemoryAccounts {
    async fn attempt(
        &self,
        key: &str,
        quota: RateQuota,
        _: Timestamp,
    ) -> Result<RateLimitOutcome, Unavailable> {
        let mut state = self.state();
        state.steps.push("count");
        let count = state.counted.entry(key.to_owned()).or_default();
        if *count >= quota.burst {
            return Ok(RateLimitOutcome::Wait(quota.interval()));
        }
        *count += 1;
        Ok(RateLimitOutcome::Allowed)
    }

    async fn give_back(&self, key: &str, _: RateQuota, _: Timestamp) -> Result<(), Unavailable> {
        if let Some(counted) = self.state().counted.get_mut(key) {
            *counted = counted.saturating_sub(1);
        }
        Ok(())
    }

    async fn sweep(&self, _: Timestamp) -> Result<u64, Unavailable> {
        Ok(0)
    }
}

/// Returns a session of this user.
pub(crate) fn session_ref(user: UserId) -> SessionRef {
    SessionRef { user, session: SessionId::generate() }
}
