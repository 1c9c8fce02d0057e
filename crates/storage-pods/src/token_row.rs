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
    connector_id: DbUid,
    created_at: DbInstant,
    expires_at: DbInstant,
}

impl TokenRow {
    /// Returns the token, if it is one of this connector.
    pub(crate) fn of(&self, connector: DbUid) -> Option<ValidToken> {
        let hash = ConnectorTokenHash(self.hash.as_slice().try_into().ok()?);
        let created_at = self.created_at.0;
        let expires_at = self.expires_at.0;
        (self.connector_id == connector).then_some(ValidToken { hash, created_at, expires_at })
    }
}
