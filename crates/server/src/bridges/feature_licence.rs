//! Licence of a feature, for work that no request does.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting};
use pia_policy::{Feature, LicenceState, Licensed};

/// Licence of a feature.
#[derive(Clone)]
pub(crate) struct FeatureLicence {
    pub(crate) state: LiveSetting<LicenceState>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) feature: Feature,
}

impl FeatureLicence {
    /// Returns whether a licence in force includes the feature.
    pub(crate) fn is_valid(&self) -> bool {
        match self.state.get().at(self.clock.now()) {
            Licensed::Valid(it) => it.features.contains(&self.feature),
            _ => false,
        }
    }
}
