//! Names for nobody.

use pia_storage::{DbError, DbUid};
use ring::rand::{SecureRandom, SystemRandom};
use uuid::Builder;

/// An id that was never anybody's, and is linked with nothing.
///
/// One for each person who goes, not one for all: how many used a model, and
/// how much each did, stays what it was in the operator's sums.
pub(crate) fn pseudonym() -> Result<DbUid, DbError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_err| DbError::Unreadable("random bytes"))?;
    Ok(DbUid(Builder::from_random_bytes(bytes).into_uuid()))
}
