//! Accounts that nobody ever came to use.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    AuditEntry, Clock, Eraser, LiveSetting, SideEffects, Timestamp, Unavailable, UnverifiedAccounts,
};

use crate::people::account::AccountRules;
use crate::sign_in;

/// Deletes accounts whose owners never showed that the address is theirs,
/// where they must: they can do nothing, and take seats of the licence.
#[derive(Clone)]
pub struct UnverifiedAccountCleanup {
    eraser: Arc<dyn Eraser>,
    rules: LiveSetting<AccountRules>,
    stored: LiveSetting<Duration>,
    clock: Arc<dyn Clock>,
}

impl UnverifiedAccountCleanup {
    /// Deletes with `eraser` what is older than `kept`, while `rules` ask for
    /// verified addresses.
    pub fn new(
        eraser: Arc<dyn Eraser>,
        rules: LiveSetting<AccountRules>,
        stored: LiveSetting<Duration>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { eraser, rules, stored, clock }
    }

    /// Deletes them. Answers how many they were.
    ///
    /// Where verification was requested later, there are accounts that were
    /// used without; how old sign-ins may be to be remembered is how old an
    /// account may be to be judged.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        if !self.rules.get().require_verification {
            return Ok(0);
        }
        let at = self.clock.now();
        let made = at - sign_in::history::STORED..at - *self.stored.get();
        self.eraser.erase_unverified(UnverifiedAccounts { made, at, effects: expired }).await
    }
}

fn expired(at: Timestamp) -> SideEffects {
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

    /// Remembers what it was called to forget.
    #[derive(Default)]
    struct Requested(Mutex<Vec<UnverifiedAccounts>>);

    #[async_trait]
    impl Eraser for Requested {
        async fn erase(&self, _: AccountErasure) -> Result<ErasureOutcome, Unavailable> {
            Ok(ErasureOutcome::Gone)
        }

        async fn erase_unverified(
            &self,
            unclaimed: UnverifiedAccounts,
        ) -> Result<u64, Unavailable> {
            self.0.lock().unwrap().push(unclaimed);
            Ok(3)
        }

        async fn settle(&self) -> Result<bool, Unavailable> {
            Ok(true)
        }
    }

    async fn sweep(require_verification: bool) -> (u64, Vec<UnverifiedAccounts>) {
        let requested = Arc::<Requested>::default();
        let rules = AccountRules { require_verification, ..AccountRules::default() };
        let accounts = UnverifiedAccountCleanup::new(
            Arc::<Requested>::clone(&requested),
            LiveSetting::new(rules),
            LiveSetting::new(7 * DAY),
            Arc::new(FixedClock(now())),
        );
        let gone = accounts.sweep().await.unwrap();
        let requested = requested.0.lock().unwrap().clone();
        (gone, requested)
    }

    #[tokio::test]
    async fn where_addresses_must_be_verified_the_unclaimed_go_and_name_nobody() {
        let (gone, requested) = sweep(true).await;

        let [UnverifiedAccounts { made, at, effects }] = &requested[..] else {
            panic!("{requested:?}")
        };
        assert_eq!((gone, made.clone(), *at), (3, now() - 365 * DAY..now() - 7 * DAY, now()));
        let entry = &effects(now()).audit[0];
        assert_eq!((entry.action, entry.subject), ("account.expired", None));
    }

    #[tokio::test]
    async fn where_they_need_not_be_everybody_stays() {
        let (gone, requested) = sweep(false).await;

        assert_eq!((gone, requested.len()), (0, 0));
    }
}
