//! Channels and the fields of their rows.

/// Kinds of rows that devices share, in the order in which clients apply them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Channel {
    Settings,
    Templates,
    Personas,
    Providers,
    Sessions,
    Memories,
    KanbanColumns,
    Todos,
    ScheduledJobs,
}

/// Types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int,
    Bool,
    Guid,
    Time,
    /// Time of day: `HH:mm:ss`.
    Clock,
    Texts,
    /// Object of GUIDs, whose keys are decimal numbers.
    Guids,
}

/// Field of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// True if it is inside the ciphertext of an encrypted row.
    pub(crate) sealed: bool,
    /// JSON that replaces a sealed field in the clear; `None` if the field is omitted there.
    pub(crate) blank: Option<&'static str>,
}

/// Id of the single row of settings.
pub(crate) const SETTINGS: &str = "user-settings";

/// JSON of the GUID that stands for no row.
const ZERO_GUID: &str = "\"00000000-0000-0000-0000-000000000000\"";

/// Declares a field that encrypted rows have in the clear.
const fn open(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, sealed: false, blank: None }
}

/// Declares a field that encrypted rows omit in the clear.
const fn sealed(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, sealed: true, blank: None }
}

/// Declares a field that encrypted rows replace in the clear.
const fn blanked(name: &'static str, kind: Kind, blank: &'static str) -> Field {
    Field { name, kind, sealed: true, blank: Some(blank) }
}

const TEMPLATE: &[Field] = &[
    sealed("name", Kind::Text),
    sealed("prompt", Kind::Text),
    sealed("description", Kind::Text),
    sealed("ExampleText", Kind::Text),
];
const PERSONA: &[Field] = &[
    sealed("name", Kind::Text),
    sealed("tagline", Kind::Text),
    sealed("systemPrompt", Kind::Text),
    sealed("guardrails", Kind::Text),
    sealed("outputFormat", Kind::Text),
    sealed("expertise", Kind::Texts),
    open("archetype", Kind::Text),
    open("modelType", Kind::Text),
    open("emoji", Kind::Text),
    open("accentColor", Kind::Text),
    open("toolScope", Kind::Int),
    open("preferredProviderId", Kind::Guid),
    open("reasoningEffort", Kind::Int),
    open("schemaVersion", Kind::Int),
];
const PROVIDER: &[Field] = &[
    sealed("name", Kind::Text),
    blanked("providerType", Kind::Int, "0"),
    sealed("endpoint", Kind::Text),
    sealed("modelName", Kind::Text),
    sealed("azureDeploymentName", Kind::Text),
    blanked("supportsToolCalling", Kind::Bool, "true"),
    blanked("timeoutSeconds", Kind::Int, "300"),
];
const SESSION: &[Field] = &[
    sealed("originalText", Kind::Text),
    sealed("optimizedText", Kind::Text),
    blanked("templateId", Kind::Guid, ZERO_GUID),
    sealed("templateName", Kind::Text),
    blanked("providerId", Kind::Guid, ZERO_GUID),
    sealed("providerName", Kind::Text),
    blanked("wasTranscribed", Kind::Bool, "false"),
    blanked("tokensUsed", Kind::Int, "0"),
];
const MEMORY: &[Field] = &[
    sealed("type", Kind::Text),
    sealed("label", Kind::Text),
    blanked("data", Kind::Text, "\"{}\""),
    open("lastAccessedAt", Kind::Time),
    sealed("path", Kind::Text),
];
const COLUMN: &[Field] = &[
    sealed("name", Kind::Text),
    open("sortOrder", Kind::Int),
    open("isDefaultView", Kind::Bool),
    open("isClosedColumn", Kind::Bool),
];
const TASK: &[Field] = &[
    sealed("title", Kind::Text),
    sealed("notes", Kind::Text),
    blanked("priority", Kind::Int, "0"),
    blanked("status", Kind::Int, "0"),
    sealed("dueDate", Kind::Time),
    sealed("linkedReminderId", Kind::Guid),
    sealed("completedAt", Kind::Time),
    open("sortOrder", Kind::Int),
    sealed("columnId", Kind::Guid),
];
const JOB: &[Field] = &[
    open("ownerDeviceId", Kind::Guid),
    sealed("name", Kind::Text),
    sealed("query", Kind::Text),
    sealed("kind", Kind::Int),
    sealed("answerLength", Kind::Int),
    sealed("grantedTools", Kind::Texts),
    sealed("providerId", Kind::Guid),
    sealed("recurrence", Kind::Int),
    sealed("timeOfDay", Kind::Clock),
    sealed("dayOfWeek", Kind::Int),
    sealed("dayOfMonth", Kind::Int),
    sealed("month", Kind::Int),
    sealed("specificDate", Kind::Time),
    sealed("status", Kind::Int),
];
const SETTING: &[Field] = &[
    blanked("defaultOutputAction", Kind::Int, "0"),
    sealed("defaultTemplateId", Kind::Guid),
    blanked("whisperModel", Kind::Int, "0"),
    blanked("startInAdvancedMode", Kind::Bool, "false"),
    blanked("autoTypeDelayMs", Kind::Int, "10"),
    blanked("theme", Kind::Int, "0"),
    blanked("startMinimized", Kind::Bool, "false"),
    sealed("targetLanguage", Kind::Int),
    blanked("targetSpeechLanguage", Kind::Int, "0"),
    blanked("defaultWindowMode", Kind::Int, "0"),
    blanked("modeProviderDefaults", Kind::Guids, "{}"),
    blanked("modePersonaDefaults", Kind::Guids, "{}"),
    blanked("useSameProviderForAllModes", Kind::Bool, "true"),
    sealed("assistantDefaultWorkingDirectory", Kind::Text),
];

impl Channel {
    /// All channels with rows.
    pub(crate) const ROWS: [Self; 8] = [
        Self::Templates,
        Self::Personas,
        Self::Providers,
        Self::Sessions,
        Self::Memories,
        Self::KanbanColumns,
        Self::Todos,
        Self::ScheduledJobs,
    ];

    /// Returns the key in a push and a pull.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Templates => "templates",
            Self::Personas => "personas",
            Self::Providers => "providers",
            Self::Sessions => "sessions",
            Self::Memories => "memories",
            Self::KanbanColumns => "kanbanColumns",
            Self::Todos => "todos",
            Self::ScheduledJobs => "scheduledJobs",
        }
    }

    /// Returns the entity's name in the encryption of a row.
    pub(crate) fn entity(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Templates => "template",
            Self::Personas => "persona",
            Self::Providers => "provider",
            Self::Sessions => "session",
            Self::Memories => "memory",
            Self::KanbanColumns => "kanban_column",
            Self::Todos => "todo",
            Self::ScheduledJobs => "scheduled_job",
        }
    }

    /// Returns the key of the list of its rows.
    pub(crate) fn list(self) -> &'static str {
        if self == Self::Sessions { "added" } else { "upserted" }
    }

    /// Returns the key of the time that decides between two versions.
    pub(crate) fn changed(self) -> &'static str {
        match self {
            Self::Settings | Self::Templates => "modifiedAt",
            Self::Sessions => "createdAt",
            _ => "updatedAt",
        }
    }

    pub(crate) fn fields(self) -> &'static [Field] {
        match self {
            Self::Settings => SETTING,
            Self::Templates => TEMPLATE,
            Self::Personas => PERSONA,
            Self::Providers => PROVIDER,
            Self::Sessions => SESSION,
            Self::Memories => MEMORY,
            Self::KanbanColumns => COLUMN,
            Self::Todos => TASK,
            Self::ScheduledJobs => JOB,
        }
    }

    /// Returns the key that edits of tests change.
    pub(crate) fn content_field(self) -> &'static str {
        match self {
            Self::Settings => "assistantDefaultWorkingDirectory",
            Self::Templates => "prompt",
            Self::Personas => "systemPrompt",
            Self::Providers => "modelName",
            Self::Sessions => "originalText",
            Self::Memories => "label",
            Self::KanbanColumns => "name",
            Self::Todos => "title",
            Self::ScheduledJobs => "query",
        }
    }
}
