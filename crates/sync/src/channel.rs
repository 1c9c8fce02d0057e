//! Kinds of synchronised items, and all rules in which they differ.
//!
//! A new channel needs a variant, its place in `Channel::ALL`, and a static
//! `ChannelRules` that takes over from `ITEMS` all that is usual. `name` and `code`
//! are permanent: devices send the name, and rows in `sync_items` contain the code.
//! The rules are applied by `item.rs` (id, fields, time), `plan.rs` (merge,
//! read-only items) and `quotas.rs` (limits).

use serde_json::{Map, Value};

use crate::item::ItemRejection;
use crate::{personas, readable};

/// Kind of synchronised items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Prompts for rewriting texts.
    Templates,
    /// Personas for chats.
    Personas,
    /// Model providers that a device calls directly.
    Providers,
    /// Rewritten texts. They are only added.
    Sessions,
    /// Memories of the assistant.
    Memories,
    /// Tasks of the to-do list.
    Todos,
    /// Columns of the to-do board.
    KanbanColumns,
    /// Scheduled jobs of the client.
    ScheduledJobs,
    /// Research sessions with their results.
    ResearchSessions,
    /// Settings of the app; a single item.
    Settings,
    /// States of plugins. Devices push them, and receive them with the plugins.
    PluginPreferences,
}

/// Merge strategy for a change of a stored item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The later change wins, by the clocks of the devices.
    LastWriteWins,
    /// The stored item stays as it is.
    AppendOnly,
}

/// Field that identifies an item within its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemId {
    /// `id`: its own, which the server adds to items without one.
    Own,
    /// `pluginId`: one item for each plugin.
    OfPlugin,
    /// None: there is a single item.
    Single,
}

/// Treatment of items beyond a channel's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitRule {
    /// The push is refused.
    Refuse,
    /// The oldest are dropped.
    DropOldest,
}

/// Items of a channel that devices may not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnly {
    /// Every item may be written.
    Nothing,
    /// Items with the id of a managed persona are rejected.
    ManagedPersonas,
    /// Items of unknown plugins are ignored: an older server may not know what a device has.
    UnknownPlugins,
}

/// Check of an item's readable fields.
type FieldCheck = fn(&Map<String, Value>) -> Result<(), ItemRejection>;

/// Rules of a channel.
#[derive(Debug)]
pub struct ChannelRules {
    /// Name on the wire, such as `kanbanColumns`.
    pub name: &'static str,
    /// Code in the database, never changed and never 0.
    pub code: i16,
    /// Field that identifies its items.
    pub item_id: ItemId,
    /// True if its items may be end-to-end encrypted.
    pub may_be_encrypted: bool,
    /// True if devices get its items page by page, and not with the plugins.
    pub is_pulled: bool,
    /// Strategy that merges a change with the stored item.
    pub merge: Merge,
    /// Items that devices may not write.
    pub read_only: ReadOnly,
    /// Check of items that are not encrypted.
    pub(crate) check: FieldCheck,
    /// Keys of the time of an item's last change, in order of precedence. An item
    /// without a readable one has the time of its push.
    pub timestamp_fields: &'static [&'static str],
    /// Plaintext fields of an encrypted item: all others belong into the
    /// encrypted payload, and are dropped.
    pub plaintext_fields: &'static [&'static str],
    /// Maximum number per account unless the operator configures another.
    pub default_limit: u32,
    /// Treatment of items beyond the limit.
    pub at_limit: LimitRule,
}

const UPDATED: &[&str] = &["updatedAt", "createdAt"];

impl Channel {
    /// All channels, in the order in which devices apply them.
    pub const ALL: [Self; 11] = [
        Self::Settings,
        Self::Templates,
        Self::Personas,
        Self::Providers,
        Self::Sessions,
        Self::Memories,
        Self::KanbanColumns,
        Self::Todos,
        Self::ScheduledJobs,
        Self::ResearchSessions,
        Self::PluginPreferences,
    ];

    /// Returns the rules of the channel.
    pub fn rules(self) -> &'static ChannelRules {
        match self {
            Self::Templates => &TEMPLATES,
            Self::Personas => &PERSONAS,
            Self::Providers => &PROVIDERS,
            Self::Sessions => &SESSIONS,
            Self::Memories => &MEMORIES,
            Self::Todos => &TASKS,
            Self::KanbanColumns => &KANBAN_COLUMNS,
            Self::ScheduledJobs => &SCHEDULED_JOBS,
            Self::ResearchSessions => &RESEARCH_SESSIONS,
            Self::Settings => &SETTINGS,
            Self::PluginPreferences => &PLUGIN_PREFERENCES,
        }
    }

    /// Returns the name on the wire: `templates`.
    pub fn name(self) -> &'static str {
        self.rules().name
    }

    /// Returns the code in the database.
    pub fn code(self) -> i16 {
        self.rules().code
    }

    /// Returns the channel with this code in the database; `None` if the code is of no
    /// channel of this server.
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.code() == code)
    }

    /// Returns whether the channel has at most one item.
    pub fn is_single(self) -> bool {
        self.rules().item_id == ItemId::Single
    }
}

/// Rules of most channels: items of their own ids that may be encrypted. A channel
/// replaces at least the name, the code and the limit, which are empty here.
const ITEMS: ChannelRules = ChannelRules {
    name: "",
    code: 0,
    item_id: ItemId::Own,
    may_be_encrypted: true,
    is_pulled: true,
    merge: Merge::LastWriteWins,
    read_only: ReadOnly::Nothing,
    check: |_| Ok(()),
    timestamp_fields: UPDATED,
    plaintext_fields: &[],
    default_limit: 0,
    at_limit: LimitRule::Refuse,
};

static TEMPLATES: ChannelRules = ChannelRules {
    name: "templates",
    code: 1,
    timestamp_fields: &["modifiedAt", "createdAt"],
    plaintext_fields: &["id", "createdAt", "modifiedAt"],
    default_limit: 100,
    ..ITEMS
};

static PERSONAS: ChannelRules = ChannelRules {
    name: "personas",
    code: 2,
    read_only: ReadOnly::ManagedPersonas,
    check: personas::check,
    plaintext_fields: &[
        "id",
        "archetype",
        "modelType",
        "emoji",
        "accentColor",
        "toolScope",
        "preferredProviderId",
        "reasoningEffort",
        "schemaVersion",
        "createdAt",
        "updatedAt",
    ],
    default_limit: 50,
    ..ITEMS
};

static PROVIDERS: ChannelRules = ChannelRules {
    name: "providers",
    code: 3,
    plaintext_fields: &["id", "createdAt", "updatedAt"],
    default_limit: 20,
    ..ITEMS
};

static SESSIONS: ChannelRules = ChannelRules {
    name: "sessions",
    code: 4,
    merge: Merge::AppendOnly,
    timestamp_fields: &["createdAt"],
    plaintext_fields: &["id", "createdAt"],
    default_limit: 10_000,
    at_limit: LimitRule::DropOldest,
    ..ITEMS
};

static MEMORIES: ChannelRules = ChannelRules {
    name: "memories",
    code: 5,
    plaintext_fields: &["id", "createdAt", "updatedAt", "lastAccessedAt"],
    default_limit: 500,
    ..ITEMS
};

static TASKS: ChannelRules = ChannelRules {
    name: "todos",
    code: 6,
    plaintext_fields: &["id", "createdAt", "updatedAt", "sortOrder"],
    default_limit: 500,
    ..ITEMS
};

static KANBAN_COLUMNS: ChannelRules = ChannelRules {
    name: "kanbanColumns",
    code: 7,
    plaintext_fields: &[
        "id",
        "sortOrder",
        "isDefaultView",
        "isClosedColumn",
        "createdAt",
        "updatedAt",
    ],
    default_limit: 200,
    ..ITEMS
};

static SCHEDULED_JOBS: ChannelRules = ChannelRules {
    name: "scheduledJobs",
    code: 8,
    check: readable::check_time_of_day,
    plaintext_fields: &["id", "ownerDeviceId", "createdAt", "updatedAt"],
    default_limit: 200,
    ..ITEMS
};

static RESEARCH_SESSIONS: ChannelRules = ChannelRules {
    name: "researchSessions",
    code: 9,
    plaintext_fields: &["id", "createdAt", "updatedAt", "completedAt"],
    default_limit: 500,
    ..ITEMS
};

static SETTINGS: ChannelRules = ChannelRules {
    name: "settings",
    code: 10,
    item_id: ItemId::Single,
    check: readable::check_modes,
    timestamp_fields: &["modifiedAt"],
    plaintext_fields: &["modifiedAt"],
    default_limit: 1,
    ..ITEMS
};

static PLUGIN_PREFERENCES: ChannelRules = ChannelRules {
    name: "pluginPreferences",
    code: 11,
    item_id: ItemId::OfPlugin,
    may_be_encrypted: false,
    is_pulled: false,
    read_only: ReadOnly::UnknownPlugins,
    timestamp_fields: &[],
    default_limit: 500,
    ..ITEMS
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_and_codes_are_unique() {
        let names: HashSet<_> = Channel::ALL.iter().map(|it| it.name()).collect();
        let codes: HashSet<_> = Channel::ALL.iter().map(|it| it.code()).collect();

        assert_eq!(names.len(), Channel::ALL.len());
        assert_eq!(codes.len(), Channel::ALL.len());
        for channel in Channel::ALL {
            assert_eq!(Channel::from_code(channel.code()), Some(channel));
        }
        assert!(names.iter().all(|it| !it.is_empty()));
        assert_eq!(Channel::from_code(0), None);
    }
}
