//! Database rows of tokens.

use diesel::prelude::*;
use pia_pods::{ConnectorTokenHash, ValidToken};
use pia_storage::schema::connector_tokens;
use pia_storage::{DbInstant, DbUid};

/// Token of a connector.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = connector_tokens)]
pub(crate) struct TokenRow {
    pub(crate) hash: Vec<u8>,
    pub(crate) connector_id: DbUid,
    created_at: DbInstant,
    expires_at: DbInstant,
}

impl TokenRow {
    /// Returns the token, unless its hash is malformed.
    pub(crate) fn token(&self) -> Option<ValidToken> {
        let hash = ConnectorTokenHash(self.hash.as_slice().try_into().ok()?);
        Some(ValidToken { hash, created_at: self.created_at.0, expires_at: self.expires_at.0 })
    }
}
