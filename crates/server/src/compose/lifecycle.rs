//! Erasure of accounts, and the audit log, across all domains and tables.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{AuditLog, Eraser, LiveSetting};
use pia_storage_lifecycle::{SqlAuditLog, SqlEraser};

use super::infrastructure::Infrastructure;

/// Erasure of accounts, and the audit log, across all domains and tables.
pub(super) struct Lifecycle {
    pub(super) audit: Arc<dyn AuditLog>,
    pub(super) audit_retention: LiveSetting<Duration>,
    pub(super) eraser: Arc<dyn Eraser>,
}

impl Lifecycle {
    pub(super) fn compose(base: &Infrastructure<'_>) -> Self {
        Self {
            audit: Arc::new(SqlAuditLog::new(base.db.clone())),
            audit_retention: base.config.follow(|it| it.audit.retention),
            eraser: Arc::new(SqlEraser::new(base.db.clone())),
        }
    }
}
