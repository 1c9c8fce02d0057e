//! Sealing what belongs to a person under a key of that person's own.

use std::fmt;
use std::sync::Arc;

use pia_kernel::{Secret, Unavailable, UserId, random_bytes};
use ring::aead::{AES_256_GCM, LessSafeKey, NONCE_LEN, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt as HkdfSalt};

use crate::envelope::{self, SealContext, UnsealError};
use crate::master_keys::{KeyId, MasterKeys};
use crate::person_seal::PersonSeal;
use crate::ports::{Salt, SaltStore};

const KEY_INFO: &[u8] = b"pia-person-key-v1";

/// Seals and opens what belongs to people.
///
/// Each person's key is derived from the master key and a random salt that is
/// stored beside the data: who deletes the salt makes all that was sealed for
/// the person unreadable, wherever copies of it are.
#[derive(Clone)]
pub struct Sealer {
    keys: Arc<MasterKeys>,
    salts: Arc<dyn SaltStore>,
}

impl Sealer {
    /// Seals under the current key, and opens what either key sealed.
    pub fn new(keys: MasterKeys, salts: Arc<dyn SaltStore>) -> Self {
        Self { keys: Arc::new(keys), salts }
    }

    /// Seals a value of a person for one place; nothing if they have no account.
    pub async fn seal(
        &self,
        person: UserId,
        place: SealContext<'_>,
        plain: &Secret<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Unavailable> {
        let Some(salt) = self.salts.salt(person, Salt(random_bytes()?)).await? else {
            return Ok(None);
        };
        let nonce = random_bytes()?;
        let sealed = seal(&self.keys.current, (person, &salt), place, nonce, plain.expose());
        sealed.map(Some).ok_or_else(|| Unavailable::new("sealing", "the value is too long"))
    }

    /// Opens what was sealed for this person and place.
    pub async fn open(
        &self,
        person: UserId,
        place: SealContext<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, UnsealError> {
        let sealed = envelope::parse(sealed)?;
        let key =
            self.keys.key_by_id(&sealed.id).ok_or(UnsealError::OtherKey(sealed.id.clone()))?;
        let salt = self.salts.find(person).await?.ok_or(UnsealError::Shredded)?;
        let key = person_key(key, person, &salt).ok_or(UnsealError::Forged)?;
        sealed.open(&key, &aad_parts(&person, place))
    }

    /// A person's keys, for many values of theirs: they get a salt if they had
    /// none. Nothing if they have no account.
    pub async fn seal_for(&self, person: UserId) -> Result<Option<PersonSeal>, Unavailable> {
        let salt = self.salts.salt(person, Salt(random_bytes()?)).await?;
        salt.map(|it| self.with_salt(person, &it)).transpose()
    }

    /// Derives a person's keys from a salt that was already loaded.
    pub fn with_salt(&self, person: UserId, salt: &Salt) -> Result<PersonSeal, Unavailable> {
        PersonSeal::derive(&self.keys, person, salt)
            .ok_or_else(|| Unavailable::new("sealing", "no key could be derived"))
    }

    /// Returns whether a value was sealed under a key other than the current
    /// one, so that it should be sealed again while it can still be opened.
    pub fn is_outdated(&self, sealed: &[u8]) -> bool {
        envelope::key_id(sealed).is_some_and(|it| it != self.keys.current_id())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sealer").field(&self.keys.current_id()).finish()
    }
}

fn seal(
    master: &Secret<[u8; 32]>,
    (person, salt): (UserId, &Salt),
    place: SealContext<'_>,
    nonce: [u8; NONCE_LEN],
    plain: &[u8],
) -> Option<Vec<u8>> {
    let key = person_key(master, person, salt)?;
    let id = KeyId::from_key(master);
    envelope::seal_with(&key, &id, &aad_parts(&person, place), (nonce, plain))
}

pub(crate) fn aad_parts<'a>(person: &'a UserId, place: SealContext<'a>) -> [&'a [u8]; 3] {
    [person.0.as_bytes(), place.purpose.as_bytes(), place.row]
}

/// The key of one person, of no use for another's data.
pub(crate) fn person_key(
    master: &Secret<[u8; 32]>,
    person: UserId,
    salt: &Salt,
) -> Option<LessSafeKey> {
    let info = [KEY_INFO, person.0.as_bytes()];
    let derived = HkdfSalt::new(HKDF_SHA256, &salt.0).extract(master.expose());
    let derived = derived.expand(&info, &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(derived)))
}

#[cfg(test)]
mod tests;
