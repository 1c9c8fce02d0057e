//! Results of calls.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::error::{McpError, truncate};

/// Maximum length of a result as JSON, in bytes; a longer one is an error.
const MAX_RESULT_BYTES: usize = 200 * 1024;
/// Maximum length of the description in a note, in bytes; a longer one is cut.
const MAX_NOTE_BYTES: usize = 200;

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpResult {
    /// Structured content, or the texts.
    pub content: Value,
    /// True if the content says why the tool failed.
    pub is_error: bool,
}

impl McpResult {
    /// Converts a result. Images and the like, which no model of the assistant
    /// gets from a tool, are replaced by notes.
    pub(crate) fn new(result: CallToolResult) -> Result<Self, McpError> {
        let is_error = result.is_error == Some(true);
        let content = result.structured_content.unwrap_or_else(|| {
            let texts: Vec<String> = result.content.into_iter().map(text).collect();
            texts.join("\n").into()
        });
        let length = content.to_string().len();
        if length > MAX_RESULT_BYTES {
            return Err(McpError::TooLarge { length, max: MAX_RESULT_BYTES });
        }
        Ok(Self { content, is_error })
    }
}

fn text(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(block) => block.text,
        ContentBlock::Image(block) => note("image", &block.mime_type),
        ContentBlock::Audio(block) => note("audio", &block.mime_type),
        ContentBlock::ResourceLink(link) => note("resource", &link.uri),
        ContentBlock::Resource(block) => match block.resource {
            ResourceContents::TextResourceContents { text, .. } => text,
            ResourceContents::BlobResourceContents { mime_type, uri, .. } => {
                note("resource", &mime_type.unwrap_or(uri))
            }
            _ => note("resource", "unknown"),
        },
        _ => note("content", "unknown"),
    }
}

fn note(kind: &str, description: &str) -> String {
    format!("({kind}: {})", truncate(description, MAX_NOTE_BYTES))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn converted(result: Value) -> Result<McpResult, McpError> {
        McpResult::new(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn blocks_become_texts_and_notes() {
        let result = converted(json!({ "isError": true, "content": [
            { "type": "text", "text": "one" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource_link", "uri": "file:///a", "name": "a" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "two" } },
            { "type": "resource", "resource": { "uri": "file:///c", "blob": "AAAA" } },
        ] }));

        let content = "one\n(image: image/png)\n(audio: audio/wav)\n(resource: file:///a)\ntwo\n\
            (resource: file:///c)";
        let expected = McpResult { content: content.into(), is_error: true };
        assert_eq!(result.unwrap(), expected);
    }

    #[test]
    fn structured_content_comes_first() {
        let result = converted(json!({
            "content": [{ "type": "text", "text": "{\"a\":1}" }], "structuredContent": { "a": 1 },
        }));
        assert_eq!(result.unwrap(), McpResult { content: json!({ "a": 1 }), is_error: false });
    }

    #[test]
    fn large_results_are_errors() {
        let large = "x".repeat(MAX_RESULT_BYTES);
        let result = converted(json!({ "content": [{ "type": "text", "text": large }] }));
        assert!(matches!(result, Err(McpError::TooLarge { .. })), "{result:?}");
    }
}
