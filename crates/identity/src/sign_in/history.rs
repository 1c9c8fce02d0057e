//! Sign-in history of an account.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Cursor, Page, PageRequest, Unavailable, UserId};

use crate::ports::{SignInEntry, SignInLog};

/// Retention period of an attempt.
pub(crate) const RETENTION: Duration = Duration::from_hours(365 * 24);

/// Attempts to sign in to an account within a year.
#[derive(Clone)]
pub struct SignInHistory {
    log: Arc<dyn SignInLog>,
    clock: Arc<dyn Clock>,
}

impl SignInHistory {
    /// Creates a history over this log.
    pub fn new(log: Arc<dyn SignInLog>, clock: Arc<dyn Clock>) -> Self {
        Self { log, clock }
    }

    /// Returns a page of a user's attempts, the newest first.
    pub async fn page(
        &self,
        user: UserId,
        page: PageRequest,
    ) -> Result<Page<SignInEntry>, Unavailable> {
        let entries = self.log.page(user, page.and_one_more()).await?;
        Ok(page.into_page(entries, |it| Cursor { at: it.at, id: it.id.0 }))
    }

    /// Deletes attempts older than a year. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.log.sweep(self.clock.now() - RETENTION).await
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::{SignInId, Timestamp};
    use pia_testkit::FixedClock;

    use super::*;
    use crate::ports::{MockSignInLog, SignInMethod, SignInOutcome};
    use crate::sign_in::device::SignInDevice;

    const NOW: i64 = 1_800_000_000_000_000;

    fn history(log: MockSignInLog) -> SignInHistory {
        let clock = FixedClock(Timestamp::from_micros(NOW));
        SignInHistory::new(Arc::new(log), Arc::new(clock))
    }

    fn entry(micros: i64) -> SignInEntry {
        SignInEntry {
            id: SignInId::generate(),
            at: Timestamp::from_micros(micros),
            outcome: SignInOutcome::SignedIn.name().to_owned(),
            method: SignInMethod::Password.name().to_owned(),
            device: SignInDevice::default(),
            session: None,
        }
    }

    #[tokio::test]
    async fn a_page_reads_one_more_entry_to_find_the_next() {
        let entries = [entry(3), entry(2), entry(1)];
        let mut log = MockSignInLog::new();
        let stored_entries = entries.to_vec();
        log.expect_page()
            .withf(|_, page| page.limit == 3)
            .once()
            .returning(move |_, _| Ok(stored_entries.clone()));

        let page = PageRequest { after: None, limit: 2 };
        let listed_page = history(log).page(UserId::generate(), page).await.unwrap();

        let [first, second, _] = entries;
        assert_eq!(listed_page.next, Some(Cursor { at: second.at, id: second.id.0 }));
        assert_eq!(listed_page.items, [first, second]);
    }

    #[tokio::test]
    async fn attempts_older_than_a_year_are_deleted() {
        let mut log = MockSignInLog::new();
        let year = Duration::from_hours(365 * 24);
        log.expect_sweep()
            .withf(move |time| *time == Timestamp::from_micros(NOW) - year)
            .once()
            .returning(|_| Ok(7));

        assert_eq!(history(log).sweep().await.unwrap(), 7);
    }
}
