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
pub struct Rules {
    /// As it is called on the wire.
    pub name: &'static str,
    /// As it is called in the database, for ever.
    pub code: i16,
    /// Merge strategy.
    pub merge: Merge,
    /// Keys that hold the time of an item's last change, the first that is
    /// there.
    pub times: &'static [&'static str],
    /// Plaintext fields of an encrypted item, beside what is encrypted: all
    /// else belongs into the payload, and is stored nowhere else.
    pub open: &'static [&'static str],
    /// Maximum number per account unless the operator configures another.
    pub usual_limit: u32,
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
    pub fn rules(self) -> &'static Rules {
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
    pub fn of_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.code() == code)
    }

    /// Returns whether there is no more than one item of it.
    pub fn is_single(self) -> bool {
        self == Self::Settings
    }

    /// Returns whether its items may be end-to-end encrypted.
    pub fn may_be_encrypted(self) -> bool {
        self != Self::PluginPreferences
    }
}

static TEMPLATES: Rules = Rules {
    name: "templates",
    code: 1,
    merge: Merge::LastWriteWins,
    times: &["modifiedAt", "createdAt"],
    open: &["id", "createdAt", "modifiedAt"],
    usual_limit: 100,
};

static PERSONAS: Rules = Rules {
    name: "personas",
    code: 2,
    merge: Merge::LastWriteWins,
    times: UPDATED,
    open: &[
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
    usual_limit: 50,
};

static PROVIDERS: Rules = Rules {
    name: "providers",
    code: 3,
    merge: Merge::LastWriteWins,
    times: UPDATED,
    open: &["id", "createdAt", "updatedAt"],
    usual_limit: 20,
};

static SESSIONS: Rules = Rules {
    name: "sessions",
    code: 4,
    merge: Merge::AppendOnly,
    times: &["createdAt"],
    open: &["id", "createdAt"],
    // Not refused beyond it: the oldest leave.
    usual_limit: 10_000,
};

static MEMORIES: Rules = Rules {
    name: "memories",
    code: 5,
    merge: Merge::LastWriteWins,
    times: UPDATED,
    open: &["id", "createdAt", "updatedAt", "lastAccessedAt"],
    usual_limit: 500,
};

static TASKS: Rules = Rules {
    name: "todos",
    code: 6,
    merge: Merge::LastWriteWins,
    times: UPDATED,
    open: &["id", "createdAt", "updatedAt", "sortOrder"],
    usual_limit: 500,
};

static KANBAN_COLUMNS: Rules = Rules {
    name: "kanbanColumns",
    code: 7,
    merge: Merge::LastWriteWins,
    times: UPDATED,
    open: &["id", "sortOrder", "isDefaultView", "isClosedColumn", "createdAt", "updatedAt"],
    usual_limit: 200,
};

static SCHEDULED_JOBS: Rules = Rules {
    name: "scheduledJobs",
    code: 8,
    merge: Merge::LastWriteWins,
    times: UPDATED,
    open: &["id", "ownerDeviceId", "createdAt", "updatedAt"],
    usual_limit: 200,
};

static RESEARCH_SESSIONS: Rules = Rules {
    name: "researchSessions",
    code: 9,
    merge: Merge::LastWriteWins,
    times: UPDATED,
    open: &["id", "createdAt", "updatedAt", "completedAt"],
    usual_limit: 500,
};

static SETTINGS: Rules = Rules {
    name: "settings",
    code: 10,
    merge: Merge::LastWriteWins,
    times: &["modifiedAt"],
    open: &["modifiedAt"],
    usual_limit: 1,
};

static PLUGIN_PREFERENCES: Rules = Rules {
    name: "pluginPreferences",
    code: 11,
    merge: Merge::LastWriteWins,
    times: &[],
    open: &[],
    usual_limit: 500,
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
            assert_eq!(Channel::of_code(channel.code()), Some(channel));
        }
        assert_eq!(Channel::of_code(0), None);
    }
}
