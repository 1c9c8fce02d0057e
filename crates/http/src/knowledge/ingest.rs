//! `/api/kb/{kbId}/documents`: documents that programs store with the service
//! key, in bases of any group.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Json};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pia_knowledge::{ContentType, DocumentDraft};
use pia_web::{ApiError, Body, FieldError, PathId, PathPart};
use serde::Deserialize;
use utoipa::ToSchema;

use super::path::{any_base, any_document};
use super::{DocumentSubmission, KnowledgeDocument, KnowledgeEnabled};
use crate::{Api, HttpError};

/// Lists the documents of a knowledge base of any group, by title.
pub(crate) async fn ingested_documents(
    _: KnowledgeEnabled,
    api: Data<Api>,
    id: PathId,
) -> Result<Json<Vec<KnowledgeDocument>>, HttpError> {
    let list =
        api.run(|api| async move { api.knowledge.documents.list(any_base(id)).await }).await?;
    Ok(Json(list.into_iter().map(Into::into).collect()))
}

/// Returns a document with the state of its ingestion.
pub(crate) async fn ingested_document(
    _: KnowledgeEnabled,
    api: Data<Api>,
    part: PathPart,
) -> Result<Json<KnowledgeDocument>, HttpError> {
    let document = api
        .run(|api| async move { api.knowledge.documents.find(any_document(part)).await })
        .await?;
    Ok(Json(document.into()))
}

/// Stores a file as a document, or replaces that of the same source, and ingests it.
pub(crate) async fn ingest(
    _: KnowledgeEnabled,
    api: Data<Api>,
    id: PathId,
    Body(request): Body<IngestRequest>,
) -> Result<HttpResponse, HttpError> {
    let draft = request.into_draft()?;
    let submission = api
        .run(|api| async move { api.knowledge.documents.submit(None, any_base(id), draft).await })
        .await?;
    Ok(DocumentSubmission::response(submission))
}

/// Deletes a document with its chunks.
pub(crate) async fn delete_ingested(
    _: KnowledgeEnabled,
    api: Data<Api>,
    part: PathPart,
) -> Result<HttpResponse, HttpError> {
    api.run(|api| async move { api.knowledge.documents.delete(None, any_document(part)).await })
        .await?;
    Ok(HttpResponse::NoContent().finish())
}

/// File that becomes a document: either `content` or `contentBase64`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IngestRequest {
    /// Up to 500 characters.
    #[schema(value_type = String)]
    title: Option<String>,
    /// Identity of the source, of up to 2,000 characters. A file of the same
    /// source replaces the document.
    source_uri: Option<String>,
    /// `text/plain`, which is also the default, `text/markdown`, `text/html`,
    /// `text/csv`, `message/rfc822`, or the type of a PDF, Word, `PowerPoint`
    /// or Excel file.
    content_type: Option<String>,
    /// Text of up to 10 MiB in UTF-8.
    content: Option<String>,
    /// File of up to 10 MiB in Base64. Required for PDF and Office files.
    content_base64: Option<String>,
}

impl IngestRequest {
    /// Decodes the file. If there is none, the domain refuses the draft.
    fn into_draft(self) -> Result<DocumentDraft, ApiError> {
        let content = match (self.content, self.content_base64) {
            (Some(_), Some(_)) => return Err(invalid_file("Send the file only once.")),
            (Some(text), None) => {
                let named = self.content_type.as_deref().and_then(ContentType::from_name);
                if named.is_some_and(is_binary) {
                    return Err(invalid_file("Send files of this type in Base64."));
                }
                Some(text.into_bytes())
            }
            (None, Some(encoded)) => Some(decode(&encoded)?),
            (None, None) => None,
        };

        Ok(DocumentDraft {
            title: self.title,
            source_uri: self.source_uri,
            content_type: self.content_type,
            content,
        })
    }
}

fn decode(encoded: &str) -> Result<Vec<u8>, ApiError> {
    STANDARD.decode(encoded).map_err(|_reason| {
        let message = "`contentBase64` is not Base64.";
        ApiError::refused(StatusCode::BAD_REQUEST, "invalid_base64", message)
    })
}

fn is_binary(content_type: ContentType) -> bool {
    match content_type {
        ContentType::Pdf | ContentType::Docx | ContentType::Pptx | ContentType::Xlsx => true,
        ContentType::Text
        | ContentType::Markdown
        | ContentType::Html
        | ContentType::Csv
        | ContentType::Email => false,
    }
}

fn invalid_file(message: &str) -> ApiError {
    let field = "contentBase64".to_owned();
    let message = message.to_owned();
    ApiError::invalid(vec![FieldError { field, code: "invalid", message }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(content: Option<&str>, content_base64: Option<&str>) -> IngestRequest {
        IngestRequest {
            content: content.map(str::to_owned),
            content_base64: content_base64.map(str::to_owned),
            ..IngestRequest::default()
        }
    }

    fn code(request: IngestRequest) -> &'static str {
        request.into_draft().unwrap_err().code_and_message().0
    }

    #[test]
    fn a_file_is_text_or_base64() {
        let text = request(Some("hello"), None).into_draft().unwrap();
        let encoded = request(None, Some("aGVsbG8=")).into_draft().unwrap();

        assert_eq!(text.content.as_deref(), Some(&b"hello"[..]));
        assert_eq!(encoded, text);
        assert_eq!(request(None, None).into_draft().unwrap().content, None);
    }

    #[test]
    fn a_file_in_both_forms_or_in_neither_encoding_is_refused() {
        assert_eq!(code(request(Some("hello"), Some("aGVsbG8="))), "validation_failed");
        assert_eq!(code(request(None, Some("hello!"))), "invalid_base64");
    }

    #[test]
    fn binary_files_need_base64() {
        for it in ContentType::ALL {
            let content_type = Some(it.name().to_owned());
            let request = IngestRequest { content_type, ..request(Some("hello"), None) };

            assert_eq!(request.into_draft().is_err(), is_binary(it), "{it:?}");
        }
    }
}
