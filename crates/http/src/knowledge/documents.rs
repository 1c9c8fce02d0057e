//! `/api/kb-manager/knowledge-bases/{kbId}/documents`: documents of a base.

use actix_web::HttpResponse;
use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::web::{Data, Json};
use pia_kernel::DocumentId;
use pia_knowledge::{ContentType, DocumentContent, DocumentStatus, Submission};
use pia_web::{Caller, PathId, PathPart};

use super::path::{managed_base, managed_document};
use super::{DocumentSubmission, KnowledgeDocument, KnowledgeEnabled};
use crate::{Api, HttpError};

/// Lists the documents of a knowledge base, by title.
pub(crate) async fn documents(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    id: PathId,
) -> Result<Json<Vec<KnowledgeDocument>>, HttpError> {
    let base = managed_base(caller, id);
    let list = api.run(|api| async move { api.knowledge.documents.list(base).await }).await?;
    Ok(Json(list.into_iter().map(Into::into).collect()))
}

/// Returns the file of a document, with its own media type.
pub(crate) async fn content(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    part: PathPart,
) -> Result<HttpResponse, HttpError> {
    let document = managed_document(caller, part);
    let content =
        api.run(|api| async move { api.knowledge.documents.content(document).await }).await?;
    Ok(document_file(content))
}

/// Serves a document that was cited to the caller.
pub(crate) async fn cited(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<HttpResponse, HttpError> {
    let group = caller.0.group;
    let document = api
        .run(|api| async move { api.knowledge.documents.read(group, DocumentId(id)).await })
        .await?;
    Ok(document_file(document.file))
}

/// Deletes a document; searches don't find it any more.
pub(crate) async fn delete(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    part: PathPart,
) -> Result<HttpResponse, HttpError> {
    let document = managed_document(caller, part);
    let by = Some(caller.0.user);
    api.run(|api| async move { api.knowledge.documents.delete(by, document).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Ingests a failed document again.
pub(crate) async fn retry(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    part: PathPart,
) -> Result<HttpResponse, HttpError> {
    let document = managed_document(caller, part);
    let by = Some(caller.0.user);
    api.run(|api| async move { api.knowledge.documents.retry(by, document).await }).await?;
    Ok(DocumentSubmission::response(Submission {
        document: document.document,
        status: DocumentStatus::Pending,
        changed: true,
    }))
}

/// Returns a text to be displayed, and any other file as an attachment: a page
/// among the documents must not run in the origin of this server.
pub fn document_file(content: DocumentContent) -> HttpResponse {
    let name = content.content_type.name();
    let content_type = if content.content_type.is_text() {
        format!("{name}; charset=utf-8")
    } else {
        name.to_owned()
    };
    let disposition = match content.content_type {
        ContentType::Text | ContentType::Markdown => "inline",
        ContentType::Html => "attachment; filename=\"document.html\"",
        ContentType::Csv => "attachment; filename=\"document.csv\"",
        ContentType::Email => "attachment; filename=\"document.eml\"",
        ContentType::Pdf => "attachment; filename=\"document.pdf\"",
        ContentType::Docx => "attachment; filename=\"document.docx\"",
        ContentType::Pptx => "attachment; filename=\"document.pptx\"",
        ContentType::Xlsx => "attachment; filename=\"document.xlsx\"",
    };
    HttpResponse::Ok()
        .content_type(content_type)
        .insert_header((CONTENT_DISPOSITION, disposition))
        .body(content.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::CONTENT_TYPE;

    #[test]
    fn a_text_is_displayed_and_another_file_is_an_attachment() {
        for (content_type, expected, disposition) in [
            (ContentType::Text, "text/plain; charset=utf-8", "inline"),
            (ContentType::Markdown, "text/markdown; charset=utf-8", "inline"),
            (ContentType::Html, "text/html", "attachment; filename=\"document.html\""),
            (ContentType::Pdf, "application/pdf", "attachment; filename=\"document.pdf\""),
        ] {
            let response = document_file(DocumentContent { content_type, bytes: b"x".to_vec() });

            let header = |name| response.headers().get(name).unwrap();
            assert_eq!(header(CONTENT_TYPE), expected);
            assert_eq!(header(CONTENT_DISPOSITION), disposition);
        }
    }
}
