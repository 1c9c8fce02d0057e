//! The persona that a caller has chosen.

use async_trait::async_trait;
use pia_kernel::{GroupId, Unavailable};
use uuid::Uuid;

/// A persona that was granted to a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedPersona {
    /// Id of the persona.
    pub id: Uuid,
}

/// Grants of personas to groups.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Personas: Send + Sync {
    /// The persona, if it is granted to this group. One that is unknown and
    /// one that is somebody else's are the same: nothing.
    async fn granted(
        &self,
        group: GroupId,
        persona: Uuid,
    ) -> Result<Option<GrantedPersona>, Unavailable>;
}

/// A server that grants no personas.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPersonas;

#[async_trait]
impl Personas for NoPersonas {
    async fn granted(
        &self,
        _group: GroupId,
        _persona: Uuid,
    ) -> Result<Option<GrantedPersona>, Unavailable> {
        Ok(None)
    }
}
