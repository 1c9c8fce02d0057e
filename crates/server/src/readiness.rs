//! Readiness of the server for requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pia_http::{Readiness, Ready};
use pia_kernel::{Clock, LiveSetting};
use pia_policy::{LicenceState, Licensed};
use pia_storage::{Database, ReadinessError};
use tokio::sync::Mutex;

/// A probe that waits longer than this has its answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Duration for which one look serves all who ask: probes are not counted, and
/// must not be a way to use up the database's connections.
const SERVES: Duration = Duration::from_secs(1);

pub(crate) struct FileChecks {
    db: Database,
    licence: LiveSetting<LicenceState>,
    clock: Arc<dyn Clock>,
    /// Last check's result, which concurrent requests wait for and share.
    last: Mutex<Option<(Instant, (bool, bool))>>,
}

impl FileChecks {
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
            && at.elapsed() < SERVES
        {
            return found;
        }
        let found = match self.db.ready(PATIENCE).await {
            Ok(()) => (true, true),
            Err(ReadinessError::Pending(_)) => (true, false),
            Err(ReadinessError::Away(_) | ReadinessError::Silent(_)) => (false, false),
        };
        *last = Some((Instant::now(), found));
        found
    }
}

#[async_trait]
impl Readiness for FileChecks {
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
