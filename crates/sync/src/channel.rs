//! The kinds of things that devices keep in step, and what differs between
//! them: all of it stands here.

/// One kind of thing that devices keep in step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Prompts that texts are rewritten with.
    Templates,
    /// Characters that chats are held with.
    Personas,
    /// Providers to which a device sends its own requests to models.
    Providers,
    /// Texts that were rewritten. They are only added.
    Sessions,
    /// Memories of the assistant.
    Memories,
    /// To-do items.
    Todos,
    /// The columns that todos stand in.
    KanbanColumns,
    /// Jobs that run at set times.
    ScheduledJobs,
    /// Researches and what they found.
    ResearchSessions,
    /// Settings of the app; one item.
    Settings,
    /// States of plugins. Devices send them, and get them with the plugins.
    PluginPreferences,
}

/// Merge strategy for a change of a stored item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The later change wins, by the clocks of those who made them.
    LastWriteWins,
    /// The stored item stays as it is.
    AppendOnly,
}

/// Rules of a channel.
#[derive(Debug)]
pub struct ChannelRules {
    /// As it is called on the wire.
    pub name: &'static str,
    /// As it is called in the database, for ever.
    pub code: i16,
    /// Merge strategy.
    pub merge: Merge,
    /// Keys that hold the time of an item's last change, the first that is
    /// there.
    pub timestamp_fields: &'static [&'static str],
    /// Plaintext fields of an encrypted item, beside what is encrypted: all
    /// else belongs into the payload, and is stored nowhere else.
    pub plaintext_fields: &'static [&'static str],
    /// Maximum number per account unless the operator configures another.
    pub default_limit: u32,
}

const UPDATED: &[&str] = &["updatedAt", "createdAt"];

impl Channel {
    /// All of them, in the order in which devices apply them.
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

    /// Returns its rules.
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

    /// As it is called on the wire: `templates`.
    pub fn name(self) -> &'static str {
        self.rules().name
    }

    /// As it is called in the database.
    pub fn code(self) -> i16 {
        self.rules().code
    }

    /// The one that is called so in the database.
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.code() == code)
    }

    /// Returns whether the channel has at most one item.
    pub fn is_single(self) -> bool {
        self == Self::Settings
    }

    /// Returns whether items of the channel may be end-to-end encrypted.
    pub fn may_be_encrypted(self) -> bool {
        self != Self::PluginPreferences
    }
}

static TEMPLATES: ChannelRules = ChannelRules {
    name: "templates",
    code: 1,
    merge: Merge::LastWriteWins,
    timestamp_fields: &["modifiedAt", "createdAt"],
    plaintext_fields: &["id", "createdAt", "modifiedAt"],
    default_limit: 100,
};

static PERSONAS: ChannelRules = ChannelRules {
    name: "personas",
    code: 2,
    merge: Merge::LastWriteWins,
    timestamp_fields: UPDATED,
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
};

static PROVIDERS: ChannelRules = ChannelRules {
    name: "providers",
    code: 3,
    merge: Merge::LastWriteWins,
    timestamp_fields: UPDATED,
    plaintext_fields: &["id", "createdAt", "updatedAt"],
    default_limit: 20,
};

static SESSIONS: ChannelRules = ChannelRules {
    name: "sessions",
    code: 4,
    merge: Merge::AppendOnly,
    timestamp_fields: &["createdAt"],
    plaintext_fields: &["id", "createdAt"],
    // Not refused beyond it: the oldest leave.
    default_limit: 10_000,
};

static MEMORIES: ChannelRules = ChannelRules {
    name: "memories",
    code: 5,
    merge: Merge::LastWriteWins,
    timestamp_fields: UPDATED,
    plaintext_fields: &["id", "createdAt", "updatedAt", "lastAccessedAt"],
    default_limit: 500,
};

static TASKS: ChannelRules = ChannelRules {
    name: "todos",
    code: 6,
    merge: Merge::LastWriteWins,
    timestamp_fields: UPDATED,
    plaintext_fields: &["id", "createdAt", "updatedAt", "sortOrder"],
    default_limit: 500,
};

static KANBAN_COLUMNS: ChannelRules = ChannelRules {
    name: "kanbanColumns",
    code: 7,
    merge: Merge::LastWriteWins,
    timestamp_fields: UPDATED,
    plaintext_fields: &[
        "id",
        "sortOrder",
        "isDefaultView",
        "isClosedColumn",
        "createdAt",
        "updatedAt",
    ],
    default_limit: 200,
};

static SCHEDULED_JOBS: ChannelRules = ChannelRules {
    name: "scheduledJobs",
    code: 8,
    merge: Merge::LastWriteWins,
    timestamp_fields: UPDATED,
    plaintext_fields: &["id", "ownerDeviceId", "createdAt", "updatedAt"],
    default_limit: 200,
};

static RESEARCH_SESSIONS: ChannelRules = ChannelRules {
    name: "researchSessions",
    code: 9,
    merge: Merge::LastWriteWins,
    timestamp_fields: UPDATED,
    plaintext_fields: &["id", "createdAt", "updatedAt", "completedAt"],
    default_limit: 500,
};

static SETTINGS: ChannelRules = ChannelRules {
    name: "settings",
    code: 10,
    merge: Merge::LastWriteWins,
    timestamp_fields: &["modifiedAt"],
    plaintext_fields: &["modifiedAt"],
    default_limit: 1,
};

static PLUGIN_PREFERENCES: ChannelRules = ChannelRules {
    name: "pluginPreferences",
    code: 11,
    merge: Merge::LastWriteWins,
    timestamp_fields: &[],
    plaintext_fields: &[],
    default_limit: 500,
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_and_codes_tell_channels_apart() {
        let names: HashSet<_> = Channel::ALL.iter().map(|it| it.name()).collect();
        let codes: HashSet<_> = Channel::ALL.iter().map(|it| it.code()).collect();

        assert_eq!((names.len(), codes.len()), (Channel::ALL.len(), Channel::ALL.len()));
        for channel in Channel::ALL {
            assert_eq!(Channel::from_code(channel.code()), Some(channel));
        }
        assert_eq!(Channel::from_code(0), None);
    }
}
