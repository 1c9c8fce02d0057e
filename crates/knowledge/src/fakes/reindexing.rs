//! Indexing of a base again, in memory.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use pia_kernel::{DocumentId, KnowledgeBaseId, Timestamp};

use super::{InMemory, State};
use crate::document::DocumentStatus;
use crate::hashed_embedder::HashedEmbedder;
use crate::ports::embedder::{EmbedError, Embedder, Embedding};

impl InMemory {
    /// Queues the documents of a base, to be embedded by this model.
    pub(crate) fn reindex(&self, base: KnowledgeBaseId, model: &str) {
        let mut state = self.state();
        let models = state.rows.models.get_mut(&base).unwrap();
        models.reindex_model = Some(model.to_owned());
        let published_documents: Vec<DocumentId> = state.rows.published_documents();
        for (id, row) in state.rows.documents.iter_mut().filter(|it| it.1.base == base) {
            row.status = DocumentStatus::Pending;
            row.due_at = Some(Timestamp::UNIX_EPOCH);
            row.is_held = published_documents.contains(id);
            row.fence += 1;
            row.split_for = None;
        }
    }
}

impl super::Rows {
    /// Returns the documents that searches find.
    fn published_documents(&self) -> Vec<DocumentId> {
        self.chunks.iter().filter(|it| it.is_published).map(|it| it.document).collect()
    }
}

impl State {
    /// Makes the new content of a document the one that searches find.
    pub(super) fn publish_document(&mut self, document: DocumentId) {
        self.remove_chunks(document, true);
        for chunk in self.rows.chunks.iter_mut().filter(|it| it.document == document) {
            chunk.is_published = true;
        }
        let row = self.rows.documents.get_mut(&document).unwrap();
        row.status = DocumentStatus::Ready;
        row.error = None;
        row.due_at = None;
        row.failures = 0;
        row.split_for = None;
        row.is_held = false;
    }

    /// Publishes what a base holds, unless it waits for a document.
    pub(super) fn finish_reindex(&mut self, base: KnowledgeBaseId) {
        let models = self.rows.models.entry(base).or_default().clone();
        if models.reindex_model.is_none() {
            return;
        }

        let published_documents = self.rows.published_documents();
        let mut documents = self.rows.documents.clone();
        documents.retain(|_, row| row.base == base);
        let is_waiting = documents.iter().any(|(id, row)| {
            let is_waited_for = row.is_held || models.is_changing();
            row.due_at.is_some() && published_documents.contains(id) && is_waited_for
        });
        if is_waiting {
            return;
        }

        for (id, row) in documents {
            if row.is_held && row.status == DocumentStatus::Processing {
                self.publish_document(id);
            } else if row.status == DocumentStatus::Failed {
                // Its vectors cannot be compared with those of the new model.
                if models.is_changing() {
                    self.remove_chunks(id, true);
                }
                self.rows.documents.get_mut(&id).unwrap().is_held = false;
            }
        }

        let models = self.rows.models.get_mut(&base).unwrap();
        models.model = models.reindex_model.take();
    }
}

/// Embedder of several models, whose vectors cannot be compared.
#[derive(Debug)]
pub(crate) struct ModelEmbedder {
    pub(crate) configured: &'static str,
    pub(crate) has_old: AtomicBool,
}

/// Model that is no longer configured.
pub(crate) const OLD: &str = "old";
/// Model that is configured.
pub(crate) const NEW: &str = "new";

impl ModelEmbedder {
    pub(crate) fn new(configured: &'static str) -> Self {
        Self { configured, has_old: AtomicBool::new(true) }
    }
}

#[async_trait]
impl Embedder for ModelEmbedder {
    fn model(&self) -> String {
        self.configured.to_owned()
    }

    fn batch_size(&self) -> usize {
        2
    }

    fn min_similarity(&self) -> f32 {
        HashedEmbedder.min_similarity()
    }

    async fn embed(&self, model: &str, texts: Vec<String>) -> Result<Embedding, EmbedError> {
        if model == OLD && !self.has_old.load(Ordering::SeqCst) {
            return Err(EmbedError::Rejected("no such model".to_owned()));
        }
        let mut embedding = HashedEmbedder.embed(HashedEmbedder::MODEL, texts).await?;
        if model == OLD {
            for vector in &mut embedding.vectors {
                vector.rotate_left(500);
            }
        }
        Ok(embedding)
    }
}
