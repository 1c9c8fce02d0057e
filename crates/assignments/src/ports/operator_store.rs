//! Store of operators.

use async_trait::async_trait;
use pia_kernel::{GroupSelection, OperatorId, SideEffects, Timestamp, Unavailable, UserId};

use crate::operator::Operator;
use crate::skill::Skill;

/// Store of operators.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait OperatorStore: Send + Sync {
    /// Stores the operators of skills that the server ships. Of an operator that is
    /// stored already, only the skill is updated.
    async fn put_built_in(&self, operators: Vec<Operator>) -> Result<(), Unavailable>;

    /// Lists all operators, by name.
    async fn list(&self) -> Result<Vec<Operator>, Unavailable>;

    /// Lists the active operators that are granted to the user's group.
    async fn list_granted(&self, user: UserId) -> Result<Vec<Operator>, Unavailable>;

    /// Stores a new operator.
    async fn create(
        &self,
        operator: Operator,
        effects: SideEffects,
    ) -> Result<OperatorChangeOutcome, Unavailable>;

    /// Changes an operator.
    async fn update(
        &self,
        id: OperatorId,
        update: OperatorUpdate,
        effects: SideEffects,
    ) -> Result<OperatorChangeOutcome, Unavailable>;

    /// Grants an operator to the selected groups. Of concurrent changes none is lost.
    async fn grant(
        &self,
        id: OperatorId,
        groups: GroupSelection,
        effects: SideEffects,
    ) -> Result<OperatorChangeOutcome, Unavailable>;

    /// Deletes an operator. Its assignments go on.
    async fn delete(
        &self,
        id: OperatorId,
        effects: SideEffects,
    ) -> Result<OperatorChangeOutcome, Unavailable>;
}

/// Outcome of changing an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorChangeOutcome {
    /// Change is stored.
    Done,
    /// Operator does not exist.
    NotFound,
    /// Operator has another version than the expected one.
    Stale,
    /// Name of the skill is in use.
    NameTaken,
    /// One of the groups does not exist.
    UnknownGroup,
    /// Operator is one that the server ships: its skill cannot be changed, and it
    /// cannot be deleted.
    BuiltIn,
}

/// Fields of an operator that administrators change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorUpdate {
    /// Name that users see.
    pub name: String,
    /// False while nobody may use it; `None` keeps it.
    pub is_active: Option<bool>,
    /// Skill; `None` keeps it.
    pub skill: Option<Skill>,
    /// Time of the change.
    pub at: Timestamp,
    /// Time of the last change that the caller read; `None` accepts any.
    pub expected: Option<Timestamp>,
}
