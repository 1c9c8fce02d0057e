//! Challenges for authenticators, as browsers are handed them.

use std::time::Duration;

use pia_kernel::{Secret, Timestamp, Unavailable};

use crate::factor_challenges::hash;
use crate::ports::{Ceremony, NewPasskeyChallenge, TokenHash};
use crate::refresh_tokens;

/// How long a challenge waits for its answer, as browsers are told too.
const LIFETIME: Duration = Duration::from_mins(5);
/// Longer texts are no tokens of ours; those have 43 letters.
const MAX_TOKEN_BYTES: usize = 128;

/// What a browser is handed to go to an authenticator with.
#[derive(Debug, Clone)]
pub struct AskedPasskey {
    /// What the answer comes back with. It is good once.
    pub token: Secret<String>,
    /// Options of `navigator.credentials`, as JSON.
    pub options: String,
}

/// What goes to the browser, and what waits for its answer.
pub(crate) fn asked(
    begun: Ceremony,
    now: Timestamp,
) -> Result<(AskedPasskey, NewPasskeyChallenge), Unavailable> {
    let token = refresh_tokens::fresh()?;
    let (hash, expires_at) = (hash(&token), now + LIFETIME);
    let challenge = NewPasskeyChallenge { hash, state: begun.state, expires_at };
    Ok((AskedPasskey { token, options: begun.options }, challenge))
}

/// What is kept of a token; nothing if it can be none of ours.
pub(crate) fn known(token: &Secret<String>) -> Option<TokenHash> {
    (1..=MAX_TOKEN_BYTES).contains(&token.expose().len()).then(|| hash(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_a_token_is_kept_as_its_hash() {
        let begun = Ceremony { options: "{}".to_owned(), state: Secret::new("state".to_owned()) };

        let (asked, challenge) = asked(begun, Timestamp::UNIX_EPOCH).unwrap();

        assert_eq!(known(&asked.token), Some(challenge.hash));
        assert_eq!(challenge.expires_at, Timestamp::UNIX_EPOCH + Duration::from_mins(5));
        for text in ["", &"x".repeat(129)] {
            assert_eq!(known(&Secret::new(text.to_owned())), None);
        }
    }
}
