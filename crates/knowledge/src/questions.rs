//! Questions that no document answers.
//!
//! `record` is called after a search that found nothing; managers of a group read
//! the list with `page`, to learn which documents are missing. Members stay unknown:
//! a text is folded and masked first (`folding.rs`), and no user is stored.

mod folding;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    Clock, GroupId, LiveSetting, Page, PageRequest, QuestionId, Timestamp, Unavailable,
};

use crate::error::KnowledgeError;
use crate::ports::question_log::QuestionLog;
use folding::fold_question;

/// Maximum number of questions of a group: those that were asked last.
pub const MAX_QUESTIONS: u16 = 500;
/// Time after which a question that is not asked again is deleted.
const RETENTION: Duration = Duration::from_hours(30 * 24);

/// Question for which searches found nothing, without those who asked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredQuestion {
    /// Id by which its managers delete it.
    pub id: QuestionId,
    /// Text, folded and masked.
    pub text: String,
    /// Number of times that it was asked.
    pub count: i64,
    /// Time when it was first asked.
    pub first_seen_at: Timestamp,
    /// Time when it was last asked.
    pub last_seen_at: Timestamp,
}

/// Collects the questions that no document answers, for those who manage the
/// documents.
#[derive(Clone)]
pub struct UnansweredQuestions {
    log: Arc<dyn QuestionLog>,
    is_enabled: LiveSetting<bool>,
    clock: Arc<dyn Clock>,
}

impl UnansweredQuestions {
    /// Creates the use case. Unless it is enabled, no question is stored, and
    /// stored ones are deleted by the next sweep.
    pub fn new(
        log: Arc<dyn QuestionLog>,
        is_enabled: LiveSetting<bool>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { log, is_enabled, clock }
    }

    /// Returns whether questions are stored.
    pub fn is_enabled(&self) -> bool {
        *self.is_enabled.get()
    }

    /// Records a question of a member for which a search found nothing. Callers do
    /// not wait for it, and a failure is only logged.
    pub async fn record(&self, group: GroupId, question: &str) {
        if !self.is_enabled() {
            return;
        }
        let Some(text) = fold_question(question) else { return };
        let outcome = self.log.record(group, &text, self.clock.now(), MAX_QUESTIONS).await;
        if let Err(err) = outcome {
            tracing::warn!(error = %err, "failed to record an unanswered question");
        }
    }

    /// Returns a page of the questions of a group, the last asked first.
    pub async fn page(
        &self,
        group: GroupId,
        page: PageRequest,
    ) -> Result<Page<UnansweredQuestion>, KnowledgeError> {
        self.log.page(group, page).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Deletes a question of a group.
    pub async fn delete(&self, group: GroupId, question: QuestionId) -> Result<(), KnowledgeError> {
        let deleted = self.log.delete(group, question).await?;
        if deleted { Ok(()) } else { Err(KnowledgeError::NotFound) }
    }

    /// Deletes questions whose retention ended. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        let now = self.clock.now();
        self.log.sweep(if self.is_enabled() { now - RETENTION } else { now }).await
    }
}

#[cfg(test)]
mod tests {
    use mockall::predicate::eq;
    use pia_testkit::FixedClock;

    use super::*;
    use crate::ports::question_log::MockQuestionLog;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn questions(log: MockQuestionLog, is_enabled: bool) -> UnansweredQuestions {
        let clock = Arc::new(FixedClock(NOW));
        UnansweredQuestions::new(Arc::new(log), LiveSetting::new(is_enabled), clock)
    }

    #[tokio::test]
    async fn a_question_is_recorded_folded_and_without_addresses() {
        let group = GroupId::generate();
        let mut log = MockQuestionLog::new();
        log.expect_record()
            .withf(move |of, text, at, limit| {
                (*of, text, *at, *limit) == (group, "who is [email]", NOW, 500)
            })
            .once()
            .returning(|_, _, _, _| Ok(()));

        questions(log, true).record(group, "Who is ada@example.org?").await;
    }

    #[tokio::test]
    async fn nothing_is_recorded_unless_it_is_enabled() {
        let use_case = questions(MockQuestionLog::new(), false);

        use_case.record(GroupId::generate(), "Who pays?").await;
    }

    #[tokio::test]
    async fn questions_are_deleted_after_a_month_or_once_it_is_disabled() {
        let month = Duration::from_hours(30 * 24);
        for (is_enabled, before) in [(true, NOW - month), (false, NOW)] {
            let mut log = MockQuestionLog::new();
            log.expect_sweep().with(eq(before)).once().returning(|_| Ok(1));

            assert_eq!(questions(log, is_enabled).sweep().await.unwrap(), 1);
        }
    }

    #[tokio::test]
    async fn an_unknown_group_or_question_is_not_found() {
        let mut log = MockQuestionLog::new();
        log.expect_page().returning(|_, _| Ok(None));
        log.expect_delete().returning(|_, _| Ok(false));
        let use_case = questions(log, true);
        let group = GroupId::generate();

        let page = use_case.page(group, PageRequest { after: None, limit: 1 }).await;
        assert!(matches!(page, Err(KnowledgeError::NotFound)));
        let deleted = use_case.delete(group, QuestionId::generate()).await;
        assert!(matches!(deleted, Err(KnowledgeError::NotFound)));
    }
}
