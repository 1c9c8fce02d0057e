//! Signatures of the server, under a key derived from the master key.
//!
//! The checkpoints of the audit log are signed with them
//! (`storage-lifecycle/src/audit_chain.rs`). A signature is trusted after two checks:
//! `ServerSigner::owns` for its public key, and `ServerSignature::matches`, which alone
//! proves nothing about who signed.

use std::fmt;

use pia_kernel::Secret;
use ring::digest::SHA256_OUTPUT_LEN;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt as HkdfSalt};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::master_keys::MasterKeys;

const KEY_SALT: &[u8] = b"pia-server-v1";
const KEY_INFO: &[u8] = b"pia-server-signature-v1";

/// Signs for one purpose with Ed25519, under a key derived from the current
/// master key. Recognises keys derived from the previous one, too.
pub struct ServerSigner {
    current: Ed25519KeyPair,
    previous: Option<Ed25519KeyPair>,
}

/// Signature and the public key that verifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSignature {
    /// Ed25519 public key: 32 bytes.
    pub public_key: Vec<u8>,
    /// Ed25519 signature: 64 bytes.
    pub signature: Vec<u8>,
}

impl ServerSigner {
    pub(crate) fn derive(keys: &MasterKeys, purpose: &str) -> Option<Self> {
        let previous = match &keys.previous {
            Some(master) => Some(key_pair(master, purpose)?),
            None => None,
        };
        Some(Self { current: key_pair(&keys.current, purpose)?, previous })
    }

    /// Signs a message under the current key.
    pub fn sign(&self, message: &[u8]) -> ServerSignature {
        ServerSignature {
            public_key: self.current.public_key().as_ref().to_vec(),
            signature: self.current.sign(message).as_ref().to_vec(),
        }
    }

    /// Returns whether a public key is derived from either master key.
    pub fn owns(&self, public_key: &[u8]) -> bool {
        let mut pairs = std::iter::once(&self.current).chain(&self.previous);
        pairs.any(|it| it.public_key().as_ref() == public_key)
    }
}

impl ServerSignature {
    /// Returns whether this is a signature of the message under its public key.
    pub fn matches(&self, message: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.public_key);
        key.verify(message, &self.signature).is_ok()
    }
}

impl fmt::Debug for ServerSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerSigner").field(self.current.public_key()).finish()
    }
}

/// Length of the seed of an Ed25519 key.
struct SeedLength;

impl KeyType for SeedLength {
    fn len(&self) -> usize {
        SHA256_OUTPUT_LEN
    }
}

fn key_pair(master: &Secret<[u8; 32]>, purpose: &str) -> Option<Ed25519KeyPair> {
    let info = [KEY_INFO, purpose.as_bytes()];
    let derived = HkdfSalt::new(HKDF_SHA256, KEY_SALT).extract(master.expose());
    let mut seed = [0; SHA256_OUTPUT_LEN];
    derived.expand(&info, SeedLength).ok()?.fill(&mut seed).ok()?;
    Ed25519KeyPair::from_seed_unchecked(&seed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(current: u8, previous: Option<u8>, purpose: &str) -> ServerSigner {
        let key = |byte| Secret::new([byte; 32]);
        let keys = MasterKeys { current: key(current), previous: previous.map(key) };
        ServerSigner::derive(&keys, purpose).unwrap()
    }

    #[test]
    fn a_signature_is_bound_to_its_message_key_and_purpose() {
        let signed = signer(1, None, "audit").sign(b"a message");

        assert!(signed.matches(b"a message") && !signed.matches(b"another"));
        assert_eq!(signer(1, None, "audit").sign(b"a message"), signed);
        for other in [signer(2, None, "audit"), signer(1, None, "other")] {
            let public_key = other.sign(b"a message").public_key;
            assert!(!ServerSignature { public_key, ..signed.clone() }.matches(b"a message"));
            assert!(!other.owns(&signed.public_key));
        }
        let cut_signature =
            ServerSignature { signature: signed.signature[..63].to_vec(), ..signed };
        assert!(!cut_signature.matches(b"a message"));
    }

    #[test]
    fn keys_of_both_master_keys_are_recognised() {
        let old = signer(1, None, "audit").sign(b"a message");

        assert!(signer(2, Some(1), "audit").owns(&old.public_key));
        assert_ne!(signer(2, Some(1), "audit").sign(b"a message").public_key, old.public_key);
    }
}
