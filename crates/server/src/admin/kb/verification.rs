//! `pia-server admin kb verify`: compares a base with what searches find.

use std::sync::Arc;

use pia_knowledge::{Document, DocumentStatus, KnowledgeBase, Reconciliation, VerifiedChunks};
use pia_vectors::VectorSetupError;

use super::{KbServices, base_ref};
use crate::admin::{AdminError, line};
use crate::compose::{ComposeError, open_vectors};

/// Repair of points that are missing.
const REPAIR: &str = "a server restores them when it starts, and every six hours";

impl KbServices {
    /// Reports documents that are not ready, and chunks whose points are missing
    /// in the vector store.
    pub(super) async fn verify(&self, base: &str) -> Result<String, AdminError> {
        let base = self.resolve(base).await?.base;
        let documents = self.documents.list(base_ref(base.id)).await?;
        let count = documents.len();
        let mut faults = String::new();
        for Document { title, status, error, .. } in documents {
            if status != DocumentStatus::Ready {
                let error = error.map(|it| format!(": {it}")).unwrap_or_default();
                line(&mut faults, format_args!("{title}: {}{error}", status.name()));
            }
        }

        if !faults.is_empty() {
            faults = format!("documents that are not ready:\n{faults}");
        }

        let comparison = self.verify_points(&base).await?;
        if let Ok(VerifiedChunks { published, missing: missing @ 1.. }) = comparison {
            let text = "chunks are missing in the vector store";
            line(&mut faults, format_args!("{missing} of {published} {text}; {REPAIR}"));
        }

        let remark = match comparison {
            Ok(it) => format!("{} chunks compared with the vector store\n", it.published),
            Err(reason) => format!("The vector store was not compared: {reason}\n"),
        };

        if faults.is_empty() {
            return Ok(format!("All {count} documents of {} are ready\n{remark}", base.name));
        }

        Err(AdminError::Unsound(format!("{faults}{remark}")))
    }

    /// Compares the chunks of a base with the vector store, or returns why that
    /// is not possible.
    async fn verify_points(
        &self,
        base: &KnowledgeBase,
    ) -> Result<Result<VerifiedChunks, String>, AdminError> {
        let Some(target) = &self.vectors else {
            return Ok(Err("Knowledge:ConnectionString is not set".to_owned()));
        };

        let vectors = match open_vectors(target).await {
            Ok(vectors) => vectors,
            Err(ComposeError::Vectors(VectorSetupError::InUse)) => {
                let reason = "a server uses it, and compares it when it starts and every six hours";
                return Ok(Err(reason.to_owned()));
            }
            Err(err) => return Ok(Err(err.to_string())),
        };
        let stores = Reconciliation { chunks: Arc::clone(&self.chunks), vectors };
        Ok(stores.verify(base.id).await.map_err(|err| err.to_string()))
    }
}
