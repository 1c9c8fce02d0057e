//! Readiness of the server for requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pia_http::{Readiness, Ready};
use pia_kernel::{Clock, LiveSetting};
use pia_policy::{LicenceState, Licensed};
use pia_storage::{Database, ReadinessError};
use tokio::sync::Mutex;

/// Timeout of the database's response; a slower database is not ready.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Duration for which a result is cached: probes are not rate-limited, and must
/// not use up the database's connections.
const CACHE_DURATION: Duration = Duration::from_secs(1);

pub(crate) struct ReadinessChecks {
    db: Database,
    licence: LiveSetting<LicenceState>,
    clock: Arc<dyn Clock>,
    /// Last check's result, which concurrent requests wait for and share.
    last: Mutex<Option<(Instant, (bool, bool))>>,
}

impl ReadinessChecks {
    pub(crate) fn new(
        db: Database,
        licence: LiveSetting<LicenceState>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { db, licence, clock, last: Mutex::default() }
    }

    /// Returns whether the database answers, and whether its schema is the
    /// right one.
    async fn database(&self) -> (bool, bool) {
        let mut last = self.last.lock().await;
        if let Some((at, found)) = *last
            && at.elapsed() < CACHE_DURATION
        {
            return found;
        }

        let found = match self.db.ready(TIMEOUT).await {
            Ok(()) => (true, true),
            Err(ReadinessError::Pending(_)) => (true, false),
            Err(ReadinessError::Away(_) | ReadinessError::Silent(_)) => (false, false),
        };
        *last = Some((Instant::now(), found));

        found
    }
}

#[async_trait]
impl Readiness for ReadinessChecks {
    async fn check(&self) -> Ready {
        let (database, migrations) = self.database().await;
        let state = self.licence.get();
        let licence = match (state.at(self.clock.now()), &*state) {
            (Licensed::Valid(_), _) => "valid",
            (Licensed::Expired(_), _) => "expired",
            (Licensed::Not, LicenceState::Refused(_)) => "refused",
            (Licensed::Not, _) => "missing",
        };
        Ready { database, migrations, licence }
    }
}
