//! Number of things of each kind a person may keep in step.

use std::collections::BTreeMap;

use crate::channel::Channel;

/// Number of things of each kind a person may keep in step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits(BTreeMap<Channel, u32>);

impl Limits {
    /// Returns the limits with another one for this channel.
    #[must_use]
    pub fn with(mut self, channel: Channel, limit: u32) -> Self {
        self.0.insert(channel, limit);
        self
    }

    /// Returns the limit of a channel.
    pub fn limit(&self, channel: Channel) -> u32 {
        self.0.get(&channel).copied().unwrap_or(channel.rules().usual_limit)
    }
}
