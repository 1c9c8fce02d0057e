//! Routes of questions that no document answers, for managers and administrators.

use actix_web::http::Method;
use pia_web::{Licensing, ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{self, admin_docs};
use super::knowledge::{NO_MANAGER, OFF, read};
use super::knowledge_admin;
use crate::admin::unanswered_questions;
use crate::auth;
use crate::knowledge::{UnansweredQuestionPage, delete_question, questions};

const OWN: &str = "/api/kb-manager/unanswered-questions";
const OWN_QUESTION: &str = "/api/kb-manager/unanswered-questions/{id}";
const OF_GROUP: &str = "/api/admin/groups/{id}/unanswered-questions";
const QUESTION_OF_GROUP: &str = "/api/admin/groups/{id}/unanswered-questions/{questionId}";
const LISTED: &str = "Lists the questions of a group that no document answered, the last asked \
                      first.";
const DELETED: &str = "Deletes an unanswered question, until it is asked again.";
const UNKNOWN_GROUP: (u16, &str) = (404, "There is no such group: `not_found`.");
const UNKNOWN: (u16, &str) = (404, "The group has no such question: `not_found`.");

pub(super) fn routes() -> Vec<Route> {
    vec![list(), delete(), list_of_group(), delete_of_group()]
}

fn list() -> Route {
    let answer = ResponseDoc::Page(wire::<UnansweredQuestionPage>);
    read(OWN, LISTED, answer, &[NO_MANAGER, OFF], |route| route.to(questions))
}

fn delete() -> Route {
    let refusals = &[NO_MANAGER, UNKNOWN, OFF];
    let row = read(OWN_QUESTION, DELETED, ResponseDoc::Nothing, refusals, |route| {
        route.to(delete_question)
    });
    Route { method: Method::DELETE, licensing: Licensing::InForce, body_limit: KIB, ..row }
}

fn list_of_group() -> Route {
    let answer = ResponseDoc::Page(wire::<UnansweredQuestionPage>);
    let docs = admin_docs(LISTED, None, answer, &[UNKNOWN_GROUP]);
    client_policies::read(OF_GROUP, docs, |route| route.to(unanswered_questions::list))
}

fn delete_of_group() -> Route {
    let docs = admin_docs(DELETED, None, ResponseDoc::Json(wire::<auth::Done>), &[UNKNOWN]);
    knowledge_admin::write(Method::DELETE, QUESTION_OF_GROUP, docs, KIB, |route| {
        route.to(unanswered_questions::delete)
    })
}
