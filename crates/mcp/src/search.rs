//! Tool that searches the caller's knowledge bases.

use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, Unavailable};
use pia_knowledge::{MAX_SEARCH_TIME, Passage, Question};
use pia_web::ApiError;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::Mcp;
use crate::refusals::search_error;

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct SearchArguments {
    /// Question in natural language, or words to search for.
    query: String,
}

/// Result of the tool.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct SearchResult {
    /// Passages that may answer the question, best first; none if nothing is
    /// relevant.
    results: Vec<FoundPassage>,
}

/// Passage of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct FoundPassage {
    /// Id of the document.
    id: String,
    /// Title of the document.
    title: String,
    /// Link to the document, to be cited.
    url: String,
    /// Text of the passage.
    text: String,
}

/// Searches the bases of a member of this group.
pub(crate) async fn search(
    mcp: &Mcp,
    group: GroupId,
    SearchArguments { query: text }: SearchArguments,
) -> Result<SearchResult, ApiError> {
    let retrieval = mcp.enabled_retrieval()?;
    let counter = retrieval.clone();
    let passage_search = mcp.runner.run(async move {
        let searched_bases = retrieval.bases(group, None).await?;
        let bases: Vec<KnowledgeBaseId> = searched_bases.into_iter().map(|it| it.id).collect();
        let question = Question { bases: bases.clone(), text };
        Ok::<_, ApiError>((bases, retrieval.search(question).await.map_err(search_error)?))
    });
    let outcome = tokio::time::timeout(MAX_SEARCH_TIME, passage_search).await;
    let (bases, passages) =
        outcome.map_err(|err| ApiError::from(Unavailable::new("knowledge", err)))??;

    let documents: Vec<DocumentId> = passages.iter().map(|it| it.document).collect();
    // Counting may wait for ingestion, so nobody waits for it.
    mcp.runner.spawn(async move {
        if documents.is_empty() {
            counter.count_miss(&bases).await;
        } else {
            counter.count(&documents).await;
        }
    });
    let results = passages.into_iter().map(|it| found_passage(mcp, it)).collect();

    Ok(SearchResult { results })
}

fn found_passage(mcp: &Mcp, passage: Passage) -> FoundPassage {
    FoundPassage {
        id: passage.document.to_string(),
        url: passage.url(&mcp.public_url),
        title: passage.title,
        text: passage.text,
    }
}
