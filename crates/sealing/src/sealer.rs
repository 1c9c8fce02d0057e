//! Sealing what belongs to a person under a key of that person's own.

use std::fmt;
use std::sync::Arc;

use pia_kernel::{Secret, Unavailable, UserId};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt as HkdfSalt};
use ring::rand::{SecureRandom, SystemRandom};

use crate::master_keys::{KEY_ID_LEN, KeyId, MasterKeys};
use crate::ports::{Salt, SaltStore};

/// The form in which values are sealed today: this byte, the id of the master
/// key, the nonce, what is encrypted, and its tag.
const VERSION: u8 = 1;
const HEADER_LEN: usize = 1 + KEY_ID_LEN;
const KEY_INFO: &[u8] = b"pia-person-key-v1";

/// Where a sealed value stands. It opens nowhere else, so that nobody who can
/// write to the database gains by moving it about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// What the value is for: `totp-secret`.
    pub purpose: &'a str,
    /// What tells its row from others of the purpose.
    pub row: &'a [u8],
}

/// Why a sealed value was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It was sealed under a key that the server does not have.
    #[error("sealed under master key {0}, which is not at hand")]
    OtherKey(KeyId),
    /// The person's salt was deleted, and with it all that was sealed.
    #[error("the person's salt is gone")]
    Shredded,
    /// It is in no form that this version knows.
    #[error("not in a known form")]
    Malformed,
    /// It was changed, or moved from where it was sealed.
    #[error("changed, or sealed for another place")]
    Forged,
    /// The salt could not be read.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Seals and opens what belongs to people.
///
/// Each person's key is derived from the master key and a random salt that is
/// kept beside the data: who deletes the salt makes all that was sealed for
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

    /// Seals a value of a person for one place.
    pub async fn seal(
        &self,
        person: UserId,
        place: Place<'_>,
        plain: &Secret<Vec<u8>>,
    ) -> Result<Vec<u8>, Unavailable> {
        let salt = self.salts.salt(person, Salt(random()?)).await?;
        let nonce = random()?;
        seal(&self.keys.current, (person, &salt), place, nonce, plain.expose())
            .ok_or_else(|| Unavailable::new("sealing", "the value is too long"))
    }

    /// Opens what was sealed for this person and place.
    pub async fn open(
        &self,
        person: UserId,
        place: Place<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenError> {
        let (header, rest) = sealed.split_first_chunk().ok_or(OpenError::Malformed)?;
        let (nonce, encrypted) = rest.split_first_chunk().ok_or(OpenError::Malformed)?;
        let id = read_header(header).ok_or(OpenError::Malformed)?;
        let key = self.keys.named(&id).ok_or(OpenError::OtherKey(id))?;
        let salt = self.salts.find(person).await?.ok_or(OpenError::Shredded)?;
        let (aad, nonce) = (aad(header, person, place), Nonce::assume_unique_for_key(*nonce));
        let key = person_key(key, person, &salt).ok_or(OpenError::Forged)?;
        let mut buffer = encrypted.to_vec();
        let plain = key.open_in_place(nonce, Aad::from(aad), &mut buffer);
        let length = plain.map_err(|_wrong| OpenError::Forged)?.len();
        buffer.truncate(length);
        Ok(Secret::new(buffer))
    }

    /// Whether a value was sealed under another key than the current, so that
    /// it should be sealed anew while it can still be opened.
    pub fn is_outdated(&self, sealed: &[u8]) -> bool {
        let id = sealed.first_chunk().and_then(read_header);
        id.is_some_and(|it| it != self.keys.current_id())
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
    place: Place<'_>,
    nonce: [u8; NONCE_LEN],
    plain: &[u8],
) -> Option<Vec<u8>> {
    let header = header(&KeyId::of(master))?;
    let key = person_key(master, person, salt)?;
    let mut encrypted = Vec::with_capacity(plain.len() + MAX_TAG_LEN);
    encrypted.extend_from_slice(plain);
    let aad = Aad::from(aad(&header, person, place));
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut encrypted).ok()?;
    Some([&header[..], &nonce, &encrypted].concat())
}

/// The key of one person, of no use for another's data.
fn person_key(master: &Secret<[u8; 32]>, person: UserId, salt: &Salt) -> Option<LessSafeKey> {
    let info = [KEY_INFO, person.0.as_bytes()];
    let derived = HkdfSalt::new(HKDF_SHA256, &salt.0).extract(master.expose());
    let derived = derived.expand(&info, &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(derived)))
}

/// What is not encrypted but must be as it was. Each part of unknown length
/// comes after its length, so that no two places are told the same.
fn aad(header: &[u8; HEADER_LEN], person: UserId, place: Place<'_>) -> Vec<u8> {
    let mut aad = Vec::with_capacity(128);
    aad.extend_from_slice(header);
    for part in [person.0.as_bytes(), place.purpose.as_bytes(), place.row] {
        aad.extend_from_slice(&(part.len() as u64).to_be_bytes());
        aad.extend_from_slice(part);
    }
    aad
}

fn header(id: &KeyId) -> Option<[u8; HEADER_LEN]> {
    [&[VERSION][..], &id.bytes()?].concat().try_into().ok()
}

fn read_header(header: &[u8; HEADER_LEN]) -> Option<KeyId> {
    match header {
        [VERSION, id @ ..] => Some(KeyId::of_bytes(id)),
        _ => None,
    }
}

fn random<const N: usize>() -> Result<[u8; N], Unavailable> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|err| Unavailable::new("randomness", err.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
