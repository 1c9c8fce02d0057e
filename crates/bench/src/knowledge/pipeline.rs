//! Pipeline of ingestion, as the server assembles it.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pia_kernel::{
    Clock, DocumentId, GroupId, KnowledgeBaseId, LiveSetting, SideEffects, SystemClock,
};
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
use uuid::Uuid;

use crate::database;
use crate::failure::Outcome;

/// Number of workers, the server's default.
pub(super) const WORKERS: u32 = 4;
/// Group that every database has.
const OWNER: GroupId = GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));
const PLENTY: i64 = 1_000_000_000_000;
const QUOTAS: GroupQuotas =
    GroupQuotas { bases: PLENTY, documents: PLENTY, bytes: PLENTY, monthly_tokens: PLENTY };

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
        let base = KnowledgeBase { id, owner: OWNER, name, prompt: None, created_at };
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
        let mut hash = [0; 32];
        let id = DocumentId::generate();
        // No two documents may have the same hash; its bytes have no meaning.
        for (byte, of_id) in hash.iter_mut().zip(id.0.into_bytes()) {
            *byte = of_id;
        }

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
        match documents.put(self.reference(), content, QUOTAS, change).await? {
            DocumentStoreOutcome::Created(_) => Ok(()),
            other => Err(format!("a document was not stored: {other:?}").into()),
        }
    }

    /// Ingests all queued documents. Returns the time, and the number of chunks.
    pub(super) fn ingest(
        &self,
        runtime: &Runtime,
        embedder: Arc<dyn Embedder>,
    ) -> Outcome<(Duration, i64)> {
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
        match documents.iter().find(|it| it.status != DocumentStatus::Ready) {
            Some(document) => {
                Err(format!("a document is {:?}: {:?}", document.status, document.error).into())
            }
            None => Ok((elapsed, documents.iter().map(|it| it.chunk_count).sum())),
        }
    }

    /// Searches for a question as a chat does before its model is called. Returns
    /// the time in milliseconds.
    pub(super) async fn ask(&self, question: &str) -> Outcome<f64> {
        let retrieval = self.retrieval();
        let start = Instant::now();
        let bases = retrieval.bases(OWNER, None).await?.into_iter().map(|it| it.id).collect();
        let passages = retrieval.search(Question { bases, text: question.to_owned() }).await?;
        if passages.is_empty() {
            return Err("a question found nothing".into());
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn retrieval(&self) -> Retrieval {
        let settings =
            RetrievalSettings { max_passages: 6, min_similarity: Some(0.0), min_rank_score: None };
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
        let documents = SqlDocuments::new(self.db.clone()).list(self.reference()).await?;
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
                max_attempts: 1,
                lease: Duration::from_mins(5),
                default_monthly_tokens: PLENTY,
            }),
            clock: Arc::new(SystemClock),
        }
    }

    fn reference(&self) -> BaseRef {
        BaseRef { access: BaseAccess::Server, id: self.base }
    }
}

/// Extractor that takes files for text.
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
