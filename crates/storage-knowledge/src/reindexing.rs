//! Start of indexing a base again; `finish_reindex` in `publication.rs` ends it.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_knowledge::DocumentStatus;
use pia_storage::schema::{knowledge_bases, knowledge_documents};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait, lock_row};

use crate::new_content::StoreContent;
use crate::publication::{AT_ONCE, PublishContent};

connection_trait! {
    /// Indexing of a base again.
    pub(crate) trait StartReindex {
        /// Queues the documents of a base, and holds the new content of those that
        /// searches find until all have it. Returns their number.
        ///
        /// While the base is indexed by this model already, only documents that
        /// failed are queued. By another model, those that wait start over too.
        async fn start_reindex(
            &mut self,
            base: DbUid,
            model: &str,
            at: DbInstant,
        ) -> Result<u64, DbError> {
            let documents =
                knowledge_documents::table.filter(knowledge_documents::base_id.eq(base));
            // Documents are locked before their base, as by workers.
            lock_row!(self, documents, knowledge_documents::fence);

            let Some(models) = self.lock_base(base).await? else { return Ok(0) };
            if models.reindex_model.as_deref() == Some(model) {
                let failed_ids: Vec<DbUid> = documents
                    .filter(knowledge_documents::status.eq(DocumentStatus::Failed.name()))
                    .select(knowledge_documents::id)
                    .load(self)
                    .await?;
                for document in &failed_ids {
                    self.resume_document(*document, at).await?;
                }
                return Ok(failed_ids.len() as u64);
            }

            let is_changing = models.target().is_some_and(|it| it != model);
            let queued_ids: Vec<DbUid> = documents
                .filter(
                    knowledge_documents::due_at
                        .is_null()
                        .or(is_changing.into_sql::<diesel::sql_types::Bool>()),
                )
                .select(knowledge_documents::id)
                .load(self)
                .await?;
            self.queue_documents(&queued_ids, at).await?;

            if models.model.is_some() {
                for batch in queued_ids.chunks(AT_ONCE) {
                    let searched_documents = knowledge_documents::table
                        .filter(knowledge_documents::id.eq_any(batch))
                        .filter(knowledge_documents::chunk_count.gt(0));
                    let is_held = knowledge_documents::is_held.eq(true);
                    diesel::update(searched_documents).set(is_held).execute(self).await?;
                }

                let new_model = knowledge_bases::reindex_model.eq(Some(model));
                let row = knowledge_bases::table.find(base);
                diesel::update(row).set(new_model).execute(self).await?;
                self.finish_reindex(base).await?;
            }

            Ok(queued_ids.len() as u64)
        }
    }
}
