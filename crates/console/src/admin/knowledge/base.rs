//! Page of a knowledge base: its numbers and documents.
//!
//! `base_view` loads the base, its numbers and one page of documents. While
//! documents are being ingested, both sections are live: the browser fetches them
//! again until all are done. The filter is in the query, so that links keep it.

use pia_kernel::{Page, SortCursor, Timestamp};
use pia_knowledge::{
    BaseRef, BaseStats, Document, DocumentColumn, DocumentFilter, DocumentStatus, ExtractError,
};
use pia_web::{ApiError, PathId, Route};
use uuid::Uuid;

use super::super::bindings::day_cell;
use super::{DOCUMENTS, TITLE, base_ref, find, manager_page, off_section};
use crate::page_context::{PageContext, PageResult};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Row, Search, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![manager_page("/admin/knowledge/{id}", |it| it.to(show))]
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = base_view(&page, id).await?;
    Ok(page.render(view))
}

/// Returns the page of a base.
pub(super) async fn base_view(page: &PageContext, id: Uuid) -> Result<View, ApiError> {
    let entry = find(page, id).await?;
    let base = base_ref(page, id);
    let stats = page.run(|api| async move { api.knowledge.documents.stats(base).await }).await?;
    let documents = find_documents(page, base).await?;
    let path = format!("admin/knowledge/{id}");
    let mut view = View::new(entry.base.name.as_str()).below(page.t(TITLE), "admin/knowledge");
    if page.api.knowledge.is_enabled {
        view = view
            .action(page.t(ADD), format!("{path}/documents/new"))
            .action(page.t(TRY), format!("{path}/search"));
    } else {
        view = view.section(off_section(page));
    }

    let has_documents = document_count(&stats) > 0;
    let table = Table {
        empty: page.t(if has_documents { common::NO_MATCH } else { EMPTY }).to_owned(),
        search: has_documents.then(|| search_form(page, &path)),
        ..document_table(page, &path, &documents)
    };

    let is_ingesting = stats.pending > 0 || stats.processing > 0;
    let overview = Section::new("overview", page.t(OVERVIEW)).facts(base_facts(page, &stats));
    let documents_section = Section::new("documents", page.t(DOCUMENTS)).table(table);

    Ok(view
        .action(page.t(QUESTIONS), format!("{path}/questions"))
        .action(page.t(SETTINGS), format!("{path}/settings"))
        .section(overview.live(is_ingesting))
        .section(documents_section.live(is_ingesting)))
}

/// Finds the requested page of documents.
async fn find_documents(
    page: &PageContext,
    base: BaseRef,
) -> Result<Page<Document, SortCursor>, ApiError> {
    let filter = requested_filter(page);
    let request = page.sorted_paging(filter.sort.is_text())?;
    page.run(|api| async move { api.knowledge.documents.page(base, filter, request).await }).await
}

/// Returns the selection that the query names: documents by title unless it names
/// another order. An unknown state selects all.
fn requested_filter(page: &PageContext) -> DocumentFilter {
    let sort = page.query("sort");
    DocumentFilter {
        search: page.query("search").trim().to_owned(),
        status: DocumentStatus::from_name(&page.query("status")),
        is_descending: sort.starts_with('-'),
        sort: match sort.trim_start_matches('-') {
            "status" => DocumentColumn::Status,
            "size" => DocumentColumn::Size,
            "used" => DocumentColumn::Retrievals,
            "updated" => DocumentColumn::Updated,
            _ => DocumentColumn::Title,
        },
    }
}

fn document_count(stats: &BaseStats) -> i64 {
    stats.pending + stats.processing + stats.ready + stats.failed
}

fn base_facts(page: &PageContext, stats: &BaseStats) -> Vec<(&'static str, Cell)> {
    let number = |it: i64| format::number(page.language, it);
    let bytes = |it: i64| format::bytes(page.language, u64::try_from(it).unwrap_or_default());
    let storage = page.fill(STORAGE_USED, &[&bytes(stats.size_bytes), &bytes(stats.byte_limit)]);

    let mut facts = vec![(
        page.t(DOCUMENTS),
        Cell::text(number(document_count(stats)))
            .detail(page.fill(UP_TO, &[&number(stats.document_limit)])),
    )];

    for (status, count) in [
        (DocumentStatus::Failed, stats.failed),
        (DocumentStatus::Processing, stats.processing),
        (DocumentStatus::Pending, stats.pending),
    ] {
        if count > 0 {
            facts.push((page.t(status_text(status)), Cell::badge(number(count), tone(status))));
        }
    }

    let retrievals = Cell::text(number(stats.retrieval_count));
    facts.extend([
        (page.t(STORAGE), Cell::text(storage)),
        (
            page.t(PASSAGES),
            Cell::text(number(stats.chunk_count))
                .detail(page.fill(TOKENS, &[&number(stats.indexed_tokens)])),
        ),
        (page.t(TOKENS_THIS_MONTH), Cell::text(number(stats.embedding_tokens_this_month))),
        (page.t(RETRIEVALS), retrievals.detail(last_used(page, stats.last_retrieved_at))),
    ]);

    facts
}

fn last_used(page: &PageContext, at: Option<Timestamp>) -> String {
    at.map(|it| page.fill(LAST, &[&format::time(page.language, it)])).unwrap_or_default()
}

fn document_table(page: &PageContext, path: &str, documents: &Page<Document, SortCursor>) -> Table {
    let columns = [DOCUMENT_TITLE, common::STATUS, SIZE, RETRIEVALS, UPDATED];
    Table {
        caption: page.t(DOCUMENTS).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        sort_links: page.sort_links(&["title", "status", "size", "used", "updated"]),
        rows: documents.items.iter().map(|it| document_row(page, path, it)).collect(),
        ..page.paged_sorted(documents.next.as_ref())
    }
}

fn search_form(page: &PageContext, path: &str) -> Search {
    let DocumentFilter { search, status, .. } = requested_filter(page);
    let is_filtered = !search.is_empty() || status.is_some();
    let selected = status.map_or("", DocumentStatus::name);
    let options = DocumentStatus::ALL.map(|it| (it.name(), page.t(status_text(it))));
    let options_and_all = [("", page.t(ALL))].into_iter().chain(options);
    let statuses = Field::select("status", page.t(common::STATUS), options_and_all, selected);
    let text = Field::input("search", page.t(common::SEARCH_LIST), "search", "off", search);
    let fields = [text.optional(), statuses.optional()];
    let reset = Link { label: page.t(common::RESET_FILTERS).to_owned(), path: path.to_owned() };

    Search {
        label: page.t(DOCUMENTS).to_owned(),
        fields: fields.into_iter().chain(page.sort_field()).collect(),
        submit: page.t(common::SEARCH).to_owned(),
        reset: is_filtered.then_some(reset),
    }
}

fn document_row(page: &PageContext, path: &str, document: &Document) -> Row {
    let path = format!("{path}/documents/{}", document.id);
    let size = u64::try_from(document.size_bytes).unwrap_or_default();
    let row = Row::new(vec![
        Cell::link(document.title.as_str(), path.as_str())
            .detail(document.source_uri.as_deref().unwrap_or_default()),
        status_cell(page, document),
        Cell::number(format::bytes(page.language, size)),
        Cell::number(format::number(page.language, document.retrieval_count)),
        day_cell(page, document.updated_at),
    ]);

    if document.status == DocumentStatus::Failed && page.api.knowledge.is_enabled {
        row.form(retry_form(page, &path).about(document.title.as_str()))
    } else {
        row
    }
}

/// Returns the button that ingests a document again.
pub(super) fn retry_form(page: &PageContext, path: &str) -> Form {
    Form::new(format!("{path}/retry"), page.t(RETRY))
}

/// Returns the status of a document with its progress, or the reason of its failure.
pub(super) fn status_cell(page: &PageContext, document: &Document) -> Cell {
    let cell = Cell::badge(page.t(status_text(document.status)), tone(document.status));
    match (document.status, document.progress) {
        (DocumentStatus::Failed, _) => {
            let error = document.error.as_deref();
            match error.and_then(extraction_text) {
                Some(text) => cell.detail(page.t(text)),
                None => cell.quoted(page.t(common::REPORTED), error),
            }
        }
        (DocumentStatus::Processing, Some(progress)) => {
            let embedded = format::number(page.language, progress.embedded);
            let total = format::number(page.language, progress.total);
            cell.detail(page.fill(PROGRESS, &[&embedded, &total]))
        }
        _ => cell,
    }
}

/// Returns the text of an error of extraction, by its stored message; `None` for
/// other errors.
fn extraction_text(message: &str) -> Option<Text> {
    let errors = [
        ExtractError::Damaged,
        ExtractError::Encrypted,
        ExtractError::NoText,
        ExtractError::TooComplex,
        ExtractError::Unavailable,
    ];
    let error = errors.into_iter().find(|it| it.to_string() == message)?;

    Some(match error {
        ExtractError::Damaged => Text::new(
            "The file is damaged, or not of the type that it is declared to be.",
            "Die Datei ist beschädigt oder hat einen anderen Typ als angegeben.",
        ),
        ExtractError::Encrypted => Text::new(
            "The file is protected by a password.",
            "Die Datei ist mit einem Passwort geschützt.",
        ),
        ExtractError::NoText => Text::new(
            "The file has no text. Scanned pages must be recognised (OCR) before they are uploaded.",
            "Die Datei enthält keinen Text. Für gescannte Seiten ist vor dem Hochladen eine \
             Texterkennung (OCR) nötig.",
        ),
        ExtractError::TooComplex => Text::new(
            "The file is too large or too complex to be read.",
            "Die Datei ist zu groß oder zu komplex, um gelesen zu werden.",
        ),
        ExtractError::Unavailable => Text::new(
            "The text could not be extracted at present.",
            "Der Text ließ sich zurzeit nicht auslesen.",
        ),
    })
}

fn status_text(status: DocumentStatus) -> Text {
    match status {
        DocumentStatus::Pending => Text::new("Waiting", "Wartet"),
        DocumentStatus::Processing => Text::new("Processing", "In Verarbeitung"),
        DocumentStatus::Ready => Text::new("Ready", "Bereit"),
        DocumentStatus::Failed => Text::new("Failed", "Fehlgeschlagen"),
    }
}

fn tone(status: DocumentStatus) -> Tone {
    match status {
        DocumentStatus::Pending => Tone::Neutral,
        DocumentStatus::Processing => Tone::Warning,
        DocumentStatus::Ready => Tone::Good,
        DocumentStatus::Failed => Tone::Bad,
    }
}

pub(super) const ADD: Text = Text::new("Add documents", "Dokumente hinzufügen");
const TRY: Text = Text::new("Try a search", "Suche ausprobieren");
const QUESTIONS: Text = Text::new("Unanswered questions", "Unbeantwortete Fragen");
const SETTINGS: Text = Text::new("Settings", "Einstellungen");
const OVERVIEW: Text = Text::new("Overview", "Übersicht");
const STORAGE: Text = Text::new("Storage of the group", "Speicher der Gruppe");
const STORAGE_USED: Text =
    Text::new("This knowledge base: {} · limit: {}", "Diese Wissensdatenbank: {} · Limit: {}");
const UP_TO: Text = Text::new("Limit of the group: {}", "Limit der Gruppe: {}");
const PASSAGES: Text = Text::new("Searchable passages", "Durchsuchbare Abschnitte");
const TOKENS: Text = Text::new("{} tokens", "{} Token");
const TOKENS_THIS_MONTH: Text =
    Text::new("Tokens embedded this month", "Eingebettete Token in diesem Monat");
const RETRIEVALS: Text = Text::new("Used in answers", "In Antworten verwendet");
const LAST: Text = Text::new("Last: {}", "Zuletzt: {}");
const SIZE: Text = Text::new("Size", "Größe");
const UPDATED: Text = Text::new("Updated", "Aktualisiert");
const PROGRESS: Text = Text::new("{} of {} passages", "{} von {} Abschnitten");
const RETRY: Text = Text::new("Try again", "Erneut versuchen");
const DOCUMENT_TITLE: Text = Text::new("Title", "Titel");
const ALL: Text = Text::new("All", "Alle");
const EMPTY: Text = Text::new(
    "There are no documents yet. Add the first one.",
    "Es gibt noch keine Dokumente. Fügen Sie das erste hinzu.",
);

#[cfg(test)]
mod tests {
    use pia_kernel::Language;

    use super::*;

    #[test]
    fn stored_errors_of_extraction_are_translated() {
        for (error, german) in [
            (ExtractError::Damaged, "beschädigt"),
            (ExtractError::Encrypted, "Passwort"),
            (ExtractError::NoText, "Texterkennung"),
            (ExtractError::TooComplex, "zu groß"),
            (ExtractError::Unavailable, "zurzeit"),
        ] {
            let text = extraction_text(&error.to_string()).unwrap();

            assert_eq!(text.of(Language::En), error.to_string());
            assert!(text.of(Language::De).contains(german), "{error}");
        }
        assert_eq!(extraction_text("the provider of the model rejected the request"), None);
    }
}
