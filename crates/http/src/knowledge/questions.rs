//! `/api/kb-manager/unanswered-questions`: questions of a manager's group that
//! no document answers.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_kernel::{Page, QuestionId, Timestamp};
use pia_knowledge::UnansweredQuestion;
use pia_web::{Caller, Paging, PathId};
use serde::Serialize;
use utoipa::ToSchema;

use super::KnowledgeEnabled;
use crate::{Api, HttpError};

/// Lists the unanswered questions of the caller's group, the last asked first.
pub(crate) async fn questions(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    Paging(page): Paging,
) -> Result<Json<UnansweredQuestionPage>, HttpError> {
    let group = caller.0.group;
    let page =
        api.run(|api| async move { api.knowledge.questions.page(group, page).await }).await?;
    Ok(Json(page.into()))
}

/// Deletes an unanswered question, until it is asked again.
pub(crate) async fn delete_question(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<HttpResponse, HttpError> {
    let group = caller.0.group;
    api.run(|api| async move { api.knowledge.questions.delete(group, QuestionId(id)).await })
        .await?;
    Ok(HttpResponse::NoContent().finish())
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnansweredQuestionPage {
    /// Last asked first.
    items: Vec<UnansweredQuestionItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Question for which searches found nothing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnansweredQuestionItem {
    #[schema(format = Uuid)]
    id: String,
    /// Question in lower case. `[email]`, `[link]` and `[number]` stand for what
    /// is not stored.
    question: String,
    /// Number of times that members of the group asked it.
    count: i64,
    #[schema(value_type = String, format = DateTime)]
    first_seen_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    last_seen_at: Timestamp,
}

impl From<Page<UnansweredQuestion>> for UnansweredQuestionPage {
    fn from(page: Page<UnansweredQuestion>) -> Self {
        Self {
            items: page.items.into_iter().map(Into::into).collect(),
            next_cursor: page.next.map(Paging::format_cursor),
        }
    }
}

impl From<UnansweredQuestion> for UnansweredQuestionItem {
    fn from(question: UnansweredQuestion) -> Self {
        Self {
            id: question.id.to_string(),
            question: question.text,
            count: question.count,
            first_seen_at: question.first_seen_at,
            last_seen_at: question.last_seen_at,
        }
    }
}
