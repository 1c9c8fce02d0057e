//! Skills: instructions of an assignment, as data.
//!
//! An operator has one skill, and each assignment stores a copy, so that a change
//! of the operator affects no run in progress. The serialised form is stored in
//! `operators.skill` and `assignments.skill`.

use pia_kernel::{ConnectorId, named_variants};
use serde::{Deserialize, Serialize};

/// Maximum length of a name, in ASCII characters.
const MAX_NAME_CHARS: usize = 100;

named_variants! {
    /// Type of an item that a user attaches to an assignment, with its name on the wire.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum EntityType {
        /// Chat with the assistant.
        AssistantChat = "assistantChat",
        /// Recorded session of a conversation.
        Session = "session",
        /// Memory of the user.
        Memory = "memory",
        /// Task on the user's list.
        Todo = "todo",
        /// Template for prompts.
        Template = "template",
    }
}

impl EntityType {
    /// Returns the type of this name, in exactly this case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Skill, which is a list of steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Name, unique in any case; users hand assignments over by it.
    pub name: String,
    /// Mode of the model.
    pub mode: SkillMode,
    /// Types of items that it accepts; none if it takes a prompt only.
    pub declared_input_types: Vec<EntityType>,
    /// Steps, at least one. The last one makes the artifact.
    pub steps: Vec<SkillStep>,
    /// Connector whose pods run it in place of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<ConnectorId>,
}

impl Skill {
    /// Creates a skill that the pods of a connector run, in one step. It takes a
    /// prompt only.
    pub fn hosted(name: String, host: ConnectorId) -> Self {
        let step = SkillStep { title: name.clone(), instructions: String::new(), max_output: None };
        Self {
            name,
            mode: SkillMode::Assistant,
            declared_input_types: Vec::new(),
            steps: vec![step],
            host: Some(host),
        }
    }

    /// Returns whether a skill may have this name: 1 to 100 letters, digits, hyphens,
    /// dots and underscores.
    pub fn is_name(name: &str) -> bool {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
        (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(is_plain)
    }
}

named_variants! {
    /// Mode of a skill, which chooses its model, with its name on the wire.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum SkillMode {
        /// Conversation, as in chats.
        Assistant = "Assistant",
        /// Research on a topic.
        Research = "Research",
    }
}

/// Step of a skill: one turn of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillStep {
    /// Title, for people.
    pub title: String,
    /// Instructions of the model.
    pub instructions: String,
    /// Maximum length of the response in tokens; `None` is the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<i64>,
}
