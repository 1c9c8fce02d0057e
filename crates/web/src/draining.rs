//! Signal that the server is about to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when the server is asked to end: from then on each answer closes its
/// connection, so that clients go elsewhere with what they ask next.
#[derive(Debug, Clone, Default)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    /// Begins it.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
