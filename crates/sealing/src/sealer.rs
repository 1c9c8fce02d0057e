//! Sealing of users' values under per-user keys.
//!
//! A key is `HKDF-SHA256(salt of the user, master key)`, expanded with a constant and
//! the user's id. It is derived for each call and never stored. The salt comes from
//! `SaltStore`: sealing creates a missing one, opening does not, so that a value whose
//! salt was deleted is reported as shredded.

use std::fmt;
use std::sync::Arc;

use pia_kernel::{Secret, Unavailable, UserId, random_bytes};
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt as HkdfSalt};

use crate::envelope::{self, SealContext, UnsealError};
use crate::master_keys::MasterKeys;
use crate::person_seal::PersonSeal;
use crate::ports::{Salt, SaltStore};

const KEY_INFO: &[u8] = b"pia-person-key-v1";

/// Seals and opens values of users.
///
/// Each user's key is derived from the master key and a random salt that is
/// stored beside the data: deleting the salt makes everything that was sealed
/// for the user unreadable, wherever copies of it are.
#[derive(Clone)]
pub struct Sealer {
    keys: Arc<MasterKeys>,
    salts: Arc<dyn SaltStore>,
}

impl Sealer {
    /// Creates a sealer that seals under the current key and opens under either.
    pub fn new(keys: MasterKeys, salts: Arc<dyn SaltStore>) -> Self {
        Self { keys: Arc::new(keys), salts }
    }

    /// Seals a value of a user for one place; `None` if they have no account.
    pub async fn seal(
        &self,
        user: UserId,
        place: SealContext<'_>,
        plain: &Secret<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Unavailable> {
        let Some(salt) = self.salts.salt(user, Salt(random_bytes()?)).await? else {
            return Ok(None);
        };
        let nonce = random_bytes()?;
        let sealed_value = user_key(&self.keys.current, user, &salt).and_then(|key| {
            let id = self.keys.current_id();
            envelope::seal_with(&key, &id, &aad_parts(&user, place), nonce, plain.expose())
        });
        sealed_value.map(Some).ok_or_else(|| Unavailable::new("sealing", "the value is too long"))
    }

    /// Opens a value that was sealed for this user and place under either key.
    pub async fn open(
        &self,
        user: UserId,
        place: SealContext<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, UnsealError> {
        let parsed = envelope::parse(sealed)?;
        let master =
            self.keys.key_by_id(&parsed.id).ok_or(UnsealError::OtherKey(parsed.id.clone()))?;
        let salt = self.salts.find(user).await?.ok_or(UnsealError::Shredded)?;
        let key = user_key(master, user, &salt)
            .ok_or_else(|| Unavailable::new("sealing", "no key could be derived"))?;
        parsed.open(&key, &aad_parts(&user, place))
    }

    /// Returns a user's keys for many of their values, creating a salt if they
    /// had none; `None` if they have no account.
    pub async fn seal_for(&self, user: UserId) -> Result<Option<PersonSeal>, Unavailable> {
        let salt = self.salts.salt(user, Salt(random_bytes()?)).await?;
        salt.map(|it| self.with_salt(user, &it)).transpose()
    }

    /// Derives a user's keys from a salt that was already loaded, such as with the
    /// rows of a list.
    pub fn with_salt(&self, user: UserId, salt: &Salt) -> Result<PersonSeal, Unavailable> {
        PersonSeal::derive(&self.keys, user, salt)
            .ok_or_else(|| Unavailable::new("sealing", "no key could be derived"))
    }

    /// Returns whether a value was sealed under a key other than the current
    /// one, so that it should be sealed again while it can still be opened.
    /// False for an unknown format.
    pub fn is_outdated(&self, sealed: &[u8]) -> bool {
        envelope::key_id(sealed).is_some_and(|it| it != self.keys.current_id())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sealer").field(&self.keys.current_id()).finish()
    }
}

pub(crate) fn aad_parts<'a>(user: &'a UserId, place: SealContext<'a>) -> [&'a [u8]; 3] {
    [user.0.as_bytes(), place.purpose.as_bytes(), place.row]
}

/// Derives the key of one user, which is useless for another's data.
pub(crate) fn user_key(
    master: &Secret<[u8; 32]>,
    user: UserId,
    salt: &Salt,
) -> Option<LessSafeKey> {
    let info = [KEY_INFO, user.0.as_bytes()];
    let pseudorandom_key = HkdfSalt::new(HKDF_SHA256, &salt.0).extract(master.expose());
    let key = pseudorandom_key.expand(&info, &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(key)))
}

#[cfg(test)]
mod tests;
