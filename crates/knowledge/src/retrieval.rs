//! Retrieval of passages that answer a question.
//!
//! `Retrieval::search` takes these steps: find candidates by vectors and terms
//! (`models.rs`), drop those that are neither similar nor share enough words
//! (`relevance.rs`), let a reranker order the rest (`ranking.rs`), and join each
//! with its neighbours up to the number of passages. Callers get the bases that a
//! member may search from `bases`, and report the outcome to `count` or `count_miss`.

mod models;
mod ranking;
mod relevance;
mod stop_words;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    Clock, DocumentId, GroupId, KnowledgeBaseId, LiveSetting, PersonaId, Unavailable,
};

use crate::document::document_url;
use crate::ports::chunk_store::{ChunkId, ChunkStore, StoredPassage};
use crate::ports::embedder::{EmbedError, Embedder};
use crate::ports::reranker::Reranker;
use crate::ports::vector_store::{VectorQuery, VectorStore};
pub use models::MissingModels;
use ranking::{Candidate, RankingLimits, rank};
use relevance::{join_around, join_overlapping, term_coverage};

/// Number of chunks that are considered for each passage that is returned.
const CANDIDATES_PER_PASSAGE: usize = 4;
/// Factor by which more chunks are considered if some are not published.
const MORE_CANDIDATES: usize = 8;
/// Maximum length of a question that is searched for, in bytes.
const MAX_QUESTION_BYTES: usize = 4_000;
/// Maximum length of a passage with what surrounds it, in characters; a chunk
/// that is longer is not cut.
const MAX_PASSAGE_CHARS: usize = 6_000;
/// Share of a question's significant words with which a passage is relevant, however
/// dissimilar their vectors are.
const MIN_TERM_COVERAGE: f32 = 0.6;

/// Time after which nobody waits for a search any longer.
pub const MAX_SEARCH_TIME: Duration = Duration::from_secs(5);

/// Settings of retrieval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrievalSettings {
    /// Maximum number of passages.
    pub max_passages: usize,
    /// Cosine similarity below which a passage is irrelevant; `None` uses the
    /// embedder's own.
    pub min_similarity: Option<f32>,
    /// Score of the reranker below which a passage is irrelevant; `None` drops
    /// none. Its scale is that of the reranker.
    pub min_rank_score: Option<f32>,
}

/// Question of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Bases to search: those that [`Retrieval::bases`] returned for the member.
    pub bases: Vec<KnowledgeBaseId>,
    /// Text as the member or the model wrote it; only its beginning is searched
    /// for.
    pub text: String,
}

/// Base that is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedBase {
    /// Id by which a question selects it.
    pub id: KnowledgeBaseId,
    /// Name, which a model sees.
    pub name: String,
    /// Text that tells the model when to search it.
    pub prompt: Option<String>,
}

/// Passage that may answer a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Base that the passage was found in.
    pub base: KnowledgeBaseId,
    /// Document that is cited.
    pub document: DocumentId,
    /// Title of the document.
    pub title: String,
    /// Source of the document.
    pub source_uri: Option<String>,
    /// Headings above the passage.
    pub path: String,
    /// Text, with what surrounds it in the document.
    pub text: String,
    /// Cosine similarity with the question.
    pub similarity: f32,
}

impl Passage {
    /// Returns the URL by which a member cites the document.
    pub fn url(&self, public_url: &str) -> String {
        document_url(public_url, self.document, self.source_uri.as_deref())
    }
}

/// Reasons why nothing could be retrieved.
#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    /// Question could not be embedded.
    #[error(transparent)]
    Embedding(#[from] EmbedError),
    /// A store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Searches the bases of a member.
#[derive(Clone)]
pub struct Retrieval {
    /// Chunks in the database.
    pub chunks: Arc<dyn ChunkStore>,
    /// Embedder of questions, by the models that embedded the chunks.
    pub embedder: Arc<dyn Embedder>,
    /// Log of models that embedded a base and are no longer available.
    pub missing_models: MissingModels,
    /// Model that orders the passages; `None` leaves them as the stores found
    /// them.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Store of the vectors.
    pub vectors: Arc<dyn VectorStore>,
    /// Settings; a change applies to the next search.
    pub settings: LiveSetting<RetrievalSettings>,
    /// Clock of the counted retrievals.
    pub clock: Arc<dyn Clock>,
}

/// Passages that a search found.
struct PublishedPassages {
    /// Passages in the order of the search.
    passages: Vec<StoredPassage>,
    /// False if the search also found chunks that are not published.
    is_complete: bool,
}

impl Retrieval {
    /// Returns the bases that a member of this group searches, by name, with those
    /// of the persona of a conversation if it is assigned to the group.
    pub async fn bases(
        &self,
        group: GroupId,
        persona: Option<PersonaId>,
    ) -> Result<Vec<SearchedBase>, Unavailable> {
        self.chunks.searched_bases(group, persona).await
    }

    /// Returns the passages that may answer a question, best first; none if there
    /// is no base, or nothing is relevant.
    ///
    /// The bases limit the search within the vector store, and again what the
    /// database returns.
    pub async fn search(&self, question: Question) -> Result<Vec<Passage>, RetrievalError> {
        let bases = question.bases;
        let question_text = question.text.trim();
        let end = question_text.floor_char_boundary(MAX_QUESTION_BYTES);
        let text = question_text.get(..end).unwrap_or_default();
        let settings = *self.settings.get();
        if bases.is_empty() || text.is_empty() || settings.max_passages == 0 {
            return Ok(Vec::new());
        }

        let limit = settings.max_passages.saturating_mul(CANDIDATES_PER_PASSAGE);
        let mut candidates = self.find(text, &bases, limit).await?;
        let min_similarity =
            settings.min_similarity.unwrap_or_else(|| self.embedder.min_similarity());
        candidates.retain(|it| {
            it.similarity >= min_similarity || term_coverage(text, &it.passage) >= MIN_TERM_COVERAGE
        });
        if let Some(reranker) = &self.reranker {
            let limits = RankingLimits { candidates: limit, min_score: settings.min_rank_score };
            candidates = rank(reranker.as_ref(), text, candidates, limits).await;
        }

        Ok(without_neighbours(candidates, settings.max_passages))
    }

    /// Returns the text of a document as it was cut into chunks; empty until
    /// searches find it. One that is longer than `max_bytes` is cut at the end of
    /// the next chunk. Callers check that the member may read it.
    pub async fn text(
        &self,
        document: DocumentId,
        max_bytes: usize,
    ) -> Result<String, Unavailable> {
        let texts = self.chunks.texts(document).await?;
        Ok(join_overlapping(texts.iter().map(String::as_str), max_bytes))
    }

    /// Returns the published chunks that the vector store finds, best first.
    async fn published_passages(
        &self,
        query: &VectorQuery,
    ) -> Result<PublishedPassages, Unavailable> {
        let found_chunks = self.vectors.search(query.clone()).await?;
        let ids: Vec<ChunkId> = found_chunks.iter().map(|it| it.chunk).collect();
        let mut passages_by_id: HashMap<ChunkId, StoredPassage> = self
            .chunks
            .passages(&ids)
            .await?
            .into_iter()
            .filter(|it| query.bases.contains(&it.base))
            .map(|it| (it.chunk, it))
            .collect();
        let is_complete = passages_by_id.len() == ids.len();
        let passages = ids.iter().filter_map(|id| passages_by_id.remove(id)).collect();

        Ok(PublishedPassages { passages, is_complete })
    }

    /// Counts a retrieval of each of these documents. It waits while the
    /// documents are ingested: nobody should wait for it.
    pub async fn count(&self, documents: &[DocumentId]) {
        let mut documents = documents.to_vec();
        documents.sort();
        documents.dedup();
        if documents.is_empty() {
            return;
        }
        let outcome = self.chunks.count_retrievals(&documents, self.clock.now()).await;
        if let Err(err) = outcome {
            tracing::warn!(error = %err, "failed to count the retrieval of documents");
        }
    }

    /// Counts a question for which these bases were searched and nothing was
    /// found. Nobody should wait for it.
    pub async fn count_miss(&self, bases: &[KnowledgeBaseId]) {
        if let Err(err) = self.chunks.count_miss(bases, self.clock.now()).await {
            tracing::warn!(error = %err, "failed to count an unanswered question");
        }
    }
}

/// Returns the first passages, each with the chunks around it that no earlier one
/// includes, as far as they fit.
fn without_neighbours(candidates: Vec<Candidate>, limit: usize) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut included = HashSet::<(DocumentId, i32)>::new();
    for Candidate { passage: chunk, similarity } in candidates {
        if passages.len() == limit {
            break;
        }

        let document = chunk.document;
        let ordinal = chunk.ordinal;
        if !included.insert((document, ordinal)) {
            continue;
        }

        // A chunk under other headings is not around this one.
        let mut text_before = "";
        if let Some(before) = &chunk.before
            && included.insert((document, ordinal.saturating_sub(1)))
        {
            text_before = before;
        }

        let mut text_after = "";
        if let Some(after) = &chunk.after
            && included.insert((document, ordinal.saturating_add(1)))
        {
            text_after = after;
        }

        let text = join_around(text_before, &chunk.text, text_after, MAX_PASSAGE_CHARS);
        passages.push(passage(chunk, text, similarity));
    }

    passages
}

fn passage(chunk: StoredPassage, text: String, similarity: f32) -> Passage {
    Passage {
        base: chunk.base,
        document: chunk.document,
        title: chunk.title,
        source_uri: chunk.source_uri,
        path: chunk.path,
        text,
        similarity,
    }
}

#[cfg(test)]
mod tests;
