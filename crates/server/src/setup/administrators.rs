//! Existence of an administrator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pia_identity::FirstAdminStore;

/// Existence of an administrator: checked until there is one. None of them can
/// go without another being there, so it is not checked again.
pub(crate) struct Administrators {
    pub(super) store: Arc<dyn FirstAdminStore>,
    pub(super) there: AtomicBool,
}

impl Administrators {
    /// Asks for the first time.
    pub(crate) async fn look(store: Arc<dyn FirstAdminStore>) -> Self {
        let admins = Self { store, there: AtomicBool::new(false) };
        admins.look_again().await;
        admins
    }

    /// Asks, unless one was seen. A database that does not answer says nothing;
    /// that it does not is reported elsewhere.
    pub(super) async fn look_again(&self) {
        if !self.are_there() && matches!(self.store.exists().await, Ok(true)) {
            self.appeared();
        }
    }

    /// Records that an administrator was created.
    pub(super) fn appeared(&self) {
        self.there.store(true, Ordering::Relaxed);
    }

    /// Returns whether one was seen.
    pub(super) fn are_there(&self) -> bool {
        self.there.load(Ordering::Relaxed)
    }
}
