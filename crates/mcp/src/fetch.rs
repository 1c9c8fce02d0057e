//! Tool that returns the text of a document.
//!
//! A text file is returned as it was stored. Of another file, the chunks are joined
//! (`Retrieval::text`), so it has no text before it is ingested.

use pia_kernel::{DocumentId, GroupId};
use pia_knowledge::{CitedDocument, DocumentContent, document_url};
use pia_web::ApiError;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::mcp::Mcp;
use crate::refusals::{document_error, no_such_document, no_text};

/// Maximum length of a text, in bytes: a longer one exceeds the context of any
/// model.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct FetchArguments {
    /// Id of the document, from a result of `search`.
    id: String,
}

/// Result of the tool.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct FetchedDocument {
    /// Id of the document.
    id: String,
    /// Title of the document.
    title: String,
    /// Text of the document; of a file that is no text, what was extracted.
    text: String,
    /// Link to the document, to be cited.
    url: String,
    /// Further properties.
    metadata: DocumentMetadata,
}

/// Further properties of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(crate = "rmcp::schemars")]
struct DocumentMetadata {
    /// Media type of the document.
    content_type: String,
    /// True if the text was cut because the document is too long.
    truncated: bool,
}

/// Returns the text of a document for a member of this group.
pub(crate) async fn fetch(
    mcp: &Mcp,
    group: GroupId,
    FetchArguments { id }: FetchArguments,
) -> Result<FetchedDocument, ApiError> {
    let retrieval = mcp.enabled_retrieval()?;
    let id = Uuid::try_parse(id.trim()).map(DocumentId).map_err(|_reason| no_such_document())?;
    let documents = mcp.documents.clone();
    let (title, source_uri, content_type, text) = mcp
        .runner
        .run(async move {
            let document = documents.read(group, id).await.map_err(document_error)?;
            let CitedDocument { title, source_uri, file } = document;
            let DocumentContent { content_type, bytes } = file;
            let text = if content_type.is_text() {
                String::from_utf8(bytes).unwrap_or_default()
            } else {
                retrieval.text(id, MAX_TEXT_BYTES).await?
            };
            Ok::<_, ApiError>((title, source_uri, content_type, text))
        })
        .await?;
    let url = document_url(&mcp.public_url, id, source_uri.as_deref());
    let media_type = content_type.name();
    if text.is_empty() {
        return Err(no_text(media_type, &url));
    }

    let metadata = DocumentMetadata {
        content_type: media_type.to_owned(),
        truncated: text.len() > MAX_TEXT_BYTES,
    };

    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    let text = text.get(..end).unwrap_or_default().to_owned();
    Ok(FetchedDocument { id: id.to_string(), title, text, url, metadata })
}
