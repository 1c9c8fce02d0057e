//! Removal of chunks, whose points are then removed from the vector store.
//!
//! A point cannot be deleted in a transaction of the database. So the ids of removed
//! chunks are stored in `knowledge_removed_chunks`, in the transaction that deletes
//! them, and `Reconciliation::delete_removed` deletes their points afterwards.

use std::collections::HashSet;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_storage::schema::{
    knowledge_bases, knowledge_chunks, knowledge_documents, knowledge_removed_chunks,
};
use pia_storage::{DbError, DbUid, connection_trait};

connection_trait! {
    /// Removal of chunks, of their documents and of bases.
    pub(crate) trait RemoveChunks {
        /// Deletes the chunks of documents, published or not, and queues their
        /// points for removal. SQLite takes 32,766 documents at once.
        async fn remove_chunks(
            &mut self,
            documents: &[DbUid],
            is_published: bool,
        ) -> Result<(), DbError> {
            let chunks = || {
                knowledge_chunks::table
                    .filter(knowledge_chunks::document_id.eq_any(documents))
                    .filter(knowledge_chunks::is_published.eq(is_published))
            };

            diesel::insert_into(knowledge_removed_chunks::table)
                .values(chunks().select(knowledge_chunks::id))
                .into_columns(knowledge_removed_chunks::id)
                .execute(self)
                .await?;
            diesel::delete(chunks()).execute(self).await?;
            Ok(())
        }

        /// Queues the points of chunks that no longer exist for removal. Other
        /// chunks are ignored.
        async fn discard_points(&mut self, chunks: &[DbUid]) -> Result<(), DbError> {
            let existing_chunks: Vec<DbUid> = knowledge_chunks::table
                .filter(knowledge_chunks::id.eq_any(chunks))
                .select(knowledge_chunks::id)
                .load(self)
                .await?;
            let existing_ids: HashSet<DbUid> = existing_chunks.into_iter().collect();
            let removed_chunks: Vec<DbUid> =
                chunks.iter().copied().filter(|it| !existing_ids.contains(it)).collect();
            for chunk in removed_chunks {
                diesel::insert_into(knowledge_removed_chunks::table)
                    .values(knowledge_removed_chunks::id.eq(chunk))
                    .on_conflict_do_nothing()
                    .execute(self)
                    .await?;
            }

            Ok(())
        }

        /// Deletes a base with its documents, and queues the points of their
        /// chunks for removal.
        async fn remove_base(&mut self, base: DbUid) -> Result<(), DbError> {
            // Claims of its documents are lost.
            let documents =
                knowledge_documents::table.filter(knowledge_documents::base_id.eq(base));
            let fence = knowledge_documents::fence.eq(knowledge_documents::fence + 1);
            diesel::update(documents).set(fence).execute(self).await?;

            let chunks = knowledge_chunks::table
                .inner_join(knowledge_documents::table)
                .filter(knowledge_documents::base_id.eq(base))
                .select(knowledge_chunks::id);

            diesel::insert_into(knowledge_removed_chunks::table)
                .values(chunks)
                .into_columns(knowledge_removed_chunks::id)
                .execute(self)
                .await?;
            diesel::delete(knowledge_bases::table.find(base)).execute(self).await?;

            Ok(())
        }
    }
}
