//! PKCE challenge of the program that started a sign-in.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::Secret;
use ring::digest;
use serde::{Deserialize, Serialize};

/// Permitted lengths of a verifier (RFC 7636, 4.1). Shorter ones could be guessed.
const VERIFIER_CHARS: std::ops::RangeInclusive<usize> = 43..=128;

/// SHA-256 of a verifier, which is presented to redeem a code (RFC 7636).
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeChallenge(pub [u8; 32]);

impl CodeChallenge {
    /// Parses the canonical encoding of a challenge.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; 32] = URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
        (URL_SAFE_NO_PAD.encode(bytes) == text).then_some(Self(bytes))
    }

    /// Returns the challenge of a verifier; `None` if it is malformed.
    pub(crate) fn from_verifier(verifier: &Secret<String>) -> Option<Self> {
        let text = verifier.expose().as_bytes();
        let is_unreserved = |it: &u8| it.is_ascii_alphanumeric() || b"-._~".contains(it);
        if !VERIFIER_CHARS.contains(&text.len()) || !text.iter().all(is_unreserved) {
            return None;
        }
        Some(Self::of_ours(verifier))
    }

    /// Returns the challenge of a verifier that this server generated.
    pub(crate) fn of_ours(verifier: &Secret<String>) -> Self {
        let mut hash = [0; 32];
        let digest = digest::digest(&digest::SHA256, verifier.expose().as_bytes());
        hash.copy_from_slice(digest.as_ref());
        Self(hash)
    }
}

impl fmt::Debug for CodeChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CodeChallenge").field(&URL_SAFE_NO_PAD.encode(self.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge_of(verifier: &str) -> Option<CodeChallenge> {
        CodeChallenge::from_verifier(&Secret::new(verifier.to_owned()))
    }

    #[test]
    fn the_example_of_the_rfc_matches() {
        let challenge = CodeChallenge::parse("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");

        assert!(challenge.is_some());
        assert_eq!(challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), challenge);
    }

    #[test]
    fn a_challenge_is_32_bytes_in_canonical_encoding() {
        let good = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

        for bad in [
            "",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-c",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cN",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM",
            &format!("{good}="),
            &format!("{good}AA"),
            &format!(" {good}"),
            &"A".repeat(100_000),
        ] {
            assert_eq!(CodeChallenge::parse(bad), None, "{bad:.60}");
        }
    }

    #[test]
    fn malformed_verifiers_have_no_challenge() {
        let shortest = "a".repeat(43);
        let longest = "a".repeat(128);

        assert!(challenge_of(&shortest).is_some());
        assert!(challenge_of(&longest).is_some());
        for bad in [&"a".repeat(42), &format!("{longest}a"), "", &"ä".repeat(43), &" ".repeat(43)]
        {
            assert_eq!(challenge_of(bad), None, "{bad:.60}");
        }
    }
}
