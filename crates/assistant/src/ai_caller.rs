//! Caller of a model: who calls, who pays, and for what purpose.
//!
//! Surfaces create it from an authenticated request; it passes through a turn unchanged.

use pia_kernel::{GroupId, UserId};
use uuid::Uuid;

use crate::request::surface::Surface;
use crate::routing::target::Mode;
use crate::rules::ApiKeyBudget;

/// Caller of a model, and the purpose of the call.
#[derive(Debug, Clone, Copy)]
pub struct AiCaller {
    /// Account that calls, and whose allowance pays.
    pub user: UserId,
    /// Group of that account, whose rules apply.
    pub group: GroupId,
    /// API key of the call, if one is used.
    pub key: Option<ApiKeyBudget>,
    /// Requested mode, if it is a known one.
    pub mode: Option<Mode>,
    /// Requested persona, granted or not.
    pub persona: Option<Uuid>,
    /// API that the call came through, which decides the form of errors.
    pub surface: Surface,
}
