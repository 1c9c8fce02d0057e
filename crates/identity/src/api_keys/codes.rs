//! Format and hash of API keys: `pia_` and 43 characters of URL-safe base64.
//!
//! `ApiKeys::create` generates a key, `ApiKeyAuthenticator::parse` hashes a
//! presented one. Only hashes are stored and compared.

use pia_kernel::{Secret, Unavailable};
use ring::digest;

use crate::ports::ApiKeyHash;
use crate::sessions;

/// Prefix that distinguishes keys from tokens, and lets scanners find leaked
/// ones.
const PREFIX: &str = "pia_";
/// Length of the random part in characters: 256 bits in URL-safe base64.
const CHARS: usize = 43;

/// Generates a key of 256 random bits.
pub(crate) fn fresh() -> Result<Secret<String>, Unavailable> {
    let random = sessions::refresh_tokens::fresh()?;
    Ok(Secret::new(format!("{PREFIX}{}", random.expose())))
}

/// Returns the hash of a presented key; `None` if it is malformed. A fast hash is sufficient, as
/// 256 bits cannot be guessed.
pub(crate) fn hash(presented: &str) -> Option<ApiKeyHash> {
    let random = presented.strip_prefix(PREFIX)?.as_bytes();
    let is_base64url = |it: &u8| it.is_ascii_alphanumeric() || b"-_".contains(it);
    if random.len() != CHARS || !random.iter().all(is_base64url) {
        return None;
    }
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(b"api-key-v1:");
    context.update(random);
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    Some(ApiKeyHash(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_keys_are_distinct_and_have_256_bits() {
        let key = fresh().unwrap();
        let other_key = fresh().unwrap();

        // 256 bits are 43 characters in base64.
        assert!(key.expose().starts_with("pia_"));
        assert_eq!(key.expose().len(), "pia_".len() + 43);
        assert!(hash(key.expose()).is_some());
        assert_ne!(hash(key.expose()), hash(other_key.expose()));
    }

    #[test]
    fn the_hash_is_domain_separated() {
        let random = "a".repeat(43);
        let plain_digest = digest::digest(&digest::SHA256, random.as_bytes());

        let stored_hash = hash(&format!("pia_{random}")).unwrap();

        assert_ne!(stored_hash.0, plain_digest.as_ref());
    }

    #[test]
    fn malformed_keys_have_no_hash() {
        let good = "a".repeat(43);
        for presented in [
            String::new(),
            good.clone(),
            format!("PIA_{good}"),
            format!("pia-{good}"),
            format!("pia_{good}a"),
            format!("pia_{}", "a".repeat(42)),
            format!("pia_{}.", "a".repeat(42)),
            format!("pia_{}", "ä".repeat(43)),
        ] {
            assert_eq!(hash(&presented), None, "{presented}");
        }
    }
}
