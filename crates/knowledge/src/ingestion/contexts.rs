//! Contexts of chunks, before these are embedded.
//!
//! A context is one or two sentences of a model that say what a chunk is about. It
//! is embedded and indexed with the chunk, but not cited. `embed_chunks` in
//! `ingestion.rs` calls `write_contexts` until no chunk of a batch lacks one.

use futures_util::future::join_all;

use super::tokens::estimate;
use super::{IngestError, Ingestion, ensure_held};
use crate::ports::chunk_store::ChunkId;
use crate::ports::context_writer::{ContextRequest, WrittenContext};
use crate::ports::embedder::EmbedError;
use crate::ports::ingest_queue::{ChunkContext, IngestJob, PendingChunk};

/// Number of contexts that are written concurrently.
const AT_ONCE: usize = 4;
/// Maximum length of a context, in bytes.
const MAX_CONTEXT_BYTES: usize = 1_000;
/// Tokens that a model may write for a context.
const OUTPUT_TOKENS: i64 = 200;

impl Ingestion {
    /// Returns the positions of the first chunks that need a context; none if nothing
    /// writes contexts.
    pub(super) fn chunks_without_context(&self, pending_chunks: &[PendingChunk]) -> Vec<usize> {
        if self.context_writer.is_none() {
            return Vec::new();
        }

        pending_chunks
            .iter()
            .enumerate()
            .filter(|(_, chunk)| chunk.context.is_none())
            .map(|(index, _)| index)
            .take(AT_ONCE)
            .collect()
    }

    /// Writes the contexts of the chunks at these positions. Contexts that were
    /// written are stored even if others failed, since they are paid for.
    pub(super) async fn write_contexts(
        &self,
        job: &IngestJob,
        pending_chunks: &[PendingChunk],
        positions: &[usize],
    ) -> Result<(), IngestError> {
        let Some(writer) = &self.context_writer else { return Ok(()) };

        let beginning = self.queue.beginning(job.claim).await?;
        let requests: Vec<ContextRequest> =
            positions.iter().map(|at| request(job, &beginning, pending_chunks, *at)).collect();
        let lengths: Vec<usize> = requests.iter().map(ContextRequest::len).collect();
        let output = OUTPUT_TOKENS * i64::try_from(requests.len()).unwrap_or(i64::MAX);
        self.reserve(job.claim, estimate(&lengths).saturating_add(output)).await?;
        let outcomes = join_all(requests.into_iter().map(|it| writer.write(it))).await;
        let ids = positions.iter().filter_map(|at| pending_chunks.get(*at)).map(|it| it.id);

        // Those that were written are stored before the first failure is returned.
        let mut contexts = Vec::new();
        let mut failure = None;
        for (id, outcome) in ids.zip(outcomes) {
            match chunk_context(id, outcome) {
                Ok(context) => contexts.push(context),
                Err(err) => failure = failure.or(Some(err)),
            }
        }

        if !contexts.is_empty() {
            ensure_held(self.queue.put_contexts(job.claim, contexts, self.clock.now()).await?)?;
        }

        match failure {
            Some(err) => Err(err.into()),
            None => Ok(()),
        }
    }
}

/// Returns the context of a chunk. If the model rejects the chunk, the context is
/// empty: searches find the chunk without one.
fn chunk_context(
    chunk: ChunkId,
    outcome: Result<WrittenContext, EmbedError>,
) -> Result<ChunkContext, EmbedError> {
    let written_context = match outcome {
        Ok(written_context) => written_context,
        Err(err @ EmbedError::Rejected(_)) => {
            tracing::warn!(%chunk, error = %err, "a chunk has no context");
            return Ok(ChunkContext { chunk, text: String::new(), tokens: 0 });
        }
        Err(err) => return Err(err),
    };
    let mut text = written_context.text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        tracing::warn!(%chunk, "a chunk has no context: the model wrote none");
    }

    text.truncate(text.floor_char_boundary(MAX_CONTEXT_BYTES));

    Ok(ChunkContext { chunk, text, tokens: written_context.tokens.max(0) })
}

/// Returns the request for the context of a pending chunk.
fn request(
    job: &IngestJob,
    beginning: &str,
    pending: &[PendingChunk],
    at: usize,
) -> ContextRequest {
    let before = at.checked_sub(1).and_then(|index| pending.get(index));
    let chunk = pending.get(at);
    let after = at.checked_add(1).and_then(|index| pending.get(index));

    ContextRequest {
        title: job.title.clone(),
        beginning: beginning.to_owned(),
        before: if is_next(before, chunk) { text_of(before) } else { String::new() },
        chunk: text_of(chunk),
        after: if is_next(chunk, after) { text_of(after) } else { String::new() },
    }
}

/// Returns whether the second chunk follows the first in the document: those
/// between two pending ones may have their vectors already.
fn is_next(first: Option<&PendingChunk>, second: Option<&PendingChunk>) -> bool {
    match (first, second) {
        (Some(first), Some(second)) => first.ordinal + 1 == second.ordinal,
        _ => false,
    }
}

fn text_of(chunk: Option<&PendingChunk>) -> String {
    chunk.map(|it| it.text.clone()).unwrap_or_default()
}
