//! Format of every sealed value:
//!
//! ```text
//! version (1) | id of the master key (16) | nonce (12) | ciphertext | tag (16)
//! ```
//!
//! The id tells under which of the two master keys the value opens. `Sealer`,
//! `PersonSeal` and `ServerSeal` choose the key and pass the same three `parts` for
//! sealing and opening: the owner (a user's id, or a constant of the server), the
//! purpose and the row. Header and parts are authenticated, not encrypted.

use pia_kernel::{Secret, Unavailable, random_bytes};
use ring::aead::{Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce};

use crate::master_keys::{KEY_ID_LEN, KeyId};

/// Format version of new values, and the only one that is read.
const VERSION: u8 = 1;
pub(crate) const HEADER_LEN: usize = 1 + KEY_ID_LEN;

/// Location of a sealed value. It can be opened nowhere else, so that write
/// access to the database gains nothing by moving values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealContext<'a> {
    /// Purpose of the value: `totp-secret`.
    pub purpose: &'a str,
    /// Identifier of its row among those of the purpose.
    pub row: &'a [u8],
}

/// Errors that prevent a sealed value from being opened.
#[derive(Debug, thiserror::Error)]
pub enum UnsealError {
    /// Value was sealed under a key that the server does not have.
    #[error("sealed with the master key {0}, which isn't configured")]
    OtherKey(KeyId),
    /// Salt of the user was deleted, and with it everything that was sealed.
    #[error("the person's salt is gone")]
    Shredded,
    /// Value is in no known format.
    #[error("the format is unknown")]
    Malformed,
    /// Value was modified, or moved from where it was sealed.
    #[error("the ciphertext was changed or belongs to another row")]
    Forged,
    /// Salt could not be read, or no key be derived from it.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Sealed value, split into its parts but not verified.
pub(crate) struct Sealed<'a> {
    pub(crate) id: KeyId,
    header: &'a [u8; HEADER_LEN],
    nonce: &'a [u8; NONCE_LEN],
    encrypted: &'a [u8],
}

/// Encrypts `plain`, which opens under the same key and `parts` only. Returns
/// `None` if `plain` is too long, or no random nonce is available.
pub(crate) fn seal(
    key: &LessSafeKey,
    id: &KeyId,
    parts: &[&[u8]; 3],
    plain: &[u8],
) -> Option<Vec<u8>> {
    seal_with(key, id, parts, random_bytes().ok()?, plain)
}

/// Encrypts `plain` with a nonce, which must never have been used with the key.
pub(crate) fn seal_with(
    key: &LessSafeKey,
    id: &KeyId,
    parts: &[&[u8]; 3],
    nonce: [u8; NONCE_LEN],
    plain: &[u8],
) -> Option<Vec<u8>> {
    let header = write_header(id)?;
    // Built in one buffer, because values may be long.
    let length = HEADER_LEN + NONCE_LEN + plain.len() + MAX_TAG_LEN;
    let mut sealed_value = Vec::with_capacity(length);
    sealed_value.extend_from_slice(&header);
    sealed_value.extend_from_slice(&nonce);
    sealed_value.extend_from_slice(plain);
    let (_, payload) = sealed_value.split_at_mut_checked(HEADER_LEN + NONCE_LEN)?;
    let authenticated = Aad::from(aad(&header, parts));
    let nonce = Nonce::assume_unique_for_key(nonce);
    let tag = key.seal_in_place_separate_tag(nonce, authenticated, payload).ok()?;
    sealed_value.extend_from_slice(tag.as_ref());

    Some(sealed_value)
}

/// Splits a sealed value into its parts.
pub(crate) fn parse(sealed: &[u8]) -> Result<Sealed<'_>, UnsealError> {
    let (header, after_header) = sealed.split_first_chunk().ok_or(UnsealError::Malformed)?;
    let (nonce, encrypted) = after_header.split_first_chunk().ok_or(UnsealError::Malformed)?;
    let id = read_header(header).ok_or(UnsealError::Malformed)?;
    Ok(Sealed { id, header, nonce, encrypted })
}

/// Returns the id of the master key that a value was sealed under; `None` for
/// an unknown format.
pub(crate) fn key_id(sealed: &[u8]) -> Option<KeyId> {
    sealed.first_chunk().and_then(read_header)
}

impl Sealed<'_> {
    pub(crate) fn open(
        &self,
        key: &LessSafeKey,
        parts: &[&[u8]; 3],
    ) -> Result<Secret<Vec<u8>>, UnsealError> {
        let authenticated = Aad::from(aad(self.header, parts));
        let nonce = Nonce::assume_unique_for_key(*self.nonce);
        let mut buffer = self.encrypted.to_vec();
        let plaintext = key.open_in_place(nonce, authenticated, &mut buffer);
        let length = plaintext.map_err(|_wrong| UnsealError::Forged)?.len();
        buffer.truncate(length);
        Ok(Secret::new(buffer))
    }
}

/// Opens a value in place, because it may be long. The caller has checked its
/// format while looking for the key.
pub(crate) fn open_in_place(
    key: &LessSafeKey,
    parts: &[&[u8]; 3],
    mut sealed: Vec<u8>,
) -> Result<Secret<Vec<u8>>, UnsealError> {
    let Sealed { header, nonce, .. } = parse(&sealed)?;
    let authenticated = Aad::from(aad(header, parts));
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let plaintext = key.open_within(nonce, authenticated, &mut sealed, HEADER_LEN + NONCE_LEN..);
    let length = plaintext.map_err(|_wrong| UnsealError::Forged)?.len();
    sealed.truncate(length);
    Ok(Secret::new(sealed))
}

/// Builds the additional authenticated data, which is not encrypted but must be
/// unchanged. Each part of variable length is prefixed with its length, so that
/// no two places collide.
fn aad(header: &[u8; HEADER_LEN], parts: &[&[u8]; 3]) -> Vec<u8> {
    let mut aad = Vec::with_capacity(128);
    aad.extend_from_slice(header);
    for part in parts {
        aad.extend_from_slice(&(part.len() as u64).to_be_bytes());
        aad.extend_from_slice(part);
    }
    aad
}

fn write_header(id: &KeyId) -> Option<[u8; HEADER_LEN]> {
    [&[VERSION][..], &id.bytes()?].concat().try_into().ok()
}

fn read_header(header: &[u8; HEADER_LEN]) -> Option<KeyId> {
    match header {
        [VERSION, id @ ..] => Some(KeyId::of_bytes(id)),
        _ => None,
    }
}
