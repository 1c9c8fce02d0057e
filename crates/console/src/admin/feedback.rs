//! Reports of users on answers.

use std::collections::HashMap;

use pia_kernel::{FeedbackId, Page, UserId, truncate};
use pia_policy::{FeedbackChange, FeedbackEntry, FeedbackFilter, FeedbackStatus, Rating};
use pia_web::{ApiError, PathId, Route};

use super::bindings::{expected_version, find_emails, time_cell, user_cell, with_version};
use super::person_filter::{PersonFilter, UnknownPerson};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Row, Search, Section, Table, Text, View};

/// Maximum length of a comment in the list, in bytes.
const EXCERPT_BYTES: usize = 160;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/feedback", |it| it.to(list)),
        page("/admin/feedback/{id}", |it| it.to(show)),
        form("/admin/feedback/{id}/triage", |it| it.to(triage)),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let person = PersonFilter::requested(&page).await?;
    let filter = FeedbackFilter {
        status: FeedbackStatus::from_name(&page.query("status")),
        rating: Rating::from_name(&page.query("rating")),
        user: None,
        order: page.time_order(),
    };
    let entries = find_entries(&page, person.user, filter).await?;
    let search = filter_form(&page, person, filter);
    let emails = find_emails(&page, entries.items.iter().map(|it| it.user)).await?;
    let columns = [RECEIVED, COMMENT, RATING, common::STATUS, FROM];
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).into()).into(),
        rows: entries.items.iter().map(|it| entry_row(&page, it, &emails)).collect(),
        empty: page.t(search.empty_text(EMPTY)).to_owned(),
        search: Some(search),
        sort_links: page.time_sort_links(0),
        ..page.paged(entries.next)
    };

    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(Section::new("feedback", "").table(table));

    Ok(page.render(view))
}

/// Finds the requested page of the selected reports of a person, or of all.
async fn find_entries(
    page: &PageContext,
    person: Result<Option<UserId>, UnknownPerson>,
    filter: FeedbackFilter,
) -> Result<Page<FeedbackEntry>, ApiError> {
    let Ok(user) = person else {
        return Ok(Page { items: Vec::new(), next: None });
    };
    let request = page.paging()?;
    let filter = FeedbackFilter { user, ..filter };
    page.run(|api| async move { api.feedback.page(filter, request).await }).await
}

fn filter_form(page: &PageContext, person: PersonFilter, filter: FeedbackFilter) -> Search {
    let any = ("", page.t(ANY));
    let statuses = FeedbackStatus::ALL.map(|it| (it.name(), page.t(status_text(it))));
    let statuses_and_any = [any].into_iter().chain(statuses);
    let status = filter.status.map_or("", FeedbackStatus::name);
    let ratings = Rating::ALL.map(|it| (it.name(), page.t(rating_text(it))));
    let ratings_and_any = [any].into_iter().chain(ratings);
    let rating = filter.rating.map_or("", Rating::name);
    let fields = [
        person.field,
        Field::select("status", page.t(common::STATUS), statuses_and_any, status).optional(),
        Field::select("rating", page.t(RATING), ratings_and_any, rating).optional(),
    ];

    let reset =
        Link { label: page.t(common::RESET_FILTERS).to_owned(), path: "admin/feedback".to_owned() };
    let is_filtered = person.is_set || filter.status.is_some() || filter.rating.is_some();
    Search {
        label: page.t(FILTER).to_owned(),
        fields: fields.into_iter().chain(page.sort_field()).collect(),
        submit: page.t(FILTER).to_owned(),
        reset: is_filtered.then_some(reset),
    }
}

fn status_text(status: FeedbackStatus) -> Text {
    match status {
        FeedbackStatus::New => Text::new("New", "Neu"),
        FeedbackStatus::Triaged => Text::new("Triaged", "In Bearbeitung"),
        FeedbackStatus::Closed => Text::new("Closed", "Erledigt"),
    }
}

fn rating_text(rating: Rating) -> Text {
    match rating {
        Rating::Up => Text::new("Good", "Gut"),
        Rating::Down => Text::new("Bad", "Schlecht"),
    }
}

fn status_cell(page: &PageContext, status: FeedbackStatus) -> Cell {
    let tone = match status {
        FeedbackStatus::New => Tone::Warning,
        FeedbackStatus::Triaged => Tone::Neutral,
        FeedbackStatus::Closed => Tone::Good,
    };
    Cell::badge(page.t(status_text(status)), tone)
}

fn rating_cell(page: &PageContext, rating: Rating) -> Cell {
    let tone = match rating {
        Rating::Up => Tone::Good,
        Rating::Down => Tone::Bad,
    };
    Cell::badge(page.t(rating_text(rating)), tone)
}

fn entry_row(page: &PageContext, entry: &FeedbackEntry, emails: &HashMap<UserId, String>) -> Row {
    let comment = entry.report.comment.as_deref().unwrap_or_else(|| page.t(NO_COMMENT));
    let excerpt = Cell::text(truncate(comment, EXCERPT_BYTES));
    let received = time_cell(page, entry.received_at);
    let path = format!("admin/feedback/{}", entry.id);
    Row::new(vec![
        Cell::link(received.text, path),
        excerpt.detail(if entry.report.privacy_concern { page.t(PRIVACY) } else { "" }),
        rating_cell(page, entry.report.rating),
        status_cell(page, entry.status),
        user_cell(page, entry.user, emails),
    ])
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = report_view(&page, FeedbackId(id), None).await?;
    Ok(page.render(view))
}

async fn triage(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let by = page.user();
    let id = FeedbackId(id);
    let change = FeedbackChange {
        status: FeedbackStatus::from_name(form.text("status")),
        note: Some(form.text("note").to_owned()),
    };
    let expected = expected_version(&form);
    match page.run(|api| async move { api.feedback.triage(by, id, change, expected).await }).await {
        Ok(_) => page.done(&format!("admin/feedback/{id}"), "saved"),
        Err(err) => page.refuse(report_view(&page, id, Some(&form)).await?, err),
    }
}

/// Returns the page of a report, with what was typed into its form, if that was
/// refused.
async fn report_view(
    page: &PageContext,
    id: FeedbackId,
    typed: Option<&FormFields>,
) -> Result<View, ApiError> {
    let entry = page.run(|api| async move { api.feedback.find(id).await }).await?;
    let emails = find_emails(page, [entry.user].into_iter()).await?;
    let mut view = View::new(page.t(REPORT))
        .below(page.t(TITLE), "admin/feedback")
        .section(facts_section(page, &entry, &emails));

    if let Some(answer) = &entry.report.answer_text {
        let section = Section::new("answer", page.t(ANSWER)).intro(page.t(ANSWER_HINT));
        view = view.section(section.code(answer));
    }

    if !entry.report.extension.is_empty() {
        let fields = entry
            .report
            .extension
            .iter()
            .map(|(name, value)| (name.as_str(), Cell::text(value.to_string())));
        view = view.section(Section::new("other", page.t(OTHER_FIELDS)).facts(fields));
    }

    Ok(view.section(triage_section(page, &entry, typed)))
}

/// Returns the section with the form of a report, as typed or else as stored.
fn triage_section(
    page: &PageContext,
    entry: &FeedbackEntry,
    typed: Option<&FormFields>,
) -> Section {
    let (status, note) = match typed {
        Some(form) => (form.text("status"), form.text("note")),
        None => (entry.status.name(), entry.note.as_deref().unwrap_or_default()),
    };
    let version = typed.and_then(expected_version).unwrap_or(entry.updated_at);
    let statuses = FeedbackStatus::ALL.map(|it| (it.name(), page.t(status_text(it))));
    let form = Form::new(format!("admin/feedback/{}/triage", entry.id), page.t(common::SAVE))
        .field(Field::select("status", page.t(common::STATUS), statuses, status))
        .field(Field::lines("note", page.t(NOTE), note).hint(page.t(NOTE_HINT)).optional());
    Section::new("triage", page.t(TRIAGE)).form(with_version(form, Some(version)))
}

fn facts_section(
    page: &PageContext,
    entry: &FeedbackEntry,
    emails: &HashMap<UserId, String>,
) -> Section {
    let report = &entry.report;
    let text = |value: &Option<String>| Cell::text(value.clone().unwrap_or_default());
    let yes_no = |flag: bool| Cell::text(page.t(if flag { common::YES } else { common::NO }));
    let facts = [
        (RATING, rating_cell(page, report.rating)),
        (common::STATUS, status_cell(page, entry.status)),
        (PRIVACY, yes_no(report.privacy_concern)),
        (TOKENIZED, yes_no(report.pii_tokenized)),
        (FROM, user_cell(page, entry.user, emails)),
        (RECEIVED, time_cell(page, entry.received_at)),
        (ANSWERED, time_cell(page, report.answered_at)),
        (MODEL, text(&report.model)),
        (APP, text(&report.app_version)),
        (LOCALE, text(&report.locale)),
    ]
    .map(|(label, value)| (page.t(label), value));
    let section = Section::new("report", "").facts(facts);

    match &report.comment {
        Some(comment) => section.code(comment),
        None => section.paragraph(page.t(NO_COMMENT)),
    }
}

const TITLE: Text = Text::new("Feedback", "Rückmeldungen");
const INTRO: Text = Text::new(
    "What members report about answers of the assistant.",
    "Was Mitglieder zu Antworten des Assistenten melden.",
);
const EMPTY: Text = Text::new(
    "No feedback yet. Members rate answers in their apps.",
    "Noch keine Rückmeldungen. Mitglieder bewerten Antworten in ihren Apps.",
);
const REPORT: Text = Text::new("Report on an answer", "Rückmeldung zu einer Antwort");
const RECEIVED: Text = Text::new("Received", "Eingegangen");
const FROM: Text = Text::new("From", "Von");
const RATING: Text = Text::new("Rating", "Bewertung");
const COMMENT: Text = Text::new("Comment", "Kommentar");
const NO_COMMENT: Text = Text::new("No comment", "Kein Kommentar");
const ANSWER: Text = Text::new("Answer", "Antwort");
const ANSWER_HINT: Text = Text::new(
    "The member attached the text of the answer. It is deleted earlier than the report.",
    "Das Mitglied hat den Text der Antwort beigefügt. Er wird früher gelöscht als die Rückmeldung.",
);
const OTHER_FIELDS: Text = Text::new("Other fields", "Weitere Angaben");
const PRIVACY: Text = Text::new("Privacy concern", "Datenschutzbedenken");
const TOKENIZED: Text = Text::new("Personal data replaced", "Personenbezogene Daten ersetzt");
const MODEL: Text = Text::new("Model", "Modell");
const ANSWERED: Text = Text::new("Answered", "Beantwortet");
const APP: Text = Text::new("App version", "App-Version");
const LOCALE: Text = Text::new("Language", "Sprache");
const TRIAGE: Text = Text::new("Triage", "Bearbeitung");
const NOTE: Text = Text::new("Note", "Notiz");
const NOTE_HINT: Text = Text::new(
    "For administrators, at most 4,000 characters.",
    "Für Administratoren, höchstens 4.000 Zeichen.",
);
const ANY: Text = Text::new("All", "Alle");
const FILTER: Text = Text::new("Filter", "Filtern");
