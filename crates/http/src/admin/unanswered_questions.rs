//! `/api/admin/groups/{id}/unanswered-questions`.

use actix_web::web::{Data, Json};
use pia_kernel::{GroupId, QuestionId};
use pia_web::{Paging, PathId, PathPart};

use crate::auth::Done;
use crate::knowledge::UnansweredQuestionPage;
use crate::{Api, HttpError};

pub(crate) async fn list(
    api: Data<Api>,
    PathId(group): PathId,
    Paging(page): Paging,
) -> Result<Json<UnansweredQuestionPage>, HttpError> {
    let questions = api.knowledge.questions.clone();
    let page = async move { questions.page(GroupId(group), page).await };
    Ok(Json(api.run(page).await?.into()))
}

pub(crate) async fn delete(
    api: Data<Api>,
    PathPart { id: group, part: question }: PathPart,
) -> Result<Json<Done>, HttpError> {
    let questions = api.knowledge.questions.clone();
    let delete = async move { questions.delete(GroupId(group), QuestionId(question)).await };
    api.run(delete).await?;
    Ok(Json(Done::success()))
}
