//! Store of assignments, as users and administrators use it; `run_store.rs` is
//! the workers' side of the same rows. Methods with a user touch this user's
//! assignments alone.

use async_trait::async_trait;
use pia_kernel::{
    AssignmentId, Page, PageRequest, SideEffects, TimeOrder, Timestamp, Unavailable, UserId,
};

use crate::assignment::{Assignment, AssignmentDetails};
use crate::event::{EventKind, NewEvent};
use crate::skill::Skill;
use crate::status::AssignmentStatus;

/// Store of assignments. Their contents are sealed under the user's key.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait AssignmentStore: Send + Sync {
    /// Stores an assignment with its first event. Returns `TooMany` if the user
    /// already has `max_unfinished` unfinished assignments, even with concurrent
    /// calls.
    async fn create(
        &self,
        assignment: NewAssignment,
        max_unfinished: u32,
    ) -> Result<AssignmentCreationOutcome, Unavailable>;

    /// Deletes an assignment that is `Queued` and never ran, since it could not
    /// be started.
    async fn discard(&self, id: AssignmentId) -> Result<(), Unavailable>;

    /// Lists assignments of a user, newest first.
    async fn list(
        &self,
        user: UserId,
        skip: u32,
        limit: u32,
    ) -> Result<Vec<Assignment>, Unavailable>;

    /// Loads an assignment of a user with its contents and events.
    async fn load(
        &self,
        user: UserId,
        id: AssignmentId,
    ) -> Result<Option<AssignmentDetails>, Unavailable>;

    /// Makes an unfinished assignment of a user `Cancelled`. Returns false if the
    /// user has no unfinished assignment with this id.
    async fn cancel(
        &self,
        user: UserId,
        id: AssignmentId,
        end: ForcedEnd,
    ) -> Result<bool, Unavailable>;

    /// Deletes the input, the artifact, the error message and the messages that the
    /// server did not write, and appends the event. Repeated calls append nothing.
    async fn collect(
        &self,
        user: UserId,
        id: AssignmentId,
        end: ForcedEnd,
    ) -> Result<CollectionOutcome, Unavailable>;

    /// Lists assignments of all users, newest first, without error messages.
    async fn list_all(&self, skip: u32, limit: u32) -> Result<Vec<Assignment>, Unavailable>;

    /// Returns a page of the assignments of all users or of one, and with any or
    /// this status, in this order, without error messages.
    async fn page_of_all(
        &self,
        user: Option<UserId>,
        status: Option<AssignmentStatus>,
        order: TimeOrder,
        page: PageRequest,
    ) -> Result<Page<Assignment>, Unavailable>;

    /// Returns an assignment of any user, without its error message.
    async fn find(&self, id: AssignmentId) -> Result<Option<Assignment>, Unavailable>;

    /// Makes an unfinished assignment `Failed` with the code of a termination and
    /// the event's message. Returns false if there is no unfinished assignment with
    /// this id.
    async fn terminate(
        &self,
        id: AssignmentId,
        end: ForcedEnd,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}

/// Assignment to be created, as `Queued`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAssignment {
    /// Id of the assignment.
    pub id: AssignmentId,
    /// User who hands it over.
    pub user: UserId,
    /// Skill, of which a copy is stored.
    pub skill: Skill,
    /// Input, as the client sent it.
    pub input: String,
    /// Time when the user hands it over.
    pub at: Timestamp,
    /// First event of the assignment.
    pub event: NewEvent,
}

impl NewAssignment {
    /// Creates an assignment that waits for a worker.
    pub(crate) fn new(user: UserId, skill: Skill, input: String, at: Timestamp) -> Self {
        let event = NewEvent::once(EventKind::Queued, "Waiting for a worker.");
        Self { id: AssignmentId::generate(), user, skill, input, at, event }
    }
}

/// Outcome of creating an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignmentCreationOutcome {
    /// Assignment is stored.
    Done,
    /// User has the maximum number of unfinished assignments.
    TooMany,
    /// Account no longer exists.
    Gone,
}

/// Outcome of deleting the contents of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectionOutcome {
    /// Contents are gone, now or before.
    Done,
    /// Assignment has not ended.
    Unfinished,
    /// Assignment does not exist, or belongs to someone else.
    NotFound,
}

/// End of an assignment by a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForcedEnd {
    /// Time of the end.
    pub at: Timestamp,
    /// Event that is appended.
    pub event: NewEvent,
}
