//! Operators: skills that administrators grant to groups.

use pia_kernel::{GroupId, OperatorId, Timestamp};

use crate::skill::Skill;

/// Operator: a skill under a name that administrators choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Id of the operator.
    pub id: OperatorId,
    /// Name that users see. Unlike that of its skill, it may be in use twice.
    pub name: String,
    /// Skill that it executes.
    pub skill: Skill,
    /// False for a skill that the server ships, which cannot be changed or
    /// deleted.
    pub is_custom: bool,
    /// False while nobody may use it.
    pub is_active: bool,
    /// Groups whose members may use it; none at first.
    pub groups: Vec<GroupId>,
    /// URL that is notified when one of its assignments has ended; `None` without a
    /// webhook.
    pub webhook_url: Option<String>,
    /// Time of its last change.
    pub updated_at: Timestamp,
}
