//! `Sync`: synchronisation of devices, and its limits.

use std::time::Duration;

use pia_sync::{Channel, ChatLimits, ConflictStrategy, ItemLimits, PushSettings};

use super::byte_size::ByteSize;
use super::error::Reason;
use super::section::Section;
use super::setting::{Setting, choice};

/// Minimum storage limit, which holds one long chat.
const MIN_STORAGE: ByteSize = ByteSize::mib(32);
const MAX_STORAGE: ByteSize = ByteSize::gib(1 << 20);
const DAY: Duration = Duration::from_hours(24);

/// Settings of synchronisation.
#[derive(Debug, Clone)]
pub struct SyncConfig {
    /// Rules of pushes.
    pub pushing: PushSettings,
    /// True if a device that is up to date gets 304.
    pub fast_path: bool,
    /// Retention period of events.
    pub event_retention: Duration,
    /// Limits on the chats of a user: their number, and the bytes of all data.
    pub chats: ChatLimits,
}

impl SyncConfig {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let strategy = from.reload("ConflictStrategy").or(ConflictStrategy::LastWriteWins);
        let mut limits = ItemLimits::default();
        for channel in Channel::ALL {
            let Some(name) = limit_setting(channel) else { continue };
            let default = channel.rules().default_limit;
            limits = limits.with(channel, from.reload(name).within(default, 1..=1_000_000));
        }

        let max_chats = from.reload("MaxChats").within(20_000, 1..=10_000_000);
        let max_storage_size =
            from.reload("MaxStorage").within(ByteSize::gib(1), MIN_STORAGE..=MAX_STORAGE);
        let max_storage = max_storage_size.0 as u64;
        let is_fast_path_disabled = from.reload("DisableFastPath304").or(false);
        let retention_days = from.reload("EventRetentionDays").within(90_u32, 1..=3650);

        Self {
            pushing: PushSettings { limits, max_storage, strategy },
            fast_path: !is_fast_path_disabled,
            event_retention: DAY * retention_days,
            chats: ChatLimits { chats: max_chats, storage: max_storage },
        }
    }
}

/// Returns the setting for the maximum number of items of a channel; `None` if
/// operators cannot set it.
fn limit_setting(channel: Channel) -> Option<&'static str> {
    match channel {
        Channel::Templates => Some("MaxTemplates"),
        Channel::Personas => Some("MaxPersonas"),
        Channel::Providers => Some("MaxProviders"),
        Channel::Sessions => Some("MaxSessions"),
        Channel::Memories => Some("MaxMemories"),
        Channel::Todos => Some("MaxTodos"),
        Channel::KanbanColumns => Some("MaxKanbanColumns"),
        Channel::ScheduledJobs => Some("MaxScheduledJobs"),
        Channel::ResearchSessions => Some("MaxResearchSessions"),
        Channel::Settings | Channel::PluginPreferences => None,
    }
}

impl Setting for ConflictStrategy {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        [Self::LastWriteWins, Self::ServerWins].map(|it| (name(it), it)).into()
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        name(*self).to_owned()
    }
}

fn name(strategy: ConflictStrategy) -> &'static str {
    match strategy {
        ConflictStrategy::LastWriteWins => "last-write-wins",
        ConflictStrategy::ServerWins => "server-wins",
    }
}
