//! Cleanup of accounts that were never verified.
//!
//! A maintenance task of `server` calls `sweep`; `Eraser` is implemented in
//! `storage-lifecycle`.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    AuditEntry, Clock, Eraser, LiveSetting, SideEffects, Timestamp, Unavailable, UnverifiedAccounts,
};

use crate::people::account::AccountRules;
use crate::sign_in;

/// Deletes accounts with unverified addresses, where verification is required: they are unusable
/// and take seats of the licence.
#[derive(Clone)]
pub struct UnverifiedAccountCleanup {
    eraser: Arc<dyn Eraser>,
    rules: LiveSetting<AccountRules>,
    max_age: LiveSetting<Duration>,
    clock: Arc<dyn Clock>,
}

impl UnverifiedAccountCleanup {
    /// Creates a cleanup of accounts older than `max_age`, while `rules` require verified
    /// addresses.
    pub fn new(
        eraser: Arc<dyn Eraser>,
        rules: LiveSetting<AccountRules>,
        max_age: LiveSetting<Duration>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { eraser, rules, max_age, clock }
    }

    /// Deletes the accounts. Returns their number.
    ///
    /// If verification was required later, some accounts were used without it. Accounts older than
    /// the retention of sign-ins are left, as their use is unknown.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        if !self.rules.get().require_verification {
            return Ok(0);
        }
        let at = self.clock.now();
        let made = at - sign_in::history::RETENTION..at - *self.max_age.get();
        self.eraser.erase_unverified(UnverifiedAccounts { made, at, effects: expiry_effects }).await
    }
}

fn expiry_effects(at: Timestamp) -> SideEffects {
    AuditEntry::new(at, "account.expired").into()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use pia_kernel::{AccountErasure, ErasureOutcome};
    use pia_testkit::FixedClock;

    use super::*;

    const DAY: Duration = Duration::from_hours(24);
    fn now() -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000)
    }

    /// Eraser that records its calls.
    #[derive(Default)]
    struct RecordingEraser(Mutex<Vec<UnverifiedAccounts>>);

    #[async_trait]
    impl Eraser for RecordingEraser {
        async fn erase(&self, _: AccountErasure) -> Result<ErasureOutcome, Unavailable> {
            Ok(ErasureOutcome::Gone)
        }

        async fn erase_unverified(&self, accounts: UnverifiedAccounts) -> Result<u64, Unavailable> {
            self.0.lock().unwrap().push(accounts);
            Ok(3)
        }

        async fn settle(&self) -> Result<bool, Unavailable> {
            Ok(true)
        }
    }

    async fn sweep(require_verification: bool) -> (u64, Vec<UnverifiedAccounts>) {
        let eraser = Arc::<RecordingEraser>::default();
        let rules = AccountRules { require_verification, ..AccountRules::default() };
        let accounts = UnverifiedAccountCleanup::new(
            Arc::<RecordingEraser>::clone(&eraser),
            LiveSetting::new(rules),
            LiveSetting::new(7 * DAY),
            Arc::new(FixedClock(now())),
        );
        let gone = accounts.sweep().await.unwrap();
        let requests = eraser.0.lock().unwrap().clone();
        (gone, requests)
    }

    #[tokio::test]
    async fn unverified_accounts_are_deleted_and_not_named_in_the_audit_log() {
        let (gone, requests) = sweep(true).await;

        let [UnverifiedAccounts { made, at, effects }] = &requests[..] else {
            panic!("{requests:?}")
        };
        assert_eq!(gone, 3);
        assert_eq!(*made, now() - 365 * DAY..now() - 7 * DAY);
        assert_eq!(*at, now());
        let entry = &effects(now()).audit[0];
        assert_eq!(entry.action, "account.expired");
        assert_eq!(entry.subject, None);
    }

    #[tokio::test]
    async fn without_required_verification_no_account_is_deleted() {
        let (gone, requests) = sweep(false).await;

        assert_eq!(gone, 0);
        assert!(requests.is_empty());
    }
}
