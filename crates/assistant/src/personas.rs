//! Managed personas.

use async_trait::async_trait;
use pia_kernel::{GroupId, Unavailable};
use uuid::Uuid;

/// Assignments of personas to groups.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Personas: Send + Sync {
    /// Loads an active persona that is assigned to this group. An unknown one
    /// and one of another group are both `None`.
    async fn find_granted(
        &self,
        group: GroupId,
        persona: Uuid,
    ) -> Result<Option<GrantedPersona>, Unavailable>;
}

/// Managed persona that is assigned to a caller's group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedPersona {
    /// Instructions for the model, which come first.
    pub system_prompt: String,
    /// Limits that are part of the prompt.
    pub guardrails: Option<String>,
    /// Format of the responses, which ends the instructions.
    pub output_format: Option<String>,
    /// Type by which the group's rules choose the model.
    pub model_type: Option<String>,
    /// Set if the model may use tools.
    pub uses_tools: bool,
}

impl GrantedPersona {
    /// Returns all instructions for the model, a paragraph each.
    pub(crate) fn instructions(&self) -> String {
        let mut paragraphs = vec![self.system_prompt.as_str()];
        paragraphs.extend(self.guardrails.as_deref());
        paragraphs.extend(self.output_format.as_deref());
        paragraphs.join("\n\n")
    }
}
