//! Port of unanswered questions; implemented in `storage-knowledge`.

use async_trait::async_trait;
use pia_kernel::{GroupId, Page, PageRequest, QuestionId, Timestamp, Unavailable};

use crate::questions::UnansweredQuestion;

/// Log of the questions that no document answers, by the group of those who
/// asked them. It is deleted with the group.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait QuestionLog: Send + Sync {
    /// Increments the count of a question, or adds the question. A group keeps the
    /// `limit` questions that were asked last, even with concurrent calls.
    async fn record(
        &self,
        group: GroupId,
        text: &str,
        at: Timestamp,
        limit: u16,
    ) -> Result<(), Unavailable>;

    /// Loads a page of the questions of a group, the last asked first; `None`
    /// if there is no such group.
    async fn page(
        &self,
        group: GroupId,
        page: PageRequest,
    ) -> Result<Option<Page<UnansweredQuestion>>, Unavailable>;

    /// Deletes a question of a group. Returns false if there is none.
    async fn delete(&self, group: GroupId, question: QuestionId) -> Result<bool, Unavailable>;

    /// Deletes the questions that were last asked before this time. Returns
    /// their number.
    async fn sweep(&self, before: Timestamp) -> Result<u64, Unavailable>;
}
