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
const DATABASE_TIMEOUT: Duration = Duration::from_secs(1);
/// Duration for which a result is cached: probes are not rate-limited, and must
/// not use up the database's connections.
const CACHE_DURATION: Duration = Duration::from_secs(1);

pub(crate) struct ReadinessChecks {
    db: Database,
    licence: LiveSetting<LicenceState>,
    clock: Arc<dyn Clock>,
    /// Time and result of the last check, which concurrent requests wait for and share.
    last_check: Mutex<Option<(Instant, DatabaseState)>>,
}

/// Result of a check of the database.
#[derive(Debug, Clone, Copy)]
struct DatabaseState {
    /// True if the database answers.
    is_available: bool,
    /// True if the schema is the one of this version.
    is_migrated: bool,
}

impl ReadinessChecks {
    pub(crate) fn new(
        db: Database,
        licence: LiveSetting<LicenceState>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { db, licence, clock, last_check: Mutex::default() }
    }

    /// Checks the database, or returns the result of the last check if that is recent.
    async fn database(&self) -> DatabaseState {
        let mut last_check = self.last_check.lock().await;
        if let Some((checked_at, state)) = *last_check
            && checked_at.elapsed() < CACHE_DURATION
        {
            return state;
        }

        let state = match self.db.ready(DATABASE_TIMEOUT).await {
            Ok(()) => DatabaseState { is_available: true, is_migrated: true },
            Err(ReadinessError::Pending(_)) => {
                DatabaseState { is_available: true, is_migrated: false }
            }
            Err(ReadinessError::Away(_) | ReadinessError::Silent(_)) => {
                DatabaseState { is_available: false, is_migrated: false }
            }
        };
        *last_check = Some((Instant::now(), state));

        state
    }
}

#[async_trait]
impl Readiness for ReadinessChecks {
    async fn check(&self) -> Ready {
        let DatabaseState { is_available, is_migrated } = self.database().await;
        let state = self.licence.get();
        let licence = match (state.at(self.clock.now()), &*state) {
            (Licensed::Valid(_), _) => "valid",
            (Licensed::Expired(_), _) => "expired",
            (Licensed::Not, LicenceState::Refused(_)) => "refused",
            (Licensed::Not, _) => "missing",
        };
        Ready { database: is_available, migrations: is_migrated, licence }
    }
}
