//! Publication of new content, of one document or of a base that was indexed
//! again.
//!
//! Usually a document is published on its own. While a base changes its model, its
//! documents are held (`is_held`), since vectors of two models cannot be compared:
//! `finish_reindex` publishes them together once none is waited for. Every change
//! that may end the wait calls it: publication, failure and deletion.

use diesel::dsl::{exists, not, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel_async::RunQueryDsl;
use pia_knowledge::DocumentStatus;
use pia_storage::schema::{knowledge_bases, knowledge_chunks, knowledge_documents};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait, lock_row};

use crate::removal::RemoveChunks;

/// Number of documents that are changed in one statement.
pub(crate) const AT_ONCE: usize = 1_000;
/// Sum of the tokens of a document's chunks, in SQL.
const TOKENS: &str = "(SELECT CAST(COALESCE(SUM(knowledge_chunks.tokens), 0) AS BIGINT) \
    FROM knowledge_chunks WHERE knowledge_chunks.document_id = knowledge_documents.id)";

/// Models of a base.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = knowledge_bases)]
pub(crate) struct BaseModels {
    /// Model that embedded what searches find; `None` if they find nothing.
    pub(crate) model: Option<String>,
    /// Model with which the base is being indexed again; `None` if it is not.
    pub(crate) reindex_model: Option<String>,
}

impl BaseModels {
    /// Returns the model that embeds new content; `None` leaves the choice to the
    /// first document.
    pub(crate) fn target(&self) -> Option<&String> {
        self.reindex_model.as_ref().or(self.model.as_ref())
    }

    /// Returns whether searches find content of another model than new content
    /// has.
    pub(crate) fn is_changing(&self) -> bool {
        self.reindex_model.is_some() && self.reindex_model != self.model
    }

    /// Returns whether the new content of a document waits for that of others.
    pub(crate) fn holds(&self, is_held: bool) -> bool {
        self.model.is_some() && self.reindex_model.is_some() && (is_held || self.is_changing())
    }
}

connection_trait! {
    /// Publication of new content.
    pub(crate) trait PublishContent {
        /// Locks a base until the commit and loads its models; `None` if it is
        /// gone. Documents that a worker may have are locked before their base.
        async fn lock_base(&mut self, base: DbUid) -> Result<Option<BaseModels>, DbError> {
            let row = knowledge_bases::table.find(base);
            lock_row!(self, row, knowledge_bases::served_at);
            Ok(row.select(BaseModels::as_select()).first(self).await.optional()?)
        }

        /// Makes the new content of documents the one that searches find.
        async fn publish_documents(&mut self, documents: &[DbUid]) -> Result<(), DbError> {
            for documents in documents.chunks(AT_ONCE) {
                self.remove_chunks(documents, true).await?;
                let chunks = knowledge_chunks::table
                    .filter(knowledge_chunks::document_id.eq_any(documents));
                let is_published = knowledge_chunks::is_published.eq(true);
                diesel::update(chunks).set(is_published).execute(self).await?;

                let ready_columns = (
                    knowledge_documents::status.eq(DocumentStatus::Ready.name()),
                    knowledge_documents::error.eq(None::<String>),
                    knowledge_documents::chunk_count.eq(knowledge_documents::new_chunks),
                    knowledge_documents::tokens.eq(sql::<BigInt>(TOKENS)),
                    knowledge_documents::new_model.eq(None::<String>),
                    knowledge_documents::is_held.eq(false),
                    knowledge_documents::failures.eq(0),
                    knowledge_documents::due_at.eq(None::<DbInstant>),
                );

                let rows =
                    knowledge_documents::table.filter(knowledge_documents::id.eq_any(documents));
                diesel::update(rows).set(ready_columns).execute(self).await?;
            }

            Ok(())
        }

        /// Removes documents from what searches find.
        async fn withdraw_documents(&mut self, documents: &[DbUid]) -> Result<(), DbError> {
            for documents in documents.chunks(AT_ONCE) {
                self.remove_chunks(documents, true).await?;
                let empty_content =
                    (knowledge_documents::chunk_count.eq(0), knowledge_documents::tokens.eq(0));
                let rows =
                    knowledge_documents::table.filter(knowledge_documents::id.eq_any(documents));
                diesel::update(rows).set(empty_content).execute(self).await?;
            }
            Ok(())
        }

        /// Lets the next document choose the model of a base in which searches find
        /// nothing. The base is locked.
        async fn forget_model(&mut self, base: DbUid) -> Result<(), DbError> {
            let searched_documents = knowledge_documents::table
                .filter(knowledge_documents::base_id.eq(base))
                .filter(knowledge_documents::chunk_count.gt(0));
            let empty_base =
                knowledge_bases::table.find(base).filter(not(exists(searched_documents)));
            let no_model = knowledge_bases::model.eq(None::<String>);
            diesel::update(empty_base).set(no_model).execute(self).await?;
            Ok(())
        }

        /// Publishes what a base that is being indexed again holds, unless it
        /// still waits for a document. With another model, searches no longer find
        /// documents that failed, since their vectors could not be compared.
        async fn finish_reindex(&mut self, base: DbUid) -> Result<(), DbError> {
            let Some(models) = self.lock_base(base).await? else { return Ok(()) };
            let Some(model) = &models.reindex_model else { return Ok(()) };

            let is_changing = models.is_changing();
            let documents = knowledge_documents::table.filter(knowledge_documents::base_id.eq(base));
            let waiting_count: i64 = documents
                .filter(knowledge_documents::due_at.is_not_null())
                .filter(knowledge_documents::chunk_count.gt(0))
                .filter(knowledge_documents::is_held.eq(true).or(is_changing.into_sql::<Bool>()))
                .count()
                .get_result(self)
                .await?;

            if waiting_count > 0 {
                return Ok(());
            }

            let held_ids: Vec<DbUid> = documents
                .filter(knowledge_documents::is_held.eq(true))
                .filter(knowledge_documents::status.eq(DocumentStatus::Processing.name()))
                .select(knowledge_documents::id)
                .load(self)
                .await?;
            self.publish_documents(&held_ids).await?;

            // All others have failed.
            let failed_documents = documents
                .filter(knowledge_documents::status.eq(DocumentStatus::Failed.name()));
            let not_held = knowledge_documents::is_held.eq(false);
            diesel::update(failed_documents).set(not_held).execute(self).await?;

            if is_changing {
                let failed_ids: Vec<DbUid> =
                    failed_documents.select(knowledge_documents::id).load(self).await?;
                self.withdraw_documents(&failed_ids).await?;
            }

            let finished_columns = (
                knowledge_bases::model.eq(Some(model)),
                knowledge_bases::reindex_model.eq(None::<String>),
            );
            diesel::update(knowledge_bases::table.find(base))
                .set(finished_columns)
                .execute(self)
                .await?;

            Ok(())
        }
    }
}
