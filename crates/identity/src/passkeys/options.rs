//! Challenges for authenticators, as sent to browsers.

use std::time::Duration;

use pia_kernel::{Secret, Timestamp, Unavailable};

use crate::ports::{Ceremony, NewPasskeyChallenge, TokenHash};
use crate::sessions;
use crate::sessions::token_hash;

/// Duration for which a challenge waits for its response; browsers receive it too.
const LIFETIME: Duration = Duration::from_mins(5);
/// Maximum length of a presented token, in bytes; ours have 43.
const MAX_TOKEN_BYTES: usize = 128;

/// Options that a browser passes to an authenticator.
#[derive(Debug, Clone)]
pub struct PasskeyOptions {
    /// Single-use token that accompanies the response.
    pub token: Secret<String>,
    /// Options of `navigator.credentials`, as JSON.
    pub options: String,
}

/// Returns the options for the browser, and the pending challenge.
pub(crate) fn start_ceremony(
    ceremony: Ceremony,
    now: Timestamp,
) -> Result<(PasskeyOptions, NewPasskeyChallenge), Unavailable> {
    let token = sessions::refresh_tokens::fresh()?;
    let hash = token_hash::of_ours(&token);
    let expires_at = now + LIFETIME;
    let challenge = NewPasskeyChallenge { hash, state: ceremony.state, expires_at };
    Ok((PasskeyOptions { token, options: ceremony.options }, challenge))
}

/// Returns the hash of a presented token; `None` if it is malformed.
pub(crate) fn hash_presented(token: &Secret<String>) -> Option<TokenHash> {
    (1..=MAX_TOKEN_BYTES).contains(&token.expose().len()).then(|| token_hash::of_ours(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_well_formed_token_is_stored_as_its_hash() {
        let ceremony =
            Ceremony { options: "{}".to_owned(), state: Secret::new("state".to_owned()) };

        let (started, challenge) = start_ceremony(ceremony, Timestamp::UNIX_EPOCH).unwrap();

        assert_eq!(hash_presented(&started.token), Some(challenge.hash));
        assert_eq!(challenge.expires_at, Timestamp::UNIX_EPOCH + Duration::from_mins(5));
        for text in ["", &"x".repeat(129)] {
            assert_eq!(hash_presented(&Secret::new(text.to_owned())), None);
        }
    }
}
