//! Documents of a knowledge base: adding, showing, retrying and deleting them.
//!
//! A document comes from an uploaded file or a pasted text. Both forms have body
//! limits of their own, store the document by `submit`, and lead to its page. The
//! ingestion follows in the background.

use pia_kernel::{DocumentId, Timestamp};
use pia_knowledge::{ContentType, Document, DocumentDraft, DocumentRef, DocumentStatus};
use pia_web::{ApiError, PathId, PathPart, Route};
use uuid::Uuid;

use super::base::{ADD, retry_form, status_cell};
use super::{base_ref, below_base, find, manager_form, manager_page};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::texts::common;
use crate::texts::field_errors::field_error;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Section, Text, View, format};
use crate::upload::{UploadForm, UploadedFile};

/// Body limit of a form with a document.
const DOCUMENT_BODY: usize = pia_knowledge::MAX_CONTENT_BYTES + 64 * 1024;
/// Body limit of a form with a text. Encoding the form may triple its size.
const TEXT_BODY: usize = 3 * pia_knowledge::MAX_CONTENT_BYTES;
/// Files that the dialogue of the browser offers.
const ACCEPT: &str = ".pdf,.docx,.pptx,.xlsx,.html,.htm,.csv,.eml,.md,.markdown,.txt";
/// Types of files by the extensions of their names.
const EXTENSIONS: &[(&str, ContentType)] = &[
    ("txt", ContentType::Text),
    ("md", ContentType::Markdown),
    ("markdown", ContentType::Markdown),
    ("html", ContentType::Html),
    ("htm", ContentType::Html),
    ("csv", ContentType::Csv),
    ("eml", ContentType::Email),
    ("pdf", ContentType::Pdf),
    ("docx", ContentType::Docx),
    ("pptx", ContentType::Pptx),
    ("xlsx", ContentType::Xlsx),
];

pub(super) fn routes() -> Vec<Route> {
    vec![
        manager_page("/admin/knowledge/{id}/documents/new", |it| it.to(new)),
        Route {
            body_limit: DOCUMENT_BODY,
            ..manager_form("/admin/knowledge/{id}/documents/upload", |it| it.to(upload))
        },
        Route {
            body_limit: TEXT_BODY,
            ..manager_form("/admin/knowledge/{id}/documents/paste", |it| it.to(paste))
        },
        manager_page("/admin/knowledge/{id}/documents/{document}", |it| it.to(show)),
        manager_page("/admin/knowledge/{id}/documents/{document}/file", |it| it.to(file)),
        manager_form("/admin/knowledge/{id}/documents/{document}/retry", |it| it.to(retry)),
        manager_form("/admin/knowledge/{id}/documents/{document}/delete", |it| it.to(delete)),
    ]
}

async fn new(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = new_view(&page, id, &FormFields::from_pairs(Vec::new())).await?;
    Ok(page.render(view))
}

async fn upload(page: PageContext, PathId(id): PathId, form: UploadForm) -> PageResult {
    let Some(file) = form.file("file") else {
        let view = new_view(&page, id, &form.fields).await?;
        return page.refuse(view, field_error(page.language, "file", common::CHOOSE_FILE));
    };

    let draft = DocumentDraft {
        title: form.fields.some("title").or_else(|| Some(title_of(&file.name))),
        source_uri: form.fields.some("sourceUri"),
        content_type: Some(media_type(file)),
        content: Some(file.content.to_vec()),
    };

    submit(&page, id, draft, &form.fields).await
}

async fn paste(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let draft = DocumentDraft {
        title: form.some("title"),
        source_uri: form.some("sourceUri"),
        content_type: form.some("contentType"),
        content: form.some("content").map(String::into_bytes),
    };
    submit(&page, id, draft, &form).await
}

async fn submit(
    page: &PageContext,
    id: Uuid,
    draft: DocumentDraft,
    form: &FormFields,
) -> PageResult {
    page.api.knowledge.check_enabled()?;
    let base = base_ref(page, id);
    let by = Some(page.user());
    let result =
        page.run(|api| async move { api.knowledge.documents.submit(by, base, draft).await }).await;
    match result {
        Ok(submitted) => {
            let path = format!("admin/knowledge/{id}/documents/{}", submitted.document);
            page.done(&path, if submitted.changed { "queued" } else { "saved" })
        }
        Err(err) => page.refuse(new_view(page, id, form).await?, err),
    }
}

async fn show(page: PageContext, PathPart { id, part }: PathPart) -> PageResult {
    let view = document_view(&page, id, part).await?;
    Ok(page.render(view))
}

async fn file(page: PageContext, PathPart { id, part }: PathPart) -> PageResult {
    let document = document_ref(&page, id, part);
    let content =
        page.run(|api| async move { api.knowledge.documents.content(document).await }).await?;
    Ok(pia_http::document_file(content))
}

async fn retry(page: PageContext, PathPart { id, part }: PathPart, _: FormFields) -> PageResult {
    page.api.knowledge.check_enabled()?;
    let document = document_ref(&page, id, part);
    let by = Some(page.user());
    match page.run(|api| async move { api.knowledge.documents.retry(by, document).await }).await {
        Ok(()) => page.done(&format!("admin/knowledge/{id}"), "queued"),
        Err(err) => page.refuse(document_view(&page, id, part).await?, err),
    }
}

async fn delete(page: PageContext, PathPart { id, part }: PathPart, _: ProvedForm) -> PageResult {
    let document = document_ref(&page, id, part);
    let by = Some(page.user());
    match page.run(|api| async move { api.knowledge.documents.delete(by, document).await }).await {
        Ok(()) => page.done(&format!("admin/knowledge/{id}"), "deleted"),
        Err(err) => page.refuse(document_view(&page, id, part).await?, err),
    }
}

fn document_ref(page: &PageContext, id: Uuid, part: Uuid) -> DocumentRef {
    DocumentRef { base: base_ref(page, id), document: DocumentId(part) }
}

async fn new_view(page: &PageContext, id: Uuid, form: &FormFields) -> Result<View, ApiError> {
    let entry = find(page, id).await?;
    let path = format!("admin/knowledge/{id}/documents");
    Ok(below_base(page, &entry, ADD)
        .section(Section::new("upload", page.t(UPLOAD)).form(upload_form(page, &path, form)))
        .section(Section::new("paste", page.t(PASTE)).form(paste_form(page, &path, form))))
}

fn upload_form(page: &PageContext, path: &str, form: &FormFields) -> Form {
    let file = Field::file("file", page.t(FILE), ACCEPT).hint(page.t(UPLOAD_HINT));
    Form::new(format!("{path}/upload"), page.t(UPLOAD))
        .field(file)
        .field(title_field(page, form).hint(page.t(TITLE_HINT)).optional())
        .field(source_field(page, form))
        .with_files()
}

fn paste_form(page: &PageContext, path: &str, form: &FormFields) -> Form {
    let formats = [(ContentType::Text, PLAIN), (ContentType::Markdown, MARKDOWN)]
        .map(|(content_type, text)| (content_type.name(), page.t(text)));
    Form::new(format!("{path}/paste"), page.t(ADD_DOCUMENT))
        .field(title_field(page, form))
        .field(Field::select("contentType", page.t(IS_MARKDOWN), formats, form.text("contentType")))
        .field(Field::lines("content", page.t(CONTENT), form.text("content")))
        .field(source_field(page, form))
}

fn title_field(page: &PageContext, form: &FormFields) -> Field {
    Field::text("title", page.t(DOCUMENT_TITLE), form.text("title"))
}

fn source_field(page: &PageContext, form: &FormFields) -> Field {
    Field::text("sourceUri", page.t(SOURCE), form.text("sourceUri"))
        .hint(page.t(SOURCE_HINT))
        .optional()
}

async fn document_view(page: &PageContext, id: Uuid, part: Uuid) -> Result<View, ApiError> {
    let entry = find(page, id).await?;
    let reference = document_ref(page, id, part);
    let document =
        page.run(|api| async move { api.knowledge.documents.find(reference).await }).await?;
    let path = format!("admin/knowledge/{id}/documents/{part}");
    let details = details_section(page, &document, &path);
    let delete = Form::new(format!("{path}/delete"), page.t(DELETE_DOCUMENT)).danger();
    let delete_section =
        Section::new("delete", page.t(DELETE_DOCUMENT)).intro(page.t(DELETE_HINT)).form(delete);

    let view = View { title: document.title, ..below_base(page, &entry, DOCUMENT_TITLE) };
    Ok(view.section(details).section(delete_section))
}

fn details_section(page: &PageContext, document: &Document, path: &str) -> Section {
    let number = |it: i64| Cell::text(format::number(page.language, it));
    let time = |at: Timestamp| Cell::text(format::time(page.language, at));
    let size = u64::try_from(document.size_bytes).unwrap_or_default();
    let facts = [
        (page.t(common::STATUS), status_cell(page, document)),
        (page.t(SOURCE), Cell::text(document.source_uri.as_deref().unwrap_or_default())),
        (page.t(TYPE), Cell::text(document.content_type.name())),
        (page.t(SIZE), Cell::text(format::bytes(page.language, size))),
        (page.t(PASSAGES), number(document.chunk_count)),
        (page.t(RETRIEVALS), number(document.retrieval_count)),
        (page.t(common::CREATED), time(document.created_at)),
        (page.t(UPDATED), time(document.updated_at)),
    ];

    let file = Link { label: page.t(OPEN).to_owned(), path: format!("{path}/file") };
    let is_ingesting =
        matches!(document.status, DocumentStatus::Pending | DocumentStatus::Processing);
    let section = Section::new("document", "").facts(facts).links(vec![file]).live(is_ingesting);
    if document.status != DocumentStatus::Failed || !page.api.knowledge.is_enabled {
        return section;
    }

    section.form(retry_form(page, path))
}

/// Returns the media type of a file. Browsers know few of the types, so the
/// extension decides; the type that the browser reports is the fallback.
fn media_type(file: &UploadedFile) -> String {
    let extension = file.name.rsplit_once('.').map_or("", |it| it.1);
    let by_name = EXTENSIONS.iter().find(|it| it.0.eq_ignore_ascii_case(extension));
    by_name.map_or_else(|| file.content_type.clone(), |it| it.1.name().to_owned())
}

/// Returns the title of a file that was sent without one: its name without the
/// extension.
fn title_of(name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |it| it.0);
    if stem.is_empty() { name.to_owned() } else { stem.to_owned() }
}

const UPLOAD: Text = Text::new("Upload file", "Datei hochladen");
const UPLOAD_HINT: Text = Text::new(
    "PDF, Word, PowerPoint, Excel, HTML, CSV, email (.eml), Markdown or plain text, up to 10 MiB.",
    "PDF, Word, PowerPoint, Excel, HTML, CSV, E-Mail (.eml), Markdown oder reiner Text, bis \
     10 MiB.",
);
const FILE: Text = Text::new("File", "Datei");
const PASTE: Text = Text::new("Paste text", "Text einfügen");
const ADD_DOCUMENT: Text = Text::new("Add document", "Dokument hinzufügen");
const CONTENT: Text = Text::new("Text", "Text");
const IS_MARKDOWN: Text = Text::new("Format", "Format");
const PLAIN: Text = Text::new("Plain text", "Reiner Text");
const MARKDOWN: Text = Text::new("Markdown", "Markdown");
const DOCUMENT_TITLE: Text = Text::new("Title", "Titel");
const TITLE_HINT: Text = Text::new(
    "If empty, the name of the file is used.",
    "Ohne Angabe wird der Name der Datei verwendet.",
);
const SOURCE: Text = Text::new("Source", "Quelle");
const SOURCE_HINT: Text = Text::new(
    "Such as a web address. A later document from the same source replaces this one.",
    "Zum Beispiel eine Webadresse. Ein späteres Dokument aus derselben Quelle ersetzt dieses.",
);
const TYPE: Text = Text::new("Type", "Typ");
const SIZE: Text = Text::new("Size", "Größe");
const OPEN: Text = Text::new("Open file", "Datei öffnen");
const UPDATED: Text = Text::new("Updated", "Aktualisiert");
const PASSAGES: Text = Text::new("Searchable passages", "Durchsuchbare Abschnitte");
const RETRIEVALS: Text = Text::new("Used in answers", "In Antworten verwendet");
const DELETE_DOCUMENT: Text = Text::new("Delete document", "Dokument löschen");
const DELETE_HINT: Text = Text::new(
    "Searches no longer find it, and links in earlier answers stop working. This can’t be undone.",
    "Suchen finden es nicht mehr, und Verweise in früheren Antworten führen ins Leere. Das lässt \
     sich nicht rückgängig machen.",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_document_is_recognised_by_a_name_that_the_dialogue_offers() {
        for content_type in ContentType::ALL {
            let entry = EXTENSIONS.iter().find(|(_, named)| *named == content_type);
            let (extension, _) = entry.unwrap_or_else(|| panic!("{content_type:?}"));

            let is_offered = ACCEPT.split(',').any(|it| it.strip_prefix('.') == Some(extension));
            assert!(is_offered, "{extension}");
        }
    }

    #[test]
    fn a_title_is_the_name_of_the_file_without_its_extension() {
        assert_eq!(title_of("Travel policy.v2.pdf"), "Travel policy.v2");
        assert_eq!(title_of(".env"), ".env");
    }
}
