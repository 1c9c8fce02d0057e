//! Sealing of values that belong to no single user: queued emails, audit entries.
//!
//! The key is derived from the master key and constants alone, so that sealing needs
//! no salt from the database. `ServerSeal::signer` derives signing keys likewise.

use std::fmt;
use std::sync::Arc;

use pia_kernel::{Secret, Unavailable};
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt as HkdfSalt};

use crate::envelope::{self, SealContext, UnsealError};
use crate::master_keys::MasterKeys;
use crate::server_signer::ServerSigner;

const KEY_SALT: &[u8] = b"pia-server-v1";
/// Owner that sealed values are bound to, as those of a user are to their id. It has always
/// been equal to the salt, and must stay so for stored values.
const OWNER: &[u8] = KEY_SALT;
const KEY_INFO: &[u8] = b"pia-server-key-v1";

/// Seals and opens under a key of the server's own, without access to the
/// database, so that it works within a transaction.
///
/// Values that must become unreadable when a user's salt is deleted are sealed
/// by [`Sealer`](crate::Sealer) instead.
#[derive(Clone)]
pub struct ServerSeal {
    keys: Arc<MasterKeys>,
}

impl ServerSeal {
    /// Creates a seal that seals under the current key and opens under either.
    pub fn new(keys: MasterKeys) -> Self {
        Self { keys: Arc::new(keys) }
    }

    /// Seals a value for one place.
    pub fn seal(
        &self,
        place: SealContext<'_>,
        plain: &Secret<Vec<u8>>,
    ) -> Result<Vec<u8>, Unavailable> {
        let key = server_key(&self.keys.current)?;
        let id = self.keys.current_id();
        envelope::seal(&key, &id, &aad_parts(place), plain.expose())
            .ok_or_else(|| Unavailable::new("sealing", "the value could not be sealed"))
    }

    /// Opens a value that was sealed for this place.
    pub fn open(
        &self,
        place: SealContext<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, UnsealError> {
        let parsed = envelope::parse(sealed)?;
        let master =
            self.keys.key_by_id(&parsed.id).ok_or(UnsealError::OtherKey(parsed.id.clone()))?;
        let key = server_key(master)?;
        parsed.open(&key, &aad_parts(place))
    }

    /// Returns the signer for a purpose. Signers of different purposes have
    /// different keys.
    pub fn signer(&self, purpose: &str) -> Result<ServerSigner, Unavailable> {
        let signer = ServerSigner::derive(&self.keys, purpose);
        signer.ok_or_else(|| Unavailable::new("sealing", "the signing key could not be derived"))
    }
}

impl fmt::Debug for ServerSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerSeal").field(&self.keys.current_id()).finish()
    }
}

fn aad_parts(place: SealContext<'_>) -> [&[u8]; 3] {
    [OWNER, place.purpose.as_bytes(), place.row]
}

fn server_key(master: &Secret<[u8; 32]>) -> Result<LessSafeKey, Unavailable> {
    let info = [KEY_INFO];
    let pseudorandom_key = HkdfSalt::new(HKDF_SHA256, KEY_SALT).extract(master.expose());
    let key = pseudorandom_key
        .expand(&info, &AES_256_GCM)
        .map_err(|_unspecified| Unavailable::new("sealing", "the key could not be derived"))?;
    Ok(LessSafeKey::new(UnboundKey::from(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SealContext<'_> = SealContext { purpose: "mail", row: b"1" };

    fn keys(current: u8, previous: Option<u8>) -> MasterKeys {
        let key = |byte| Secret::new([byte; 32]);
        MasterKeys { current: key(current), previous: previous.map(key) }
    }

    fn sealed_by(seal: &ServerSeal) -> Vec<u8> {
        seal.seal(HERE, &Secret::new(b"an email".to_vec())).unwrap()
    }

    #[test]
    fn a_value_opens_only_in_its_own_place() {
        let seal = ServerSeal::new(keys(1, None));
        let sealed = sealed_by(&seal);

        assert_eq!(seal.open(HERE, &sealed).unwrap().expose(), b"an email");
        for place in [SealContext { row: b"2", ..HERE }, SealContext { purpose: "other", ..HERE }] {
            assert!(matches!(seal.open(place, &sealed), Err(UnsealError::Forged)));
        }
        assert!(!sealed.windows(5).any(|it| it == b"email"));
    }

    #[test]
    fn a_modified_or_truncated_value_does_not_open() {
        let seal = ServerSeal::new(keys(1, None));
        let sealed = sealed_by(&seal);

        for at in 0..sealed.len() {
            let mut changed_value = sealed.clone();
            changed_value[at] ^= 1;
            assert!(seal.open(HERE, &changed_value).is_err(), "byte {at}");
            assert!(seal.open(HERE, &sealed[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn the_previous_key_opens_its_values_while_it_is_configured() {
        let old_value = sealed_by(&ServerSeal::new(keys(1, None)));

        let during_rotation = ServerSeal::new(keys(2, Some(1)));
        assert_eq!(during_rotation.open(HERE, &old_value).unwrap().expose(), b"an email");

        let after_rotation = ServerSeal::new(keys(2, None));
        let outcome = after_rotation.open(HERE, &old_value);
        assert!(matches!(outcome, Err(UnsealError::OtherKey(_))));
    }
}
