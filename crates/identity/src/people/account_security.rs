//! Use case of administrators: sessions, second factors and guesses of other users.
//!
//! A count of wrong passwords is stored under a hash of the address and the
//! network. `lift_wait` and `waits_until` therefore recompute the keys from
//! the networks of the account's last sign-ins (`passwords/throttle.rs`).

use std::sync::Arc;

use pia_kernel::{
    AuditEntry, Clock, PageRequest, QueuedEmail, SideEffects, Timestamp, Unavailable, UserId,
};

use crate::passwords::throttle;
use crate::ports::{AccountStore, PasswordThrottleStore, RoleStore, SignInLog};
use crate::sessions::caller_cache::CallerCache;

/// Number of sign-ins whose networks count wrong passwords of their own.
const KNOWN_SIGN_INS: u16 = 200;

/// Errors of administering what secures an account.
#[derive(Debug, thiserror::Error)]
pub enum AccountSecurityError {
    /// Account does not exist.
    #[error("no such account")]
    Unknown,
    /// Account has no second factor.
    #[error("no second factor is enabled")]
    NoFactor,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Stores of [`AccountSecurity`].
#[derive(Clone)]
pub struct AccountSecurityPorts {
    /// Store of accounts, to find the one of an address.
    pub accounts: Arc<dyn AccountStore>,
    /// Store of what administrators change.
    pub store: Arc<dyn RoleStore>,
    /// Counters of wrong passwords, which an administrator may clear.
    pub throttle: Arc<dyn PasswordThrottleStore>,
    /// Log of sign-ins, in which the account's last failures are found.
    pub log: Arc<dyn SignInLog>,
}

/// Administration of what secures other users' accounts.
///
/// The actor is only for the audit log; the surface checks the permission.
#[derive(Clone)]
pub struct AccountSecurity {
    ports: AccountSecurityPorts,
    caller_cache: CallerCache,
    clock: Arc<dyn Clock>,
}

impl AccountSecurity {
    /// Creates an administration over these stores; `caller_cache` is notified of sessions that
    /// end.
    pub fn new(
        ports: AccountSecurityPorts,
        caller_cache: CallerCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { ports, caller_cache, clock }
    }

    /// Ends all sessions of a user, and sign-ins in progress. App passwords and API keys stay.
    pub async fn end_sessions(&self, by: UserId, user: UserId) -> Result<(), AccountSecurityError> {
        let effects = done(self.clock.now(), by, user, "account.sessions_ended");
        let exists = self.ports.store.end_sessions(user, effects).await?;
        self.caller_cache.forget_user(user);
        if exists { Ok(()) } else { Err(AccountSecurityError::Unknown) }
    }

    /// Disables the second factor that a user has lost, and ends their sessions. They are emailed.
    pub async fn reset_factor(&self, by: UserId, user: UserId) -> Result<(), AccountSecurityError> {
        let at = self.clock.now();
        let email = QueuedEmail::new("factor-disabled").to_user(at, user);
        let effects = done(at, by, user, "factor.reset").and_mail(email);
        let reset = self.ports.store.reset_factor(user, effects).await?;
        self.caller_cache.forget_user(user);
        if reset {
            return Ok(());
        }
        self.ports.accounts.find(user).await?.ok_or(AccountSecurityError::Unknown)?;
        Err(AccountSecurityError::NoFactor)
    }

    /// Counts the active administrators whose accounts only a password protects.
    pub async fn count_admins_without_factor(&self) -> Result<u64, Unavailable> {
        self.ports.store.count_admins_without_factor().await
    }

    /// Lifts the wait after wrong passwords and codes, from all networks that the account was
    /// signed in to from lately and from unknown ones.
    pub async fn lift_wait(&self, by: UserId, user: UserId) -> Result<(), AccountSecurityError> {
        let counts = self.counts(user).await?;
        let effects = done(self.clock.now(), by, user, "sign_in.wait_lifted");
        Ok(self.ports.throttle.clear_all(&counts, effects).await?)
    }

    /// Returns the end of the wait that [`AccountSecurity::lift_wait`] would lift; `None` if the
    /// account can be signed in to without a wait.
    pub async fn waits_until(
        &self,
        user: UserId,
    ) -> Result<Option<Timestamp>, AccountSecurityError> {
        let counts = self.counts(user).await?;
        let end = self.ports.throttle.waits_until(&counts).await?;
        let now = self.clock.now();
        Ok(end.filter(|it| *it > now))
    }

    /// Returns the keys under which wrong passwords and codes of an account are counted.
    async fn counts(&self, user: UserId) -> Result<Vec<String>, AccountSecurityError> {
        let account = self.ports.accounts.find(user).await?.ok_or(AccountSecurityError::Unknown)?;
        let page = PageRequest { limit: KNOWN_SIGN_INS, after: None };
        let attempts = self.ports.log.page(user, page).await?;
        let networks = attempts.iter().filter_map(|it| it.device.network());
        Ok(throttle::bucket_keys(user, &account.email, networks))
    }
}

fn done(at: Timestamp, by: UserId, user: UserId, action: &'static str) -> SideEffects {
    let entry = AuditEntry::new(at, action);
    AuditEntry { actor: Some(by), subject: Some(user), ..entry }.into()
}

#[cfg(test)]
mod tests;
