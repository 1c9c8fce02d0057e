//! Steps of the publication of a claimed document.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_knowledge::{DocumentStatus, IngestClaim};
use pia_storage::schema::{knowledge_bases, knowledge_documents};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait};

/// Document whose new content is embedded.
#[derive(Debug, Queryable)]
pub(super) struct EmbeddedDocument {
    pub(super) base: DbUid,
    /// Model that embedded the new content.
    pub(super) model: Option<String>,
    /// Set if the new content waits for that of other documents.
    pub(super) is_held: bool,
}

connection_trait! {
    /// Steps of the publication of a claimed document.
    pub(super) trait PublishClaim {
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
