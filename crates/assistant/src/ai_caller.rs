//! Caller of a model.

use pia_kernel::{GroupId, UserId};
use uuid::Uuid;

use crate::request::surface::Surface;
use crate::routing::target::Mode;
use crate::rules::ApiKeyBudget;

/// Caller of a model, and their purpose.
#[derive(Debug, Clone, Copy)]
pub struct AiCaller {
    /// Account of the caller.
    pub user: UserId,
    /// The group that they are in.
    pub group: GroupId,
    /// The key that they call with, if they use one.
    pub key: Option<ApiKeyBudget>,
    /// The mode that was named, where it is one we know.
    pub mode: Option<Mode>,
    /// The persona that was named, granted or not.
    pub persona: Option<Uuid>,
    /// Through which surface.
    pub surface: Surface,
}
