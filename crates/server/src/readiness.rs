//! Whether requests can be served.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pia_http::{Readiness, Ready};
use pia_kernel::{Clock, Live};
use pia_policy::{LicenceState, Licensed};
use pia_storage::{Database, NotReady};

/// A probe that waits longer than this has its answer.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Looks {
    pub(crate) db: Database,
    pub(crate) licence: Live<LicenceState>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl Readiness for Looks {
    async fn look(&self) -> Ready {
        let (database, migrations) = match self.db.ready(PATIENCE).await {
            Ok(()) => (true, true),
            Err(NotReady::Pending(_)) => (true, false),
            Err(NotReady::Away(_) | NotReady::Silent(_)) => (false, false),
        };
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
