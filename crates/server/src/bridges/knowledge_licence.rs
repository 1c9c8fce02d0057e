//! Licence of knowledge bases.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting};
use pia_policy::{Feature, LicenceState, Licensed};

/// Licence of knowledge bases.
#[derive(Clone)]
pub(crate) struct KnowledgeLicence {
    pub(crate) state: LiveSetting<LicenceState>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl KnowledgeLicence {
    /// Returns whether a licence in force includes knowledge bases.
    pub(crate) fn is_valid(&self) -> bool {
        match self.state.get().at(self.clock.now()) {
            Licensed::Valid(it) => it.features.contains(&Feature::Knowledge),
            _ => false,
        }
    }
}
