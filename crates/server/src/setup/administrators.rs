//! Existence of an administrator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pia_identity::FirstAdminStore;

/// Existence of an administrator: checked until there is one, and not again,
/// as the last administrator cannot be removed.
pub(crate) struct Administrators {
    pub(super) store: Arc<dyn FirstAdminStore>,
    pub(super) found: AtomicBool,
}

impl Administrators {
    /// Creates the check and runs it for the first time.
    pub(crate) async fn load(store: Arc<dyn FirstAdminStore>) -> Self {
        let admins = Self { store, found: AtomicBool::new(false) };
        admins.refresh().await;
        admins
    }

    /// Checks, unless an administrator was found. A database error changes
    /// nothing, and is logged elsewhere.
    pub(super) async fn refresh(&self) {
        if !self.exist() && matches!(self.store.exists().await, Ok(true)) {
            self.record_admin();
        }
    }

    /// Records that an administrator was created.
    pub(super) fn record_admin(&self) {
        self.found.store(true, Ordering::Relaxed);
    }

    /// Returns whether an administrator was found.
    pub(super) fn exist(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }
}
