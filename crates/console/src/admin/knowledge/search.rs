//! Trial of the search that chats make in a knowledge base.

use pia_knowledge::{EmbedError, Passage, Question, RetrievalError};
use pia_web::{ApiError, PathId, Route};
use uuid::Uuid;

use super::{below_base, find, manager_form, manager_page, off_section};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::texts::common;
use crate::texts::field_errors::field_error;
use crate::ui::table::Tone;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    const PATH: &str = "/admin/knowledge/{id}/search";
    vec![manager_page(PATH, |it| it.to(show)), manager_form(PATH, |it| it.to(search))]
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = search_view(&page, id, "").await?;
    Ok(page.render(view))
}

async fn search(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let text = form.text("question").to_owned();
    let view = search_view(&page, id, &text).await?;
    let Some(retrieval) = page.api.knowledge.retrieval.clone() else {
        return Ok(page.render(view));
    };
    if text.is_empty() {
        return page.refuse(view, field_error(page.language, "question", common::FILL_IN));
    }

    // The caller manages the base: otherwise `search_view` has failed.
    let question = Question { bases: vec![pia_kernel::KnowledgeBaseId(id)], text };

    let result = page
        .run(|_| async move {
            match retrieval.search(question).await {
                Ok(passages) => Ok(Ok(passages)),
                // The page displays its cause.
                Err(RetrievalError::Embedding(err)) => Ok(Err(err)),
                Err(RetrievalError::Unavailable(err)) => Err(err),
            }
        })
        .await?;

    Ok(match result {
        Ok(passages) => {
            let table = passage_table(&page, id, &passages);
            page.render(view.section(Section::new("passages", page.t(PASSAGES)).table(table)))
        }
        Err(err) => {
            let facts = [(page.t(CAUSE), cause_cell(&page, &err))];
            page.render(view.error(page.t(FAILED)).section(Section::new("cause", "").facts(facts)))
        }
    })
}

fn cause_cell(page: &PageContext, err: &EmbedError) -> Cell {
    let (text, reason) = match err {
        EmbedError::Unavailable { reason, .. } => (MODEL_UNAVAILABLE, reason),
        EmbedError::Rejected(reason) => (QUESTION_REFUSED, reason),
    };
    Cell::badge(page.t(text), Tone::Bad).quoted(page.t(common::REPORTED), Some(reason.as_str()))
}

async fn search_view(page: &PageContext, id: Uuid, question: &str) -> Result<View, ApiError> {
    let entry = find(page, id).await?;
    let view = below_base(page, &entry, TITLE);
    if page.api.knowledge.retrieval.is_none() {
        return Ok(view.section(off_section(page)));
    }
    let form = Form::new(format!("admin/knowledge/{id}/search"), page.t(common::SEARCH))
        .field(Field::text("question", page.t(QUESTION), question));
    Ok(view.intro(page.t(INTRO)).section(Section::new("search", "").form(form)))
}

fn passage_table(page: &PageContext, id: Uuid, passages: &[Passage]) -> Table {
    let rows = passages.iter().map(|it| {
        let path = format!("admin/knowledge/{id}/documents/{}", it.document);
        Row::new(vec![
            Cell::number(format::decimal(page.language, it.similarity)),
            Cell::link(it.title.as_str(), path).detail(it.path.as_str()),
            Cell::text(it.text.as_str()),
        ])
    });

    Table {
        caption: page.t(PASSAGES).to_owned(),
        columns: [SIMILARITY, DOCUMENT, PASSAGE].map(|it| page.t(it).to_owned()).into(),
        rows: rows.collect(),
        empty: page.t(NOTHING).to_owned(),
        ..Table::default()
    }
}

const TITLE: Text = Text::new("Try a search", "Suche ausprobieren");
const INTRO: Text = Text::new(
    "Ask what a member would ask. You see the passages that a model would read, best first.",
    "Fragen Sie, was ein Mitglied fragen würde. Sie sehen die Abschnitte, die ein Modell lesen \
     würde, die besten zuerst.",
);
const QUESTION: Text = Text::new("Question", "Frage");
const PASSAGES: Text = Text::new("Passages", "Abschnitte");
const PASSAGE: Text = Text::new("Passage", "Abschnitt");
const DOCUMENT: Text = Text::new("Document", "Dokument");
const SIMILARITY: Text = Text::new("Similarity", "Ähnlichkeit");
const NOTHING: Text = Text::new(
    "No passage is relevant enough. Add a document that answers the question, or word it as your \
     documents do.",
    "Kein Abschnitt ist relevant genug. Fügen Sie ein Dokument hinzu, das die Frage beantwortet, \
     oder formulieren Sie sie wie in Ihren Dokumenten.",
);
const FAILED: Text = Text::new("The search failed.", "Die Suche ist fehlgeschlagen.");
const CAUSE: Text = Text::new("Cause", "Ursache");
const MODEL_UNAVAILABLE: Text = Text::new(
    "The provider of the model is unavailable",
    "Der Anbieter des Modells ist nicht verfügbar",
);
const QUESTION_REFUSED: Text = Text::new(
    "The provider of the model refused the question",
    "Der Anbieter des Modells hat die Frage abgelehnt",
);
