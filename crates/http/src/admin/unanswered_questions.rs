//! `/api/admin/groups/{id}/unanswered-questions`.

use actix_web::web::{Data, Json};
use pia_kernel::{GroupId, QuestionId};
use pia_web::{Paging, PathId, PathPart};

use crate::auth::Done;
use crate::knowledge::UnansweredQuestionPage;
use crate::{Api, HttpError};

/// Lists the unanswered questions of a group, the last asked first.
pub(crate) async fn list(
    api: Data<Api>,
    PathId(group): PathId,
    Paging(page): Paging,
) -> Result<Json<UnansweredQuestionPage>, HttpError> {
    let page = api
        .run(|api| async move { api.knowledge.questions.page(GroupId(group), page).await })
        .await?;
    Ok(Json(page.into()))
}

/// Deletes an unanswered question of a group, until it is asked again.
pub(crate) async fn delete(
    api: Data<Api>,
    PathPart { id: group, part: question }: PathPart,
) -> Result<Json<Done>, HttpError> {
    api.run(|api| async move {
        api.knowledge.questions.delete(GroupId(group), QuestionId(question)).await
    })
    .await?;
    Ok(Json(Done::success()))
}
