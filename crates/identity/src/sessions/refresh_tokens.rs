//! Refresh tokens: opaque to devices, each derived from its predecessor.
//!
//! A successor is the HMAC of the presented token, so that a device that lost
//! the response gets the very same successor, although stores have only
//! hashes. While the signing key changes, `hashes_of` tries a token under
//! both keys; `Sessions` calls it. `fresh` also generates most other random
//! tokens of this crate.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Secret, Unavailable, random_bytes};
use ring::hmac;

use crate::ports::TokenHash;
use crate::sessions::signing_keys::SigningKeys;

/// Maximum length of a presented token, in bytes; ours have 43.
const MAX_BYTES: usize = 128;

/// Keys that derive successors and hash tokens.
///
/// They derive from the signing keys: a changed signing key invalidates refresh tokens like access
/// tokens, unless it is configured as the previous one.
#[derive(Clone)]
pub struct RefreshKeys {
    current: RefreshKey,
    previous: Option<RefreshKey>,
}

#[derive(Clone)]
struct RefreshKey {
    successors: hmac::Key,
    hashes: hmac::Key,
}

/// A presented token under one of the keys.
pub(crate) struct PresentedRefreshToken {
    /// Hash of the token, if it was issued under this key.
    pub(crate) hash: TokenHash,
    /// The only token that can succeed it.
    pub(crate) successor: Secret<String>,
    /// Hash of the successor under the current key.
    pub(crate) successor_hash: TokenHash,
    /// Hash of the successor under the previous key, as stored by an instance whose keys have not
    /// changed yet.
    pub(crate) successor_hash_before: Option<TokenHash>,
}

impl RefreshKeys {
    /// Derives the keys from the server's signing keys.
    pub fn derive(keys: &SigningKeys) -> Self {
        let current = RefreshKey::derive(&keys.current);
        Self { current, previous: keys.previous.as_ref().map(RefreshKey::derive) }
    }

    /// Returns the hash of a token that was just issued.
    pub(crate) fn hash(&self, token: &Secret<String>) -> TokenHash {
        self.current.hash(token)
    }

    /// Returns the possible hashes of a presented token: under the current and the previous key.
    pub(crate) fn hashes_of(
        &self,
        token: &Secret<String>,
    ) -> impl Iterator<Item = PresentedRefreshToken> {
        let is_well_formed = (1..=MAX_BYTES).contains(&token.expose().len());
        let keys = is_well_formed.then(|| std::iter::once(&self.current).chain(&self.previous));
        keys.into_iter().flatten().map(|key| {
            let successor = key.successor(token);
            let successor_hash = self.current.hash(&successor);
            let successor_hash_before = self.previous.as_ref().map(|it| it.hash(&successor));
            PresentedRefreshToken {
                hash: key.hash(token),
                successor,
                successor_hash,
                successor_hash_before,
            }
        })
    }
}

impl RefreshKey {
    fn derive(secret: &Secret<String>) -> Self {
        let master = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        let derive =
            |label: &[u8]| hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&master, label).as_ref());
        Self {
            successors: derive(b"refresh-token-successor"),
            hashes: derive(b"refresh-token-hash"),
        }
    }

    /// Returns the successor of `token`: always the same, so that a lost response can be repeated
    /// although only hashes are stored.
    fn successor(&self, token: &Secret<String>) -> Secret<String> {
        let tag = hmac::sign(&self.successors, token.expose().as_bytes());
        Secret::new(URL_SAFE_NO_PAD.encode(tag.as_ref()))
    }

    fn hash(&self, token: &Secret<String>) -> TokenHash {
        let mut hash = [0; 32];
        hash.copy_from_slice(hmac::sign(&self.hashes, token.expose().as_bytes()).as_ref());
        TokenHash(hash)
    }
}

/// Generates a token without a predecessor.
pub(crate) fn fresh() -> Result<Secret<String>, Unavailable> {
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random_bytes::<32>()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    fn keys(current: &str, previous: Option<&str>) -> RefreshKeys {
        let previous = previous.map(secret);
        RefreshKeys::derive(&SigningKeys { current: secret(current), previous })
    }

    #[test]
    fn fresh_tokens_are_distinct_and_have_forty_three_characters() {
        let token = fresh().unwrap();
        let other_token = fresh().unwrap();

        assert_eq!(token.expose().len(), 43);
        assert_eq!(other_token.expose().len(), 43);
        assert_ne!(token.expose(), other_token.expose());
    }

    #[test]
    fn a_token_has_one_successor_and_another_under_another_key() {
        let successor = |key: &str| {
            let candidate = keys(key, None).hashes_of(&secret("a token")).next().unwrap();
            candidate.successor.expose().clone()
        };

        assert_eq!(successor("one key"), successor("one key"));
        assert_ne!(successor("one key"), successor("another key"));
    }

    #[test]
    fn a_token_of_the_previous_key_has_its_successor_hashed_under_the_current() {
        let token = secret("a token");
        let old = keys("old", None).hash(&token);
        let changed_keys = keys("new", Some("old"));

        let candidates: Vec<PresentedRefreshToken> = changed_keys.hashes_of(&token).collect();

        assert_eq!(candidates.len(), 2);
        assert_eq!(candidates[1].hash, old);
        assert_eq!(candidates[1].successor_hash, keys("new", None).hash(&candidates[1].successor));
    }

    #[test]
    fn tokens_of_a_removed_key_are_unknown() {
        let token = secret("a token");
        let old = keys("old", None).hash(&token);

        assert!(keys("new", None).hashes_of(&token).all(|it| it.hash != old));
    }

    #[test]
    fn malformed_tokens_have_no_hashes() {
        for text in ["", &"x".repeat(129)] {
            assert_eq!(keys("key", Some("other")).hashes_of(&secret(text)).count(), 0);
        }
    }
}
