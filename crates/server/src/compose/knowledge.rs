//! Knowledge bases over their adapters.
//!
//! Without `Knowledge:ConnectionString` the API exists, but searches nothing and no
//! worker runs. Ingestion and searches have an embedder each, so that questions do
//! not wait behind batches of documents.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pia_assistant::{
    BackgroundChat, BackgroundEmbeddings, BackgroundPurpose, BackgroundReranking, Gateway,
    Knowledge, NoKnowledge, TimedTarget,
};
use pia_extraction::{ChildExtractor, ChildLimits};
use pia_http::KnowledgeApi;
use pia_kernel::{LiveSetting, Unavailable};
use pia_knowledge::{
    ContextWriter, Documents, Embedder, GroupQuotas, HashedEmbedder, IngestQueue, Ingestion,
    IngestionSettings, KnowledgeBaseEntry, KnowledgeBases, MissingModels, Reconciliation, Reranker,
    Retrieval, UnansweredQuestions, VectorStore,
};
use pia_policy::{Feature, Quota};
use pia_settings::{EmbedderConfig, KnowledgeStores, LiveConfig, VectorTarget};
use pia_storage::{Database, DatabaseKind};
use pia_storage_knowledge::{
    SqlChunks, SqlDocuments, SqlIngestQueue, SqlKnowledgeBases, SqlQuestionLog,
};
use pia_vectors::{EmbeddedVectors, ServerVectors, VectorSetupError};
use tokio::runtime::Handle;

use super::ComposeError;
use super::infrastructure::Infrastructure;
use crate::bridges::{
    ProviderContextWriter, ProviderEmbedder, ProviderReranker, RetrievedKnowledge,
};
use crate::knowledge_worker::KnowledgeWorker;
use crate::process::EXTRACT;

/// Time that a step of ingestion may take beside its call of the embedder.
const STEP_TIME: Duration = Duration::from_mins(1);

/// Knowledge bases, and their ingestion and search if they are on.
pub(super) struct KnowledgeParts {
    pub(super) api: KnowledgeApi,
    pub(super) search: Arc<dyn Knowledge>,
    /// Retrieval of passages; `None` if knowledge is off.
    pub(super) retrieval: Option<Retrieval>,
    pub(super) worker: Option<KnowledgeWorker>,
}

impl KnowledgeParts {
    /// Composes knowledge bases; `gateway` calls the embedding model.
    pub(super) async fn compose(
        base: &Infrastructure<'_>,
        gateway: &Gateway,
    ) -> Result<Self, ComposeError> {
        let config = base.config.latest();
        let mut api = compose_api(base);
        let Some(stores) = &config.knowledge.stores else {
            let search = Arc::new(NoKnowledge);
            return Ok(Self { api, search, retrieval: None, worker: None });
        };

        api.is_enabled = true;
        let queue = SqlIngestQueue::new(base.db.clone());
        let vectors = open_vectors(&stores.vectors).await?;
        release_claims(base, &queue, &stores.vectors).await?;
        let embedder = compose_embedder(stores, gateway, BackgroundPurpose::Work);
        warn_of_other_models(&api.bases, &embedder.model()).await;
        let chunks = Arc::new(SqlChunks::new(base.db.clone()));
        // A step may begin with three quarters of it left.
        let lease = (STEP_TIME + stores.timeout) * 4 / 3;
        let ingestion = Ingestion {
            queue: Arc::new(queue),
            extractor: Arc::new(extractor(config.knowledge.workers)?),
            embedder,
            context_writer: context_writer(stores, gateway),
            vectors: Arc::clone(&vectors),
            settings: ingestion_settings(base.config, lease),
            clock: base.clock(),
        };

        let retrieval = Retrieval {
            chunks: Arc::<SqlChunks>::clone(&chunks),
            // Questions do not wait behind batches of documents.
            embedder: compose_embedder(stores, gateway, BackgroundPurpose::Question),
            missing_models: MissingModels::default(),
            reranker: reranker(stores, gateway),
            vectors: Arc::clone(&vectors),
            settings: base.config.follow(|it| it.knowledge.retrieval),
            clock: base.clock(),
        };
        api.retrieval = Some(retrieval.clone());
        let licence = base.licence_of(Feature::Knowledge);
        let search = RetrievedKnowledge {
            retrieval: retrieval.clone(),
            questions: api.questions.clone(),
            licence: licence.clone(),
            public_url: base.public_url(),
            runtime: Handle::current(),
        };

        let reconciliation = Reconciliation { chunks, vectors };
        let workers = config.knowledge.workers;
        let worker = Some(KnowledgeWorker { ingestion, reconciliation, licence, workers });

        Ok(Self { api, search: Arc::new(search), retrieval: Some(retrieval), worker })
    }
}

/// Returns the quotas of groups without settings of their own.
fn default_quotas() -> GroupQuotas {
    let limit = |quota: Quota| quota.default_limit().unwrap_or(i64::MAX);
    GroupQuotas {
        bases: limit(Quota::KnowledgeBases),
        documents: limit(Quota::KnowledgeDocuments),
        bytes: limit(Quota::KnowledgeStorageBytes),
        monthly_tokens: limit(Quota::MonthlyEmbeddingTokens),
    }
}

/// Composes the administration of the bases in `db`.
pub(crate) fn knowledge_bases(
    db: &Database,
    clock: Arc<dyn pia_kernel::Clock>,
) -> (KnowledgeBases, Documents) {
    let bases = Arc::new(SqlKnowledgeBases::new(db.clone()));
    let documents = Arc::new(SqlDocuments::new(db.clone()));
    let quotas = default_quotas();
    let administration =
        KnowledgeBases::new(Arc::<SqlKnowledgeBases>::clone(&bases), quotas, Arc::clone(&clock));
    (administration, Documents::new(bases, documents, quotas, clock))
}

fn compose_api(base: &Infrastructure<'_>) -> KnowledgeApi {
    let (bases, documents) = knowledge_bases(&base.db, base.clock());
    let questions = UnansweredQuestions::new(
        Arc::new(SqlQuestionLog::new(base.db.clone())),
        base.config.follow(|it| it.knowledge.unanswered_questions),
        base.clock(),
    );
    KnowledgeApi { documents, bases, questions, retrieval: None, is_enabled: false }
}

/// Releases the claims of this instance before it stopped, if it is the only one.
async fn release_claims(
    base: &Infrastructure<'_>,
    queue: &SqlIngestQueue,
    vectors: &VectorTarget,
) -> Result<(), ComposeError> {
    match (vectors, base.db.provider()) {
        (VectorTarget::Server { .. }, _) => {}
        // Its folder is locked, so no other instance ingests.
        (VectorTarget::Embedded(_), DatabaseKind::Sqlite) => {
            queue.release_all(base.clock.now()).await.map_err(ComposeError::Knowledge)?;
        }
        (VectorTarget::Embedded(_), DatabaseKind::Postgres) => {
            tracing::warn!(
                "the embedded vector store is for one instance: others with the same database \
                 would find only what they ingested themselves"
            );
        }
    }

    Ok(())
}

/// Opens the vector store.
pub(crate) async fn open_vectors(
    target: &VectorTarget,
) -> Result<Arc<dyn VectorStore>, ComposeError> {
    match target {
        VectorTarget::Embedded(folder) => {
            let folder: PathBuf = folder.clone();
            let store = tokio::task::spawn_blocking(move || EmbeddedVectors::open(&folder))
                .await
                .map_err(|err| ComposeError::Knowledge(Unavailable::new("vector store", err)))??;
            Ok(Arc::new(store))
        }
        VectorTarget::Server { endpoint, key } => {
            let store = ServerVectors::new(endpoint, key.as_ref())?;
            match store.set_up().await {
                Ok(()) => {}
                // It may come up later.
                Err(VectorSetupError::Server(reason)) => {
                    tracing::warn!(reason, "the vector store is not available yet");
                }
                Err(err) => return Err(err.into()),
            }

            Ok(Arc::new(store))
        }
    }
}

/// Warns of bases that another model than the configured one embeds.
async fn warn_of_other_models(bases: &KnowledgeBases, configured: &str) {
    let bases = match bases.list().await {
        Ok(bases) => bases,
        Err(err) => {
            tracing::warn!(error = %err, "failed to compare the models of knowledge bases");
            return;
        }
    };

    for KnowledgeBaseEntry { base, model, reindex_model, .. } in bases {
        if let Some(model) = reindex_model.or(model).filter(|it| it != configured) {
            let command = format!("pia-server admin kb reindex {}", base.id);
            tracing::warn!(
                base = base.name,
                model,
                configured,
                command,
                "a knowledge base is embedded by another model than the configured one"
            );
        }
    }
}

fn compose_embedder(
    stores: &KnowledgeStores,
    gateway: &Gateway,
    purpose: BackgroundPurpose,
) -> Arc<dyn Embedder> {
    match &stores.embedder {
        EmbedderConfig::Hashed => Arc::new(HashedEmbedder),
        EmbedderConfig::Provider { target, batch_size } => Arc::new(ProviderEmbedder {
            model: target.model.clone(),
            embeddings: BackgroundEmbeddings::new(gateway.clone(), Arc::clone(target), purpose),
            timeout: stores.timeout,
            batch_size: *batch_size,
        }),
    }
}

/// Returns the model that writes contexts, if one is configured.
fn context_writer(stores: &KnowledgeStores, gateway: &Gateway) -> Option<Arc<dyn ContextWriter>> {
    let target = Arc::clone(stores.context.as_ref()?);
    let chat = BackgroundChat::new(gateway.clone(), target, BackgroundPurpose::Work);
    Some(Arc::new(ProviderContextWriter { chat, timeout: stores.timeout }))
}

/// Returns the model that ranks passages, if one is configured.
fn reranker(stores: &KnowledgeStores, gateway: &Gateway) -> Option<Arc<dyn Reranker>> {
    let TimedTarget { target, timeout } = stores.reranker.clone()?;
    let reranking = BackgroundReranking::new(gateway.clone(), target);
    Some(Arc::new(ProviderReranker { reranking, timeout }))
}

/// Returns the extractor, which runs this program with another argument.
fn extractor(workers: usize) -> Result<ChildExtractor, ComposeError> {
    let program = std::env::current_exe()?;
    let arguments = vec![EXTRACT.into()];
    // No worker waits for another, so that its claim does not expire.
    let limits = ChildLimits { children: workers, ..ChildLimits::default() };
    Ok(ChildExtractor::new(program, arguments, limits))
}

fn ingestion_settings(config: &LiveConfig, lease: Duration) -> LiveSetting<IngestionSettings> {
    config.follow(move |it| IngestionSettings {
        chunking: it.knowledge.chunking,
        max_attempts: it.knowledge.max_attempts,
        lease,
        default_monthly_tokens: default_quotas().monthly_tokens,
    })
}
