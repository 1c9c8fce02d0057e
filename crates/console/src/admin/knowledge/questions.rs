//! Questions of a base's group that no document answers.

use pia_kernel::{PageRequest, QuestionId};
use pia_knowledge::{MAX_QUESTIONS, UnansweredQuestion};
use pia_web::{PathId, PathPart, Route};

use super::{below_base, find, manager_form, manager_page};
use crate::admin::bindings::day_cell;
use crate::admin::settings;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::texts::common;
use crate::ui::{Cell, Form, Row, Section, Text, format};

pub(super) fn routes() -> Vec<Route> {
    vec![
        manager_page("/admin/knowledge/{id}/questions", |it| it.to(list)),
        manager_form("/admin/knowledge/{id}/questions/{question}/delete", |it| it.to(delete)),
    ]
}

async fn list(page: PageContext, PathId(id): PathId) -> PageResult {
    let entry = find(&page, id).await?;
    let group = entry.base.owner;
    let all = PageRequest { after: None, limit: MAX_QUESTIONS };
    let unanswered =
        page.run(|api| async move { api.knowledge.questions.page(group, all).await }).await?;
    let path = format!("admin/knowledge/{id}/questions");
    let rows = unanswered.items.iter().map(|it| question_row(&page, it, &path)).collect();
    let columns = [("question", QUESTION), ("count", COUNT), ("first", FIRST), ("last", LAST)];
    let is_enabled = page.api.knowledge.questions.is_enabled();
    let table = page.list(TITLE, if is_enabled { EMPTY } else { NONE }, &columns, rows);

    let view = below_base(&page, &entry, TITLE);
    let view = if is_enabled {
        view.intro(page.t(INTRO))
    } else {
        view.section(settings::off_section(&page, OFF, "Knowledge:UnansweredQuestions"))
    };

    Ok(page.render(view.section(Section::new("questions", "").table(table))))
}

fn question_row(page: &PageContext, question: &UnansweredQuestion, path: &str) -> Row {
    let path = format!("{path}/{}/delete", question.id);
    let delete = Form::new(path, page.t(common::DELETE)).danger();
    Row::new(vec![
        Cell::text(&question.text),
        Cell::number(format::number(page.language, question.count)).sort_value(question.count),
        day_cell(page, question.first_seen_at),
        day_cell(page, question.last_seen_at),
    ])
    .key(question.id.to_string())
    .form(delete.about(&question.text))
}

async fn delete(page: PageContext, PathPart { id, part }: PathPart, _: FormFields) -> PageResult {
    let group = find(&page, id).await?.base.owner;
    page.run(|api| async move { api.knowledge.questions.delete(group, QuestionId(part)).await })
        .await?;
    page.done(&format!("admin/knowledge/{id}/questions"), "deleted")
}

const TITLE: Text = Text::new("Unanswered questions", "Unbeantwortete Fragen");
const INTRO: Text = Text::new(
    "Members of the group that owns this knowledge base asked these questions, and no document \
     answered them. Nobody sees who asked. A question disappears after 30 days.",
    "Mitglieder der Gruppe, der diese Wissensdatenbank gehört, haben diese Fragen gestellt, und \
     kein Dokument hat sie beantwortet. Wer gefragt hat, ist nicht zu sehen. Eine Frage \
     verschwindet nach 30 Tagen.",
);
const QUESTION: Text = Text::new("Question", "Frage");
const COUNT: Text = Text::new("Asked", "Gestellt");
const FIRST: Text = Text::new("First asked", "Zuerst gestellt");
const LAST: Text = Text::new("Last asked", "Zuletzt gestellt");
const EMPTY: Text = Text::new(
    "No unanswered questions in the last 30 days.",
    "Keine unbeantworteten Fragen in den letzten 30 Tagen.",
);
const NONE: Text = Text::new("No questions are stored.", "Es sind keine Fragen gespeichert.");
const OFF: Text = Text::new(
    "This server does not collect the questions that no document answers.",
    "Dieser Server sammelt die Fragen nicht, die kein Dokument beantwortet.",
);
