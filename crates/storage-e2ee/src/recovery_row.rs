//! Rows of `recovery_keys`: the recovery copy, and beside it the sealed proof
//! key, which is no field of `RecoveryRow`, so that a new copy does not overwrite
//! it.

use diesel::prelude::*;
use pia_e2ee::{ProofKey, RecoveryCopy, RecoveryProofKey};
use pia_kernel::UserId;
use pia_sealing::{PersonSeal, SealContext};
use pia_storage::schema::recovery_keys;
use pia_storage::{DbError, DbInstant, DbUid};

/// Row of a recovery copy. The proof key is not replaced with it.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = recovery_keys, primary_key(user_id))]
pub(crate) struct RecoveryRow {
    user_id: DbUid,
    ciphertext: String,
    kdf_salt: String,
    kdf_memory_kib: i32,
    kdf_time: i32,
    kdf_parallelism: i32,
    umk_version: i32,
    created_at: DbInstant,
}

impl RecoveryRow {
    pub(crate) fn from_copy(user: UserId, copy: RecoveryCopy) -> Self {
        Self {
            user_id: DbUid(user.0),
            ciphertext: copy.ciphertext,
            kdf_salt: copy.kdf_salt,
            kdf_memory_kib: copy.kdf_memory_kib,
            kdf_time: copy.kdf_time,
            kdf_parallelism: copy.kdf_parallelism,
            umk_version: copy.umk_version,
            created_at: DbInstant(copy.created_at),
        }
    }
}

impl From<RecoveryRow> for RecoveryCopy {
    fn from(row: RecoveryRow) -> Self {
        Self {
            ciphertext: row.ciphertext,
            kdf_salt: row.kdf_salt,
            kdf_memory_kib: row.kdf_memory_kib,
            kdf_time: row.kdf_time,
            kdf_parallelism: row.kdf_parallelism,
            umk_version: row.umk_version,
            created_at: row.created_at.0,
        }
    }
}

/// Sealer of one user's proof key.
pub(crate) struct ProofKeySealer {
    user: UserId,
    seal: PersonSeal,
}

impl ProofKeySealer {
    pub(crate) fn new(user: UserId, seal: PersonSeal) -> Self {
        Self { user, seal }
    }

    fn context(&self) -> SealContext<'_> {
        SealContext { purpose: "e2ee-proof-key", row: self.user.0.as_bytes() }
    }

    pub(crate) fn seal(&self, key: &ProofKey) -> Result<Vec<u8>, DbError> {
        Ok(self.seal.seal(self.context(), key.expose().as_bytes())?)
    }

    /// Opens the proof key of a recovery copy; `sealed` is `None` if the copy has none.
    pub(crate) fn open(&self, sealed: Option<&[u8]>) -> RecoveryProofKey {
        let Some(sealed) = sealed else { return RecoveryProofKey::Missing };
        let opened = match self.seal.open(self.context(), sealed) {
            Ok(opened) => opened,
            Err(err) => {
                tracing::error!(user.id = %self.user, error = %err, "proof key could not be decrypted");
                return RecoveryProofKey::Lost;
            }
        };
        std::str::from_utf8(opened.expose())
            .ok()
            .and_then(ProofKey::parse)
            .map_or(RecoveryProofKey::Lost, RecoveryProofKey::Stored)
    }
}
