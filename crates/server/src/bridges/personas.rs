//! Managed personas, as the assistant applies them.

use async_trait::async_trait;
use pia_assistant::{GrantedPersona, Personas};
use pia_kernel::{GroupId, PersonaId, Unavailable};
use pia_policy::ManagedPersonas;
use uuid::Uuid;

/// Managed personas, as the assistant applies them.
pub(crate) struct PolicyPersonas(pub(crate) ManagedPersonas);

#[async_trait]
impl Personas for PolicyPersonas {
    async fn find_granted(
        &self,
        group: GroupId,
        persona: Uuid,
    ) -> Result<Option<GrantedPersona>, Unavailable> {
        let persona = self.0.of_group(group, PersonaId(persona)).await?;
        Ok(persona.map(|it| GrantedPersona {
            uses_tools: it.content.uses_tools(),
            system_prompt: it.content.system_prompt,
            guardrails: it.content.guardrails,
            output_format: it.content.output_format,
            model_type: it.content.model_type,
        }))
    }
}
