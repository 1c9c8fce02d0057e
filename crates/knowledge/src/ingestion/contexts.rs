//! Contexts of chunks, before these are embedded.

use futures_util::future::try_join_all;

use super::tokens::estimate;
use super::{IngestError, Ingestion, held};
use crate::ports::context_writer::ContextRequest;
use crate::ports::ingest_queue::{IngestJob, PendingChunk};

/// Number of contexts that are written at once.
const AT_ONCE: usize = 4;
/// Maximum length of a context, in bytes.
const MAX_CONTEXT_BYTES: usize = 1_000;
/// Tokens that a model may write for a context.
const OUTPUT_TOKENS: i64 = 200;

impl Ingestion {
    /// Writes the contexts of the first chunks that have none. Returns false if
    /// none are left, or nothing writes contexts.
    pub(super) async fn write_contexts(
        &self,
        job: &IngestJob,
        pending: &[PendingChunk],
    ) -> Result<bool, IngestError> {
        let Some(writer) = &self.context_writer else { return Ok(false) };
        let missing = pending.iter().enumerate().filter(|(_, it)| it.context.is_none());
        let missing: Vec<usize> = missing.map(|it| it.0).take(AT_ONCE).collect();
        if missing.is_empty() {
            return Ok(false);
        }
        let beginning = self.queue.beginning(job.claim).await?;
        let requests: Vec<ContextRequest> =
            missing.iter().map(|at| request(job, &beginning, pending, *at)).collect();
        let lengths: Vec<usize> = requests.iter().map(ContextRequest::len).collect();
        let output = OUTPUT_TOKENS * i64::try_from(requests.len()).unwrap_or(i64::MAX);
        self.reserve(job.claim, estimate(&lengths).saturating_add(output)).await?;
        let written = try_join_all(requests.into_iter().map(|it| writer.write(it))).await?;
        let ids = missing.iter().filter_map(|at| pending.get(*at)).map(|it| it.id);
        let contexts = ids.zip(written).map(|(id, it)| {
            let text = it.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let end = text.floor_char_boundary(MAX_CONTEXT_BYTES);
            (id, text.get(..end).unwrap_or_default().to_owned(), it.tokens.max(0))
        });
        let stored = self.queue.put_contexts(job.claim, contexts.collect(), self.clock.now());
        held(stored.await?)?;
        Ok(true)
    }
}

/// Returns the request for the context of a pending chunk.
fn request(
    job: &IngestJob,
    beginning: &str,
    pending: &[PendingChunk],
    at: usize,
) -> ContextRequest {
    let text = |at: Option<usize>| {
        at.and_then(|it| pending.get(it)).map(|it| it.text.clone()).unwrap_or_default()
    };
    ContextRequest {
        title: job.title.clone(),
        beginning: beginning.to_owned(),
        before: text(at.checked_sub(1)),
        chunk: text(Some(at)),
        after: text(at.checked_add(1)),
    }
}
