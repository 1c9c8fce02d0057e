//! Stores in memory, for tests of ingestion, retrieval and reconciliation.
//!
//! One `InMemory` implements the ports of the database and of the vector store. A test
//! may plan a `Fault` for a `Step`: the worker dies before or after it, the store
//! refuses it, or the claim is lost. Tests then compare `Rows`.

mod chunk_store;
mod ingest_queue;
mod reindexing;
mod vectors;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, Timestamp, Unavailable};

use crate::document::DocumentStatus;
use crate::draft::ContentType;
use crate::hashed_embedder::HashedEmbedder;
use crate::ports::chunk_store::ChunkId;
use crate::ports::context_writer::{ContextRequest, ContextWriter, WrittenContext};
use crate::ports::embedder::{EmbedError, Embedder, Embedding};
use crate::ports::ingest_queue::{IngestClaim, NewChunk};
use crate::ports::text_extractor::{ExtractError, ExtractedText, TextExtractor};
use crate::ports::vector_store::VectorPoint;
use crate::retrieval::SearchedBase;
pub(crate) use reindexing::{ModelEmbedder, NEW, OLD};

/// Step of a worker: a call of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Claim,
    PutChunks,
    Extend,
    Pending,
    Reserve,
    PutContexts,
    PutVectors,
    Embedded,
    PutPoints,
    Existing,
    Publish,
    Fail,
    /// Call in which no test injects a fault.
    Other,
}

impl Step {
    /// Steps of a worker that has claimed a document.
    pub(crate) const OF_CLAIM: [Self; 10] = [
        Self::PutChunks,
        Self::Extend,
        Self::Pending,
        Self::Reserve,
        Self::PutContexts,
        Self::PutVectors,
        Self::Embedded,
        Self::PutPoints,
        Self::Existing,
        Self::Publish,
    ];
}

/// Fault of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Store is unavailable, once.
    Refuses,
    /// Worker dies before the step.
    CrashesBefore,
    /// Worker dies after the step.
    CrashesAfter,
    /// Claim is lost before the step.
    LosesClaim,
}

/// Stored document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) base: KnowledgeBaseId,
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) status: DocumentStatus,
    pub(crate) error: Option<String>,
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) failures: u32,
    /// True if the new content waits for that of others.
    pub(crate) is_held: bool,
    fence: i64,
    split_for: Option<String>,
    reserved: i64,
}

/// Stored chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkRow {
    pub(crate) document: DocumentId,
    pub(crate) new: NewChunk,
    pub(crate) context: Option<String>,
    pub(crate) vector: Option<Vec<f32>>,
    pub(crate) tokens: i64,
    pub(crate) is_published: bool,
}

/// Contents of the database, which tests compare.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) documents: BTreeMap<DocumentId, Row>,
    pub(crate) chunks: Vec<ChunkRow>,
    pub(crate) removed: Vec<ChunkId>,
    pub(crate) charged: i64,
    pub(crate) retrieved: Vec<DocumentId>,
    pub(crate) missed: Vec<KnowledgeBaseId>,
    pub(crate) bases: Vec<(GroupId, SearchedBase)>,
    pub(crate) models: BTreeMap<KnowledgeBaseId, BaseModels>,
}

/// Model of what searches find in a base, and the one with which it is indexed
/// again.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BaseModels {
    pub(crate) model: Option<String>,
    pub(crate) reindex_model: Option<String>,
}

impl BaseModels {
    fn target(&self) -> Option<&String> {
        self.reindex_model.as_ref().or(self.model.as_ref())
    }

    fn is_changing(&self) -> bool {
        self.reindex_model.is_some() && self.reindex_model != self.model
    }
}

/// Contents of both stores, and the faults that they are to have.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) rows: Rows,
    pub(crate) points: BTreeMap<ChunkId, VectorPoint>,
    /// Set if the vector store forgets what it stores.
    pub(crate) loses_points: bool,
    /// Set until the next start: no call has an effect.
    pub(crate) is_down: bool,
    /// Contents of the database when a claim was lost.
    pub(crate) rows_at_loss: Option<Rows>,
    calls: HashMap<Step, usize>,
    fault: Option<PlannedFault>,
}

/// Fault of the call of a step that follows a number of others.
#[derive(Debug, Clone, Copy)]
struct PlannedFault {
    step: Step,
    after: usize,
    fault: Fault,
}

/// Database and vector store in memory.
#[derive(Debug, Default)]
pub(crate) struct InMemory(Mutex<State>);

impl InMemory {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Adds a base that a group searches.
    pub(crate) fn add_base(&self, group: GroupId, name: &str) -> KnowledgeBaseId {
        let id = KnowledgeBaseId::generate();
        let base = SearchedBase { id, name: name.to_owned(), prompt: None };
        self.state().rows.bases.push((group, base));
        id
    }

    /// Stores a document that is due at once.
    pub(crate) fn add(&self, base: KnowledgeBaseId, title: &str, content: &str) -> DocumentId {
        let id = DocumentId::generate();
        let row = Row {
            base,
            title: title.to_owned(),
            content: content.to_owned(),
            status: DocumentStatus::Pending,
            error: None,
            due_at: Some(Timestamp::UNIX_EPOCH),
            failures: 0,
            fence: 0,
            is_held: false,
            split_for: None,
            reserved: 0,
        };
        self.state().rows.documents.insert(id, row);
        id
    }

    /// Replaces the content of a document and queues it.
    pub(crate) fn replace(&self, document: DocumentId, content: &str) {
        let mut state = self.state();
        let row = state.rows.documents.get_mut(&document).unwrap();
        row.content = content.to_owned();
        row.status = DocumentStatus::Pending;
        row.due_at = Some(Timestamp::UNIX_EPOCH);
        row.fence += 1;
        row.split_for = None;
        row.is_held = false;
    }

    /// Deletes a document, and queues its points for removal.
    pub(crate) fn delete(&self, document: DocumentId) {
        let mut state = self.state();
        state.remove_chunks(document, true);
        state.remove_chunks(document, false);
        state.rows.documents.remove(&document);
    }

    pub(crate) fn document(&self, document: DocumentId) -> Row {
        self.state().rows.documents[&document].clone()
    }

    /// Makes the call of a step that follows `after` others fail.
    pub(crate) fn set_fault(&self, step: Step, after: usize, fault: Fault) {
        let mut state = self.state();
        state.calls.clear();
        state.fault = Some(PlannedFault { step, after, fault });
    }

    /// Returns the number of calls of a step since the last planned fault.
    pub(crate) fn calls_of(&self, step: Step) -> usize {
        self.state().calls.get(&step).copied().unwrap_or_default()
    }

    /// Ends a crash. Returns whether there was one.
    pub(crate) fn restart(&self) -> bool {
        std::mem::take(&mut self.state().is_down)
    }

    /// Runs a step on the state, and injects the fault that is planned for this call of it.
    fn run_step<T>(
        &self,
        step: Step,
        change: impl FnOnce(&mut State) -> T,
    ) -> Result<T, Unavailable> {
        let mut state = self.state();
        let calls = state.calls.entry(step).or_default();
        *calls += 1;
        let calls = *calls;
        let fault = state.fault.filter(|it| it.step == step && it.after + 1 == calls);
        // A crash leaves the store down until the test restarts it; what was written stays.
        match fault.map(|it| it.fault) {
            _ if state.is_down => return Err(unavailable()),
            Some(Fault::Refuses) => return Err(unavailable()),
            Some(Fault::CrashesBefore) => {
                state.is_down = true;
                return Err(unavailable());
            }
            Some(Fault::CrashesAfter) => {
                change(&mut state);
                state.is_down = true;
                return Err(unavailable());
            }
            Some(Fault::LosesClaim) => {
                for row in state.rows.documents.values_mut() {
                    row.fence += 1;
                }
                state.rows_at_loss = Some(state.rows.clone());
            }
            None => {}
        }
        Ok(change(&mut state))
    }
}

impl State {
    /// Returns the document of a claim that is still held.
    fn held(&mut self, claim: IngestClaim) -> Option<&mut Row> {
        let row = self.rows.documents.get_mut(&claim.document)?;
        (row.fence == claim.fence && row.due_at.is_some()).then_some(row)
    }

    /// Returns the chunks of the content that a claim ingests, in order.
    fn new_chunks(&mut self, claim: IngestClaim) -> Vec<&mut ChunkRow> {
        self.rows
            .chunks
            .iter_mut()
            .filter(|it| it.document == claim.document && !it.is_published)
            .collect()
    }

    /// Deletes the published chunks of a document, or its new ones.
    fn remove_chunks(&mut self, document: DocumentId, is_published: bool) {
        let is_removed =
            |it: &mut ChunkRow| it.document == document && it.is_published == is_published;
        let removed_chunks: Vec<ChunkRow> = self.rows.chunks.extract_if(.., is_removed).collect();
        self.rows.removed.extend(removed_chunks.iter().map(|it| it.new.id));
    }
}

pub(crate) fn unavailable() -> Unavailable {
    Unavailable::new("the store in memory", "it is down")
}

/// Extractor of files that are Markdown as they are, or that fail.
#[derive(Debug, Default)]
pub(crate) struct MarkdownFiles(pub(crate) Option<ExtractError>);

#[async_trait]
impl TextExtractor for MarkdownFiles {
    async fn extract(
        &self,
        _content_type: ContentType,
        content: Vec<u8>,
    ) -> Result<ExtractedText, ExtractError> {
        let text = String::from_utf8(content).unwrap();
        self.0.map_or(Ok(ExtractedText { text, is_markdown: true }), Err)
    }
}

/// Embedder that remembers the texts of each call.
#[derive(Debug, Default)]
pub(crate) struct CountingEmbedder(Mutex<Vec<Vec<String>>>);

impl CountingEmbedder {
    pub(crate) const BATCH_SIZE: usize = 2;

    /// Returns the texts of each call.
    pub(crate) fn calls(&self) -> Vec<Vec<String>> {
        self.0.lock().unwrap().clone()
    }

    /// Forgets the calls.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

#[async_trait]
impl Embedder for CountingEmbedder {
    fn model(&self) -> String {
        "counting".to_owned()
    }

    fn batch_size(&self) -> usize {
        Self::BATCH_SIZE
    }

    fn min_similarity(&self) -> f32 {
        HashedEmbedder.min_similarity()
    }

    async fn embed(&self, _model: &str, texts: Vec<String>) -> Result<Embedding, EmbedError> {
        self.0.lock().unwrap().push(texts.clone());
        HashedEmbedder.embed(HashedEmbedder::MODEL, texts).await
    }
}

/// Writer of contexts that remembers the chunks.
#[derive(Debug, Default)]
pub(crate) struct CountingWriter(Mutex<Vec<String>>);

impl CountingWriter {
    /// Tokens of each call.
    pub(crate) const TOKENS: i64 = 10;

    /// Returns the chunk of each call.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl ContextWriter for CountingWriter {
    async fn write(&self, request: ContextRequest) -> Result<WrittenContext, EmbedError> {
        let text = format!("About  {}.\n", request.chunk.len());
        self.0.lock().unwrap().push(request.chunk);
        Ok(WrittenContext { text, tokens: Self::TOKENS })
    }
}

/// Duration after which a claim has ended.
pub(crate) const AFTER_LEASE: Duration = Duration::from_mins(6);
