//! Embedders whose time is summed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pia_knowledge::{EmbedError, Embedder, Embedding, HashedEmbedder, VECTOR_SIZE};

use tokio::sync::Semaphore;

use super::points::unit;
use super::sample::Sample;

/// Time that a provider takes for a batch.
const BATCH: Duration = Duration::from_millis(100);

/// Embedder that sums the time of its calls.
pub(super) struct Timed<E> {
    inner: E,
    /// Number of calls that it serves at once; others wait.
    pub(super) slots: u32,
    free: Semaphore,
    spent: Mutex<Spent>,
}

/// Times in an embedder.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    /// Sum of all calls.
    pub(super) calls: Duration,
    /// Time with at least one call in progress.
    pub(super) busy: Duration,
    running: u32,
    since: Option<Instant>,
}

impl<E: Embedder> Timed<E> {
    pub(super) fn new(inner: E, slots: u32) -> Arc<Self> {
        let free = Semaphore::new(slots as usize);
        Arc::new(Self { inner, slots, free, spent: Mutex::new(Spent::default()) })
    }

    pub(super) fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.running += 1;
        spent.since = spent.since.or_else(|| Some(Instant::now()));
    }

    fn end(&self, took: Duration) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.calls += took;
        spent.running = spent.running.saturating_sub(1);
        if spent.running == 0 {
            let busy = spent.since.take().map(|it| it.elapsed()).unwrap_or_default();
            spent.busy += busy;
        }
    }
}

#[async_trait]
impl<E: Embedder> Embedder for Timed<E> {
    fn model(&self) -> String {
        self.inner.model()
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn min_similarity(&self) -> f32 {
        self.inner.min_similarity()
    }

    async fn embed(&self, model: &str, texts: Vec<String>) -> Result<Embedding, EmbedError> {
        let _slot = self.free.acquire().await;
        let start = Instant::now();
        self.begin();
        let result = self.inner.embed(model, texts).await;
        self.end(start.elapsed());
        result
    }
}

/// Embedder that waits, as for a provider. Its vectors mean nothing.
pub(super) struct Provider;

#[async_trait]
impl Embedder for Provider {
    fn model(&self) -> String {
        "waiting".to_owned()
    }

    fn batch_size(&self) -> usize {
        HashedEmbedder.batch_size()
    }

    fn min_similarity(&self) -> f32 {
        0.0
    }

    async fn embed(&self, _: &str, texts: Vec<String>) -> Result<Embedding, EmbedError> {
        tokio::time::sleep(BATCH).await;
        let mut sample = Sample::new(texts.iter().map(String::len).sum());
        let vector = |_| unit((0..VECTOR_SIZE).map(|_| sample.centred()).collect());
        let vectors: Vec<_> = texts.iter().map(vector).collect();
        let tokens = i64::try_from(vectors.len()).unwrap_or(i64::MAX) * 300;
        Ok(Embedding { vectors, tokens })
    }
}
