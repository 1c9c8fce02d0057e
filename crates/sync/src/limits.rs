//! Maximum numbers of synchronised items per user and channel.

use std::collections::BTreeMap;

use crate::channel::Channel;

/// Maximum numbers of synchronised items per user and channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemLimits(BTreeMap<Channel, u32>);

impl ItemLimits {
    /// Returns the limits with another one for this channel.
    #[must_use]
    pub fn with(mut self, channel: Channel, limit: u32) -> Self {
        self.0.insert(channel, limit);
        self
    }

    /// Returns the limit of a channel.
    pub fn limit(&self, channel: Channel) -> u32 {
        self.0.get(&channel).copied().unwrap_or(channel.rules().default_limit)
    }
}
