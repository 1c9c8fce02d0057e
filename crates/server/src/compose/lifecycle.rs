//! Export and erasure across all domains and tables.

use std::sync::Arc;
use std::time::Duration;

use pia_identity::{AccountDeletion, AccountExport, UnverifiedAccountCleanup};
use pia_kernel::{AuditLog, Clock, Eraser, LiveSetting};
use pia_sealing::Sealer;
use pia_storage::Database;
use pia_storage_lifecycle::{SqlAuditLog, SqlEraser, SqlPersonalData};

use super::identity::Identity;
use pia_settings::LiveConfig;

/// Export and erasure across all domains and tables.
pub(super) struct Lifecycle {
    pub(super) export: AccountExport,
    pub(super) deletion: AccountDeletion,
    pub(super) unclaimed: UnverifiedAccountCleanup,
    pub(super) audit: Arc<dyn AuditLog>,
    pub(super) audit_kept: LiveSetting<Duration>,
    pub(super) eraser: Arc<dyn Eraser>,
}

impl Lifecycle {
    pub(super) fn compose(
        config: &LiveConfig,
        (db, sealer): (&Database, &Sealer),
        identity: &Identity,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let clock = || Arc::clone(clock);
        let eraser: Arc<dyn Eraser> = Arc::new(SqlEraser::new(db.clone()));
        let data = SqlPersonalData::new(db.clone(), sealer.clone());
        let (owners, standings) = (identity.reauthenticator.clone(), identity.standings.clone());
        let unclaimed = UnverifiedAccountCleanup::new(
            Arc::clone(&eraser),
            config.follow(|it| it.local_auth.accounts),
            config.follow(|it| it.local_auth.unverified_kept),
            clock(),
        );
        Self {
            export: AccountExport::new(Arc::new(data), clock()),
            deletion: AccountDeletion::new(owners, Arc::clone(&eraser), standings),
            unclaimed,
            audit: Arc::new(SqlAuditLog::new(db.clone())),
            audit_kept: config.follow(|it| it.audit.kept),
            eraser,
        }
    }
}
