//! Refresh tokens: opaque to devices, and each the only child of the one before.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Secret, Unavailable, random_bytes};
use ring::hmac;

use crate::ports::TokenHash;
use crate::sessions::signing_keys::SigningKeys;

/// Longer texts are no tokens of ours; those have 43 letters.
const MAX_BYTES: usize = 128;

/// The keys that successors are derived with and hashes are stored under.
///
/// Since tokens are stored under the signing key, a changed one ends them as it
/// ends access tokens, unless the one before is still named.
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

/// A token that was shown, as one of the keys sees it.
pub(crate) struct PresentedRefreshToken {
    /// Hash of the token if it was issued under that key.
    pub(crate) hash: TokenHash,
    /// The one token that can follow it.
    pub(crate) successor: Secret<String>,
    /// Hash of its successor if it is issued now.
    pub(crate) successor_hash: TokenHash,
    /// Hash of its successor if it is issued under the previous key, as an
    /// instance does where the keys have not changed yet.
    pub(crate) successor_hash_before: Option<TokenHash>,
}

impl RefreshKeys {
    /// Keys derived from those of the server, of no use for anything else.
    pub fn derive(keys: &SigningKeys) -> Self {
        let current = RefreshKey::derive(&keys.current);
        Self { current, previous: keys.previous.as_ref().map(RefreshKey::derive) }
    }

    /// Returns the hash of a token that was just issued.
    pub(crate) fn hash(&self, token: &Secret<String>) -> TokenHash {
        self.current.hash(token)
    }

    /// Returns the possible hashes of a presented token: under the current key
    /// or the previous one.
    pub(crate) fn hashes_of(
        &self,
        token: &Secret<String>,
    ) -> impl Iterator<Item = PresentedRefreshToken> {
        let plausible = (1..=MAX_BYTES).contains(&token.expose().len());
        let keys = std::iter::once(&self.current).chain(&self.previous);
        keys.filter(move |_| plausible).map(|key| {
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

    /// The token that follows `token`: always the same one, so that a device
    /// which lost the answer can be reported again though only hashes are stored.
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

/// A token that follows no other.
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
    fn fresh_tokens_are_forty_three_letters_and_never_the_same() {
        let (first, second) = (fresh().unwrap(), fresh().unwrap());

        assert_eq!((first.expose().len(), second.expose().len()), (43, 43));
        assert_ne!(first.expose(), second.expose());
    }

    #[test]
    fn a_token_has_one_successor_and_another_under_another_key() {
        let successor = |key: &str| {
            let presented = keys(key, None).hashes_of(&secret("a token")).next().unwrap();
            presented.successor.expose().clone()
        };

        assert_eq!(successor("one key"), successor("one key"));
        assert_ne!(successor("one key"), successor("another key"));
    }

    #[test]
    fn a_token_of_the_previous_key_is_known_and_its_successor_stored_under_the_current() {
        let token = secret("a token");
        let old = keys("old", None).hash(&token);
        let changed = keys("new", Some("old"));

        let seen: Vec<PresentedRefreshToken> = changed.hashes_of(&token).collect();

        assert_eq!(seen.len(), 2);
        assert_eq!(seen[1].hash, old);
        assert_eq!(seen[1].successor_hash, keys("new", None).hash(&seen[1].successor));
    }

    #[test]
    fn a_changed_key_knows_no_token_of_the_one_before() {
        let token = secret("a token");
        let old = keys("old", None).hash(&token);

        assert!(keys("new", None).hashes_of(&token).all(|it| it.hash != old));
    }

    #[test]
    fn what_cannot_be_a_token_is_not_looked_for() {
        for text in ["", &"x".repeat(129)] {
            assert_eq!(keys("key", Some("other")).hashes_of(&secret(text)).count(), 0);
        }
    }
}
