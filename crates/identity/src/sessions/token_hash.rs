//! Hashes of unguessable random tokens.
//!
//! `refresh_tokens.rs` generates such tokens. `of_presented` checks the form
//! first; `of_ours` hashes any text.

use pia_kernel::Secret;
use ring::digest;

use crate::ports::TokenHash;

/// Length of our random tokens, in characters.
const CHARS: usize = 43;

/// Returns the plain SHA-256 of a token that this server generated; being unguessable, it needs no
/// key.
pub(crate) fn of_ours(token: &Secret<String>) -> TokenHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, token.expose().as_bytes()).as_ref());
    TokenHash(hash)
}

/// Returns the hash of a presented token; `None` if it is malformed.
pub(crate) fn of_presented(token: &Secret<String>) -> Option<TokenHash> {
    let text = token.expose().as_bytes();
    let is_base64url = |it: &u8| it.is_ascii_alphanumeric() || b"-_".contains(it);
    let is_well_formed = text.len() == CHARS && text.iter().all(is_base64url);
    is_well_formed.then(|| of_ours(token))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions;

    #[test]
    fn only_well_formed_tokens_have_a_hash() {
        let token = sessions::refresh_tokens::fresh().unwrap();
        let hash_of = |text: &str| of_presented(&Secret::new(text.to_owned()));

        assert_eq!(of_presented(&token), Some(of_ours(&token)));
        for text in ["", &"a".repeat(42), &format!("{}a", token.expose()), &"ä".repeat(43)] {
            assert_eq!(hash_of(text), None, "{text}");
        }
    }
}
