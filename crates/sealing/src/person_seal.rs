//! Keys of one user, derived once for many values.
//!
//! `Sealer::seal_for` or `Sealer::with_salt` derives them. Stores that read or write
//! a list of rows, such as chats, derive the keys once a call and then drop them.

use std::fmt;

use pia_kernel::{Secret, Unavailable, UserId, random_bytes};
use ring::aead::LessSafeKey;
use ring::hkdf::{HKDF_SHA256, Salt as HkdfSalt};
use ring::hmac;

use crate::envelope::{self, SealContext, UnsealError};
use crate::master_keys::{KeyId, MasterKeys};
use crate::ports::Salt;
use crate::sealer::{aad_parts, user_key};

const DIGEST_INFO: &[u8] = b"pia-person-digest-v1";
/// Stored length of a digest in bytes: enough that no two values collide by
/// chance.
const DIGEST_LEN: usize = 16;

/// Seals and opens values of one user without loading their salt again. Must
/// not be cached: deleting the salt has to make the values unreadable. Digests
/// are made under the current master key alone, so a rotation changes them.
pub struct PersonSeal {
    user: UserId,
    current: Keyed,
    previous: Option<Keyed>,
    digests: hmac::Key,
}

struct Keyed {
    id: KeyId,
    key: LessSafeKey,
}

impl PersonSeal {
    pub(crate) fn derive(keys: &MasterKeys, user: UserId, salt: &Salt) -> Option<Self> {
        let keyed = |master: &Secret<[u8; 32]>| {
            let key = user_key(master, user, salt)?;
            Some(Keyed { id: KeyId::from_key(master), key })
        };

        let pseudorandom_key = HkdfSalt::new(HKDF_SHA256, &salt.0).extract(keys.current.expose());
        let info = [DIGEST_INFO, user.0.as_bytes()];
        let digests = pseudorandom_key.expand(&info, hmac::HMAC_SHA256).ok()?;
        Some(Self {
            user,
            current: keyed(&keys.current)?,
            previous: keys.previous.as_ref().and_then(keyed),
            digests: hmac::Key::from(digests),
        })
    }

    /// Seals a value under the current key, for one place.
    pub fn seal(&self, place: SealContext<'_>, plain: &[u8]) -> Result<Vec<u8>, Unavailable> {
        let Keyed { id, key } = &self.current;
        envelope::seal_with(key, id, &aad_parts(&self.user, place), random_bytes()?, plain)
            .ok_or_else(|| Unavailable::new("sealing", "the value is too long"))
    }

    /// Opens a value that was sealed for this user and place under either key.
    pub fn open(
        &self,
        place: SealContext<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, UnsealError> {
        let sealed = envelope::parse(sealed)?;
        sealed.open(self.key(&sealed.id)?, &aad_parts(&self.user, place))
    }

    /// Opens a long value in place, without copying it.
    pub fn open_long(
        &self,
        place: SealContext<'_>,
        sealed: Vec<u8>,
    ) -> Result<Secret<Vec<u8>>, UnsealError> {
        let key = self.key(&envelope::parse(&sealed)?.id)?;
        envelope::open_in_place(key, &aad_parts(&self.user, place), sealed)
    }

    fn key(&self, id: &KeyId) -> Result<&LessSafeKey, UnsealError> {
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        let keyed = keys.find(|it| it.id == *id);
        keyed.map(|it| &it.key).ok_or_else(|| UnsealError::OtherKey(id.clone()))
    }

    /// Returns the keyed digest by which a value is recognised without being opened. It reveals
    /// nothing without the user's key.
    pub fn digest(&self, plain: &[u8]) -> Vec<u8> {
        let tag = hmac::sign(&self.digests, plain);
        tag.as_ref().iter().take(DIGEST_LEN).copied().collect()
    }
}

impl fmt::Debug for PersonSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PersonSeal").field(&self.user).finish()
    }
}
