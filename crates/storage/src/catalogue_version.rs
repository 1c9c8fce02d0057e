//! Version of the catalogue that members pull.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::schema::catalogue;
use crate::{DbError, connection_trait, lock_row};

connection_trait! {
    /// Version of the catalogue that members pull.
    pub trait CatalogueVersion {
        /// Locks the catalogue's row until the commit, so that writes to the
        /// catalogue are serialised.
        async fn lock_catalogue(&mut self) -> Result<(), DbError> {
            lock_row!(self, catalogue::table, catalogue::version);
            Ok(())
        }

        /// Increments the version of the catalogue.
        async fn bump_catalogue(&mut self) -> Result<(), DbError> {
            diesel::update(catalogue::table)
                .set(catalogue::version.eq(catalogue::version + 1))
                .execute(self)
                .await?;
            Ok(())
        }
    }
}
