//! `Knowledge`, `Embeddings`, `Rerank` and `Chunking`: knowledge bases.

mod timed;

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::{KnowledgeMode, ModelCatalogue, ProviderType, Target, TimedTarget};
use pia_kernel::Secret;
use pia_knowledge::{ChunkingSettings, HashedEmbedder, RetrievalSettings, VECTOR_SIZE};

use super::error::Reason;
use super::known_secrets;
use super::ratio::Ratio;
use super::section::Section;
use super::setting::{Setting, choice};
use super::vector_target::VectorTarget;

/// `Embeddings:ProviderId` of the embedder that needs no provider.
const LOCAL: &str = "local";
/// Default of `Embeddings:Model`.
const DEFAULT_MODEL: &str = "bge-m3";
/// Minimum length of the ingest key.
const MIN_KEY_CHARS: usize = 16;

/// Configuration of knowledge bases.
#[derive(Debug, Clone)]
pub struct KnowledgeConfig {
    /// Vector store and embedder; `None` if knowledge is off.
    pub stores: Option<KnowledgeStores>,
    /// Key of the ingest API; `None` turns it off.
    pub ingest_key: Option<Secret<String>>,
    /// Moment at which bases are searched.
    pub mode: KnowledgeMode,
    /// Model that rewrites questions; `None` searches for those of users.
    pub question_model: Option<TimedTarget>,
    /// Settings of searches.
    pub retrieval: RetrievalSettings,
    /// Sizes of chunks.
    pub chunking: ChunkingSettings,
    /// True if questions that no document answers are stored.
    pub unanswered_questions: bool,
    /// Number of documents that an instance ingests at once.
    pub workers: usize,
    /// Number of attempts after which a document has failed.
    pub max_attempts: u32,
}

/// Vector store and embedder.
#[derive(Debug, Clone)]
pub struct KnowledgeStores {
    /// Store of the vectors of chunks.
    pub vectors: VectorTarget,
    /// Model that computes these vectors.
    pub embedder: EmbedderConfig,
    /// Timeout of a call of a model.
    pub timeout: Duration,
    /// Model that writes the contexts of chunks; `None` embeds them without.
    pub context: Option<Arc<Target>>,
    /// Model that ranks passages; `None` leaves them as they were found.
    pub reranker: Option<TimedTarget>,
}

/// Embedder of documents and questions.
#[derive(Debug, Clone)]
pub enum EmbedderConfig {
    /// Local one for development, which is no model.
    Hashed,
    /// Model of a provider.
    Provider {
        /// Model to call.
        target: Arc<Target>,
        /// Number of texts in one call.
        batch_size: usize,
    },
}

impl KnowledgeConfig {
    /// Reads the four sections.
    pub(super) fn from_sections(all: &mut Section<'_>, catalogue: &ModelCatalogue) -> Self {
        let is_development = all.environment().is_development();
        let vectors = vector_target(all);

        let mut from = all.section("Knowledge");
        let ingest_key = from.reload("IngestApiKey").optional::<IngestKey>().map(|it| it.0);
        let mode = from.reload("Mode").or(KnowledgeMode::default());
        let max_passages = from.reload("MaxPassages").within(6, 1..=50);
        let min_similarity = from.reload("MinSimilarity").optional::<Ratio>().map(|it| it.0);
        let unanswered_questions = from.reload("UnansweredQuestions").or(false);
        let workers = from.restart("Workers").within(4, 1..=32);
        let question_model = timed::question_model(&mut from.section("Question"), catalogue);
        let max_attempts = from.reload("MaxAttempts").within(8_u32, 1..=100);

        let embedder = read_embedder(&mut all.section("Embeddings"), catalogue, is_development);

        let mut rerank = all.section("Rerank");
        let min_rank_score = rerank.reload("MinScore").optional::<Ratio>().map(|it| it.0);
        let reranker = timed::reranker(&mut rerank, catalogue);
        let retrieval = RetrievalSettings { max_passages, min_similarity, min_rank_score };

        let chunking = read_chunking(&mut all.section("Chunking"));
        let context = context_model(&mut all.section("Chunking").section("Context"), catalogue);

        if vectors.is_some() && embedder.is_none() {
            let text = "knowledge is off: Embeddings names no provider that embeds documents";
            all.section("Knowledge").warn("ConnectionString", text);
        }

        let stores = vectors.zip(embedder).map(|(vectors, (embedder, timeout))| KnowledgeStores {
            vectors,
            embedder,
            timeout,
            context,
            reranker,
        });

        Self {
            stores,
            ingest_key,
            mode,
            question_model,
            retrieval,
            chunking,
            unanswered_questions,
            workers,
            max_attempts,
        }
    }
}

/// Reads the vector store; `None` if knowledge is off.
pub(super) fn vector_target(all: &mut Section<'_>) -> Option<VectorTarget> {
    let is_development = all.environment().is_development();
    let dir = all.dir().to_owned();
    let mut from = all.section("Knowledge");
    let target = from.restart("ConnectionString").optional_or_blank::<ConnectionString>();
    let default = is_development.then(|| VectorTarget::Embedded("vectors".into()));
    target.map_or(default, |it| it.0).map(|it| it.in_folder(&dir))
}

/// Reads the name of the model that embeds documents, for administration.
pub(super) fn read_embedding_model(all: &mut Section<'_>) -> String {
    let is_development = all.environment().is_development();
    let EmbeddingModel { provider, model } =
        EmbeddingModel::from_section(&mut all.section("Embeddings"), is_development);
    if provider.is_some_and(|it| is_local(&it)) { HashedEmbedder::MODEL.to_owned() } else { model }
}

/// Model that embeds documents, as it is configured.
struct EmbeddingModel {
    /// Id of its provider; `None` if knowledge is off.
    provider: Option<String>,
    /// Name, which the local embedder ignores.
    model: String,
}

impl EmbeddingModel {
    fn from_section(from: &mut Section<'_>, is_development: bool) -> Self {
        let default = is_development.then(|| LOCAL.to_owned());
        let provider =
            from.restart("ProviderId").optional_or_blank::<ProviderId>().map_or(default, |it| it.0);
        let model = from.restart("Model").or(DEFAULT_MODEL.to_owned());
        Self { provider, model }
    }
}

fn is_local(provider: &str) -> bool {
    provider.eq_ignore_ascii_case(LOCAL)
}

/// Returns the embedder and the timeout of models; `None` if knowledge is off.
fn read_embedder(
    from: &mut Section<'_>,
    catalogue: &ModelCatalogue,
    is_development: bool,
) -> Option<(EmbedderConfig, Duration)> {
    let EmbeddingModel { provider, model } = EmbeddingModel::from_section(from, is_development);
    let dimension = from.restart("Dimension").or(VECTOR_SIZE);
    let timeout_seconds = from.restart("TimeoutSeconds").within(100_u32, 1..=3600);
    let timeout = Duration::from_secs(timeout_seconds.into());
    let batch_size = from.restart("BatchSize").within(64, 1..=2048);
    if dimension != VECTOR_SIZE {
        from.warn("Dimension", format!("knowledge is off: only {VECTOR_SIZE} is supported"));
        return None;
    }

    let provider = provider?;
    if is_local(&provider) {
        return Some((EmbedderConfig::Hashed, timeout));
    }

    let Some(entry) = catalogue.embedder(&provider).or_else(|| catalogue.entry(&provider)) else {
        from.refuse("ProviderId", Reason::combination("names no entry of Ai:Providers"));
        return None;
    };
    if entry.provider == ProviderType::Anthropic {
        let reason = Reason::combination("this type of provider has no embeddings");
        from.refuse("ProviderId", reason);
        return None;
    }

    let target = Arc::new(Target { model, ..(**entry).clone() });

    Some((EmbedderConfig::Provider { target, batch_size }, timeout))
}

/// Returns the model that writes contexts.
fn context_model(from: &mut Section<'_>, catalogue: &ModelCatalogue) -> Option<Arc<Target>> {
    let is_enabled = from.restart("Enabled").or(true);
    let provider = from.restart("ProviderId").optional::<String>()?;
    let Some(entry) = catalogue.entry(&provider) else {
        let reason = Reason::combination("names no chat model of Ai:Providers");
        from.refuse("ProviderId", reason);
        return None;
    };
    is_enabled.then(|| Arc::clone(entry))
}

fn read_chunking(from: &mut Section<'_>) -> ChunkingSettings {
    let default = ChunkingSettings::default();
    let max_chars = from.reload("MaxChars").within(default.max_chars, 200..=8_000);
    let overlap_chars = from.reload("OverlapChars").within(default.overlap_chars, 0..=4_000);
    if overlap_chars * 2 > max_chars {
        let reason = Reason::combination("expected at most half of Chunking:MaxChars");
        from.refuse("OverlapChars", reason);
    }
    ChunkingSettings { max_chars, overlap_chars }
}

/// Connection string; `None` for a blank one, which turns knowledge off.
struct ConnectionString(Option<VectorTarget>);

impl Setting for ConnectionString {
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, Reason> {
        if text.trim().is_empty() {
            return Ok(Self(None));
        }
        VectorTarget::parse(text)
            .map(|it| Self(Some(it)))
            .map_err(|err| Reason::form(err.to_string()))
    }

    fn format(&self) -> String {
        self.0.as_ref().map(VectorTarget::format).unwrap_or_default()
    }
}

/// Id of a catalogue entry; `None` for a blank one.
struct ProviderId(Option<String>);

impl Setting for ProviderId {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        if text.trim().is_empty() {
            return Ok(Self(None));
        }
        String::parse(text).map(|it| Self(Some(it)))
    }

    fn format(&self) -> String {
        self.0.clone().unwrap_or_default()
    }
}

/// Key of the ingest API.
struct IngestKey(Secret<String>);

impl Setting for IngestKey {
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, Reason> {
        let key = Secret::<String>::parse(text)?;
        if text.chars().count() < MIN_KEY_CHARS || known_secrets::is_known(text) {
            return Err(Reason::weak("expected at least 16 random characters"));
        }
        // It is sent in a header, which is trimmed.
        if !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(Reason::form("expected plain letters, digits and signs without blanks"));
        }
        Ok(Self(key))
    }

    fn format(&self) -> String {
        self.0.expose().clone()
    }
}

impl Setting for KnowledgeMode {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|it| (it.name(), it)).into()
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        self.name().to_owned()
    }
}
