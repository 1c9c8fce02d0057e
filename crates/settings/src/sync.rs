//! `Sync`: what devices keep in step, and how much of it.

use std::time::Duration;

use pia_sync::{Channel, ChatLimits, ConflictStrategy, ItemLimits, PushSettings};

use super::byte_size::ByteSize;
use super::fault::Reason;
use super::section::Section;
use super::setting::{Setting, choice};

/// Less would not hold one long chat.
const MIN_STORAGE: ByteSize = ByteSize::mib(32);
const MAX_STORAGE: ByteSize = ByteSize::gib(1 << 20);
const DAY: Duration = Duration::from_hours(24);

/// Returns the setting of how many items of a channel there may be; nothing
/// where operators do not set it.
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

/// Settings of synchronisation.
#[derive(Debug, Clone)]
pub struct SyncConfig {
    /// Rules of each push.
    pub pushing: PushSettings,
    /// True if a device that has everything learns just that.
    pub fast_path: bool,
    /// Retention of events.
    pub events_stored: Duration,
    /// Number of chats a person may have, and how many bytes with all else.
    pub chats: ChatLimits,
}

impl SyncConfig {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let strategy = from.reload("ConflictStrategy").or(ConflictStrategy::LastWriteWins);
        let mut limits = ItemLimits::default();
        for channel in Channel::ALL {
            let Some(name) = limit_setting(channel) else { continue };
            let usual = channel.rules().default_limit;
            limits = limits.with(channel, from.reload(name).within(usual, 1..=1_000_000));
        }
        let max_chats = from.reload("MaxChats").within(20_000, 1..=10_000_000);
        let max_storage =
            from.reload("MaxStorage").within(ByteSize::gib(1), MIN_STORAGE..=MAX_STORAGE);
        let max_storage = max_storage.0 as u64;
        let slow = from.reload("DisableFastPath304").or(false);
        let days = from.reload("EventRetentionDays").within(90_u32, 1..=3650);
        Self {
            pushing: PushSettings { limits, max_storage, strategy },
            fast_path: !slow,
            events_stored: DAY * days,
            chats: ChatLimits { chats: max_chats, storage: max_storage },
        }
    }
}

impl Setting for ConflictStrategy {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let names = [Self::LastWriteWins, Self::ServerWins].map(|it| (name(it), it));
        choice(text, &names)
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
