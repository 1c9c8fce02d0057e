//! Content of documents that managers send. It is text: files of other types
//! come through the ingest routes.

use actix_web::HttpResponse;
use actix_web::web::Data;
use pia_knowledge::{ContentDraft, ContentType, DocumentDraft, KnowledgeError};
use pia_web::{Body, Caller, PathId, PathPart};
use serde::Deserialize;
use utoipa::ToSchema;

use super::path::{managed_base, managed_document};
use super::{DocumentSubmission, KnowledgeEnabled};
use crate::{Api, HttpError};

/// Text that becomes a document.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentRequest {
    /// Up to 500 characters.
    #[schema(value_type = String)]
    title: Option<String>,
    /// Identity of the source, of up to 2,000 characters. Text of the same
    /// source replaces the document.
    source_uri: Option<String>,
    /// `text/plain`, which is also the default, or `text/markdown`.
    content_type: Option<String>,
    /// Text of up to 10 MiB in UTF-8.
    #[schema(value_type = String)]
    content: Option<String>,
}

/// New text of a document.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentContentRequest {
    /// Text of up to 10 MiB in UTF-8.
    #[schema(value_type = String)]
    content: Option<String>,
    /// `text/plain` or `text/markdown`; that of the document if omitted.
    content_type: Option<String>,
    /// Up to 500 characters; that of the document if omitted.
    title: Option<String>,
}

/// Stores a text as a document, or replaces that of the same source, and ingests it.
pub(crate) async fn submit(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    id: PathId,
    Body(request): Body<DocumentRequest>,
) -> Result<HttpResponse, HttpError> {
    let base = managed_base(caller, id);
    let by = Some(caller.0.user);
    let submission = api
        .run(|api| async move { api.knowledge.documents.submit(by, base, request.into()).await })
        .await?;
    if !submission.changed {
        return Err(KnowledgeError::Duplicate(submission.document).into());
    }
    Ok(DocumentSubmission::response(submission))
}

/// Replaces the text of a document and ingests it, unless it is unchanged.
pub(crate) async fn replace(
    _: KnowledgeEnabled,
    caller: Caller,
    api: Data<Api>,
    part: PathPart,
    Body(request): Body<DocumentContentRequest>,
) -> Result<HttpResponse, HttpError> {
    let document = managed_document(caller, part);
    let by = Some(caller.0.user);

    let submission = api
        .run(|api| async move {
            let DocumentContentRequest { content, content_type, title } = request;
            let type_name = match content_type {
                Some(name) => name,
                // Text must not become the content of a document of another type.
                None => {
                    api.knowledge.documents.find(document).await?.content_type.name().to_owned()
                }
            };
            let draft = ContentDraft {
                title,
                content_type: Some(text_type(type_name)),
                content: content.map(String::into_bytes),
            };
            api.knowledge.documents.replace(by, document, draft).await
        })
        .await?;
    Ok(DocumentSubmission::response(submission))
}

/// Returns the media type of a text as the domain reads it, which checks it in
/// its turn: that of any other file becomes an unknown one.
fn text_type(name: String) -> String {
    match ContentType::from_name(&name) {
        Some(it) if !it.is_text() => String::new(),
        _ => name,
    }
}

impl From<DocumentRequest> for DocumentDraft {
    fn from(request: DocumentRequest) -> Self {
        Self {
            title: request.title,
            source_uri: request.source_uri,
            content_type: request.content_type.map(text_type),
            content: request.content.map(String::into_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explicit_nulls_are_omitted_values() {
        let text = r#"{"title":null,"sourceUri":null,"contentType":null,"content":"x"}"#;
        let request: DocumentRequest = serde_json::from_str(text).unwrap();

        let expected = DocumentDraft { content: Some(b"x".to_vec()), ..DocumentDraft::default() };
        assert_eq!(DocumentDraft::from(request), expected);
    }

    #[test]
    fn only_types_of_text_reach_the_domain() {
        for it in ContentType::ALL {
            let passed = ContentType::from_name(&text_type(it.name().to_owned()));
            assert_eq!(passed, Some(it).filter(|it| it.is_text()), "{it:?}");
        }
        assert_eq!(text_type("text/plain; charset=utf-8".to_owned()), "text/plain; charset=utf-8");
    }
}
