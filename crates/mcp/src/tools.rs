//! Tools and their descriptions.

use std::any::Any;
use std::sync::Arc;

use pia_knowledge::SearchedBase;
use pia_web::ApiError;
use rmcp::handler::server::common::schema_for_input;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;

use crate::fetch::{FetchArguments, FetchedDocument};
use crate::search::{SearchArguments, SearchResult};

/// Name of the tool that searches.
pub(crate) const SEARCH: &str = "search";
/// Name of the tool that returns a document.
pub(crate) const FETCH: &str = "fetch";

const SEARCH_PURPOSE: &str = "Searches the knowledge bases of the user's organisation, and returns the passages that may \
     answer a question with the documents that they are from. Cite the documents that you use, \
     with their `url`.";
const FETCH_PURPOSE: &str = "Returns the text of a document that `search` found, for when its passages are not enough: of \
     files such as PDF or DOCX what was extracted from them.";

/// Returns the tools of a caller who searches these bases.
pub(crate) fn tools(bases: &[SearchedBase]) -> Result<Vec<Tool>, ApiError> {
    let search = Tool::new(SEARCH, search_description(bases), input_schema::<SearchArguments>()?)
        .with_title("Search knowledge bases")
        .with_output_schema::<SearchResult>();
    let fetch = Tool::new(FETCH, FETCH_PURPOSE, input_schema::<FetchArguments>()?)
        .with_title("Fetch a document")
        .with_output_schema::<FetchedDocument>();
    Ok([search, fetch].map(|it| it.with_annotations(annotations())).into())
}

fn input_schema<T: JsonSchema + Any>() -> Result<Arc<JsonObject>, ApiError> {
    schema_for_input::<T>().map_err(ApiError::internal)
}

/// Returns the hints of both tools: they read documents of this server.
fn annotations() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false)
}

/// Returns the description of the tool that searches: with the prompts of the
/// bases, which tell the model when to search them.
fn search_description(bases: &[SearchedBase]) -> String {
    if bases.is_empty() {
        return format!("{SEARCH_PURPOSE}\n\nThe user has no knowledge bases at present.");
    }
    let items: Vec<String> = bases.iter().map(list_item).collect();
    format!("{SEARCH_PURPOSE}\n\nKnowledge bases:\n{}", items.join("\n"))
}

fn list_item(base: &SearchedBase) -> String {
    match &base.prompt {
        Some(prompt) => format!("- {}: {}", base.name, prompt.trim()),
        None => format!("- {}", base.name),
    }
}
