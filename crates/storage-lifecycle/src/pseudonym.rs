//! Pseudonyms of erased users.

use pia_kernel::random_bytes;
use pia_storage::{DbError, DbUid};
use uuid::Builder;

/// Returns a random id that never belonged to an account.
///
/// Each erased account gets its own: the number of users of a model, and
/// the usage of each, stay the same in the operator's sums.
pub(crate) fn pseudonym() -> Result<DbUid, DbError> {
    Ok(DbUid(Builder::from_random_bytes(random_bytes()?).into_uuid()))
}
