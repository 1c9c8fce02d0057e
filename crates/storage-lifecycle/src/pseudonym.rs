//! Names for nobody.

use pia_kernel::random_bytes;
use pia_storage::{DbError, DbUid};
use uuid::Builder;

/// An id that was never anybody's, and is linked with nothing.
///
/// One for each person who goes, not one for all: how many used a model, and
/// how much each did, stays what it was in the operator's sums.
pub(crate) fn pseudonym() -> Result<DbUid, DbError> {
    Ok(DbUid(Builder::from_random_bytes(random_bytes()?).into_uuid()))
}
