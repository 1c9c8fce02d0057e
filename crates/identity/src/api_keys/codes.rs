//! API keys: how they look, and what is stored of them.

use pia_kernel::{Secret, Unavailable};
use ring::digest;

use crate::ports::ApiKeyHash;
use crate::sessions;

/// Prefix that distinguishes keys from tokens, and lets scanners find leaked
/// ones.
const PREFIX: &str = "pia_";
/// 256 random bits, in base 64 for URLs.
const CHARS: usize = 43;

/// A new one, as it is shown.
pub(crate) fn fresh() -> Result<Secret<String>, Unavailable> {
    let random = sessions::refresh_tokens::fresh()?;
    Ok(Secret::new(format!("{PREFIX}{}", random.expose())))
}

/// Returns the hash under which a presented key is stored; nothing if it is
/// none. It needs no slow hash: nobody guesses 256 bits.
pub(crate) fn hash(presented: &str) -> Option<ApiKeyHash> {
    let random = presented.strip_prefix(PREFIX)?.as_bytes();
    let plain = |it: &u8| it.is_ascii_alphanumeric() || b"-_".contains(it);
    if random.len() != CHARS || !random.iter().all(plain) {
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
    fn a_new_one_has_two_hundred_and_fifty_six_bits_and_is_no_other() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());

        assert!(one.expose().starts_with("pia_") && one.expose().len() == 47);
        assert!(hash(one.expose()).is_some());
        assert_ne!(hash(one.expose()), hash(other.expose()));
    }

    #[test]
    fn the_hash_is_no_hash_of_anything_else() {
        let random = "a".repeat(43);
        let plain = digest::digest(&digest::SHA256, random.as_bytes());

        let stored = hash(&format!("pia_{random}")).unwrap();

        assert_ne!(stored.0, plain.as_ref());
    }

    #[test]
    fn what_cannot_be_one_has_no_hash() {
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
