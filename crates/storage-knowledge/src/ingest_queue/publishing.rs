//! Publication of a claimed document.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_knowledge::{DocumentStatus, IngestClaim};
use pia_storage::schema::{knowledge_bases, knowledge_documents};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait, in_tx, lock_row};

use super::SqlIngestQueue;
use crate::publication::PublishContent;

/// Document whose new content is embedded.
#[derive(Debug, Queryable)]
struct EmbeddedDocument {
    base: DbUid,
    /// Model that embedded the new content.
    model: Option<String>,
    /// Set if the new content waits for that of other documents.
    is_held: bool,
}

impl SqlIngestQueue {
    /// Publishes the content of a claim, or lets it wait for other documents of its base.
    /// Returns false if the claim was lost, or its content was made for another model.
    pub(super) async fn publish_content(&self, claim: IngestClaim) -> Result<bool, DbError> {
        let document = DbUid(claim.document.0);

        let embedded_columns = of_claim!(claim).select((
            knowledge_documents::base_id,
            knowledge_documents::new_model,
            knowledge_documents::is_held,
        ));

        in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            if !lock_claim!(conn, claim) {
                return Ok(false);
            }

            let embedded: EmbeddedDocument = embedded_columns.first(conn).await?;
            let Some(models) = conn.lock_base(embedded.base).await? else { return Ok(false) };

            if models.target().is_some_and(|it| Some(it) != embedded.model.as_ref()) {
                // Another document was the first of its base and chose its model.
                conn.restart_claim(claim).await?;
                return Ok(false);
            }

            if models.holds(embedded.is_held) {
                conn.hold_content(claim).await?;
            } else {
                conn.publish_documents(&[document]).await?;
                conn.choose_model(embedded.base, embedded.model).await?;
            }
            conn.finish_reindex(embedded.base).await?;

            Ok(true)
        })
    }
}

connection_trait! {
    /// Steps of the publication of a claimed document.
    trait PublishClaim {
        /// Ends a claim, and makes its document due again.
        async fn restart_claim(&mut self, claim: IngestClaim) -> Result<(), DbError> {
            let restart_columns = (
                knowledge_documents::status.eq(DocumentStatus::Pending.name()),
                knowledge_documents::fence.eq(knowledge_documents::fence + 1),
                knowledge_documents::due_at.eq(knowledge_documents::updated_at.nullable()),
            );
            diesel::update(of_claim!(claim)).set(restart_columns).execute(self).await?;
            Ok(())
        }

        /// Ends a claim, and lets the content wait until its base is indexed again.
        async fn hold_content(&mut self, claim: IngestClaim) -> Result<(), DbError> {
            let held_columns = (
                knowledge_documents::is_held.eq(true),
                knowledge_documents::failures.eq(0),
                knowledge_documents::due_at.eq(None::<DbInstant>),
            );
            diesel::update(of_claim!(claim)).set(held_columns).execute(self).await?;
            Ok(())
        }

        /// Makes a model that of a base, unless the base has one.
        async fn choose_model(
            &mut self,
            base: DbUid,
            model: Option<String>,
        ) -> Result<(), DbError> {
            let base_without_model =
                knowledge_bases::table.find(base).filter(knowledge_bases::model.is_null());
            let first_model = knowledge_bases::model.eq(model);
            diesel::update(base_without_model).set(first_model).execute(self).await?;
            Ok(())
        }
    }
}
