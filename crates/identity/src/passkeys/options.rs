//! Challenges for authenticators, as browsers are handed them.

use std::time::Duration;

use pia_kernel::{Secret, Timestamp, Unavailable};

use crate::ports::{Ceremony, NewPasskeyChallenge, TokenHash};
use crate::sessions;
use crate::sessions::token_hash;

/// Duration for which a challenge waits for its answer, as sent to browsers
/// too.
const LIFETIME: Duration = Duration::from_mins(5);
/// Longer texts are no tokens of ours; those have 43 letters.
const MAX_TOKEN_BYTES: usize = 128;

/// Options that a browser passes to an authenticator.
#[derive(Debug, Clone)]
pub struct PasskeyOptions {
    /// Single-use token that accompanies the answer.
    pub token: Secret<String>,
    /// Options of `navigator.credentials`, as JSON.
    pub options: String,
}

/// Returns the options for the browser, and the challenge that waits for its
/// answer.
pub(crate) fn start_ceremony(
    begun: Ceremony,
    now: Timestamp,
) -> Result<(PasskeyOptions, NewPasskeyChallenge), Unavailable> {
    let token = sessions::refresh_tokens::fresh()?;
    let (hash, expires_at) = (token_hash::of_ours(&token), now + LIFETIME);
    let challenge = NewPasskeyChallenge { hash, state: begun.state, expires_at };
    Ok((PasskeyOptions { token, options: begun.options }, challenge))
}

/// Returns the hash of a presented token; nothing if it cannot be one of ours.
pub(crate) fn hash_presented(token: &Secret<String>) -> Option<TokenHash> {
    (1..=MAX_TOKEN_BYTES).contains(&token.expose().len()).then(|| token_hash::of_ours(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_a_token_is_stored_as_its_hash() {
        let begun = Ceremony { options: "{}".to_owned(), state: Secret::new("state".to_owned()) };

        let (requested, challenge) = start_ceremony(begun, Timestamp::UNIX_EPOCH).unwrap();

        assert_eq!(hash_presented(&requested.token), Some(challenge.hash));
        assert_eq!(challenge.expires_at, Timestamp::UNIX_EPOCH + Duration::from_mins(5));
        for text in ["", &"x".repeat(129)] {
            assert_eq!(hash_presented(&Secret::new(text.to_owned())), None);
        }
    }
}
