//! Pipeline of ingestion and search, from the server's stores and services.
//!
//! It is composed here because the server's worker (`knowledge_worker.rs`) polls
//! the queue and spawns tasks that never end. Here each worker is a thread that
//! blocks on one document after the other and ends when none is due, so that the
//! time is that of the ingestion alone.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pia_identity::DEFAULT_GROUP;
use pia_kernel::{Clock, DocumentId, KnowledgeBaseId, LiveSetting, SideEffects, SystemClock};
use pia_knowledge::{
    BaseAccess, BaseChangeOutcome, BaseRef, BaseStore, ChunkingSettings, ContentChange,
    ContentType, Document, DocumentStatus, DocumentStore, DocumentStoreOutcome, Embedder,
    ExtractError, ExtractedText, GroupQuotas, HashedEmbedder, Ingestion, IngestionOutcome,
    IngestionSettings, KnowledgeBase, MissingModels, NewContent, Question, Retrieval,
    RetrievalSettings, TextExtractor,
};
use pia_storage::Database;
use pia_storage_knowledge::{SqlChunks, SqlDocuments, SqlIngestQueue, SqlKnowledgeBases};
use pia_vectors::EmbeddedVectors;
use tokio::runtime::Runtime;

use crate::database;
use crate::failure::Outcome;

/// Number of workers, the server's default.
pub(super) const WORKERS: u32 = 4;
/// Quota that no benchmark reaches.
const PLENTY: i64 = 1_000_000_000_000;
const QUOTAS: GroupQuotas =
    GroupQuotas { bases: PLENTY, documents: PLENTY, bytes: PLENTY, monthly_tokens: PLENTY };

/// Time and size of an ingestion.
pub(super) struct IngestionResult {
    pub(super) elapsed: Duration,
    pub(super) chunk_count: i64,
}

/// Base in a new database, and the store of its vectors.
pub(super) struct Pipeline {
    pub(super) db: Database,
    pub(super) base: KnowledgeBaseId,
    pub(super) vectors: Arc<EmbeddedVectors>,
}

impl Pipeline {
    /// Creates a pipeline in a folder, which has its database too if there is no
    /// URL of PostgreSQL.
    pub(super) async fn create(dir: &Path, postgres: Option<&str>) -> Outcome<Self> {
        let db = database::open(dir, postgres).await?;
        let id = KnowledgeBaseId::generate();
        let name = "Handbook".to_owned();
        let created_at = SystemClock.now();
        let base = KnowledgeBase { id, owner: DEFAULT_GROUP, name, prompt: None, created_at };
        let bases = SqlKnowledgeBases::new(db.clone());
        let created = bases.create(base, QUOTAS, SideEffects::default()).await?;
        if created != BaseChangeOutcome::Done {
            return Err(format!("the base was not created: {created:?}").into());
        }

        let vectors = Arc::new(EmbeddedVectors::open(&dir.join("vectors"))?);

        Ok(Self { db, base: id, vectors })
    }

    /// Stores a document and queues it.
    pub(super) async fn put(&self, title: String, text: String) -> Outcome<()> {
        let id = DocumentId::generate();
        // A duplicate hash would be rejected; the id makes it unique.
        let mut hash = [0_u8; 32];
        hash[..16].copy_from_slice(id.0.as_bytes());

        let content = NewContent {
            id,
            title: Some(title),
            source_uri: None,
            content_type: Some(ContentType::Text),
            content: text.into_bytes(),
            hash,
        };

        let change = ContentChange { at: SystemClock.now(), by: None };
        let documents = SqlDocuments::new(self.db.clone());
        match documents.put(self.base_ref(), content, QUOTAS, change).await? {
            DocumentStoreOutcome::Created(_) => Ok(()),
            other => Err(format!("a document was not stored: {other:?}").into()),
        }
    }

    /// Ingests all queued documents.
    pub(super) fn ingest(
        &self,
        runtime: &Runtime,
        embedder: Arc<dyn Embedder>,
    ) -> Outcome<IngestionResult> {
        let ingestion = self.ingestion(embedder);
        let start = Instant::now();

        thread::scope(|scope| {
            let work = || -> Outcome<()> {
                loop {
                    match runtime.block_on(ingestion.ingest_next())? {
                        IngestionOutcome::Attempted => {}
                        IngestionOutcome::NothingDue => return Ok(()),
                    }
                }
            };
            let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .try_for_each(|it| it.join().unwrap_or_else(|_| Err("a worker panicked".into())))
        })?;
        let elapsed = start.elapsed();

        let documents = runtime.block_on(self.documents())?;
        if let Some(document) = documents.iter().find(|it| it.status != DocumentStatus::Ready) {
            return Err(format!("a document is {:?}: {:?}", document.status, document.error).into());
        }

        let chunk_count = documents.iter().map(|it| it.chunk_count).sum();
        Ok(IngestionResult { elapsed, chunk_count })
    }

    /// Searches for a question as a chat does before its model is called. Returns
    /// the time in milliseconds.
    pub(super) async fn ask(&self, question: &str) -> Outcome<f64> {
        let retrieval = self.retrieval();
        let start = Instant::now();
        let bases =
            retrieval.bases(DEFAULT_GROUP, None).await?.into_iter().map(|it| it.id).collect();
        let passages = retrieval.search(Question { bases, text: question.to_owned() }).await?;
        if passages.is_empty() {
            return Err("a question found nothing".into());
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn retrieval(&self) -> Retrieval {
        let settings = RetrievalSettings {
            // The server's default.
            max_passages: 6,
            // Generated texts are hardly similar to a question, but it must find some.
            min_similarity: Some(0.0),
            // There is no reranker.
            min_rank_score: None,
        };
        Retrieval {
            chunks: Arc::new(SqlChunks::new(self.db.clone())),
            embedder: Arc::new(HashedEmbedder),
            missing_models: MissingModels::default(),
            reranker: None,
            vectors: Arc::<EmbeddedVectors>::clone(&self.vectors),
            settings: LiveSetting::new(settings),
            clock: Arc::new(SystemClock),
        }
    }

    async fn documents(&self) -> Outcome<Vec<Document>> {
        let documents = SqlDocuments::new(self.db.clone()).list(self.base_ref()).await?;
        Ok(documents.ok_or("the base is gone")?)
    }

    fn ingestion(&self, embedder: Arc<dyn Embedder>) -> Ingestion {
        Ingestion {
            queue: Arc::new(SqlIngestQueue::new(self.db.clone())),
            extractor: Arc::new(PlainText),
            embedder,
            context_writer: None,
            vectors: Arc::<EmbeddedVectors>::clone(&self.vectors),
            settings: LiveSetting::new(IngestionSettings {
                chunking: ChunkingSettings::default(),
                // A failure ends the benchmark, so it is not retried.
                max_attempts: 1,
                // Longer than any document takes.
                lease: Duration::from_mins(5),
                default_monthly_tokens: PLENTY,
            }),
            clock: Arc::new(SystemClock),
        }
    }

    fn base_ref(&self) -> BaseRef {
        BaseRef { access: BaseAccess::Server, id: self.base }
    }
}

/// Extractor that decodes every file as UTF-8.
struct PlainText;

#[async_trait]
impl TextExtractor for PlainText {
    async fn extract(
        &self,
        _: ContentType,
        content: Vec<u8>,
    ) -> Result<ExtractedText, ExtractError> {
        match String::from_utf8(content) {
            Ok(text) => Ok(ExtractedText { text, is_markdown: false }),
            Err(_) => Err(ExtractError::Damaged),
        }
    }
}
