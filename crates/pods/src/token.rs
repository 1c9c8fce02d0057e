//! Tokens with which pods connect.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Secret, Unavailable, random_bytes};
use ring::digest::{SHA256, digest};
use uuid::Uuid;

/// Prefix that distinguishes these tokens from other credentials.
const PREFIX: &str = "pia_pod_";
/// Length of the random part, in characters.
const RANDOM_CHARS: usize = 43;

/// Token of a connector.
#[derive(Debug, Clone)]
pub struct ConnectorToken(Secret<String>);

/// SHA-256 of a token; being unguessable, it needs no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectorTokenHash(pub [u8; 32]);

/// Id of a token for administrators: the beginning of its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectorTokenId(pub Uuid);

impl ConnectorTokenHash {
    /// Returns the id of the token.
    pub fn id(&self) -> ConnectorTokenId {
        ConnectorTokenId(Uuid::from_bytes(self.0.first_chunk().copied().unwrap_or_default()))
    }
}

impl ConnectorToken {
    /// Generates a token.
    pub(crate) fn generate() -> Result<Self, Unavailable> {
        let random = URL_SAFE_NO_PAD.encode(random_bytes::<32>()?);
        Ok(Self(Secret::new(format!("{PREFIX}{random}"))))
    }

    /// Parses a presented token; `None` if it has another form.
    pub fn parse(presented: &str) -> Option<Self> {
        let random = presented.strip_prefix(PREFIX)?;
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
        let is_token = random.len() == RANDOM_CHARS && random.bytes().all(is_plain);
        is_token.then(|| Self(Secret::new(presented.to_owned())))
    }

    /// Returns the token, to be shown once.
    pub fn reveal(self) -> Secret<String> {
        self.0
    }

    /// Returns its hash.
    pub fn hash(&self) -> ConnectorTokenHash {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, self.0.expose().as_bytes()).as_ref());
        ConnectorTokenHash(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_token_is_recognised_by_its_hash() {
        let token = ConnectorToken::generate().unwrap();
        let presented = ConnectorToken::parse(token.clone().reveal().expose()).unwrap();
        assert_eq!(presented.hash(), token.hash());
        assert!(ConnectorToken::generate().unwrap().hash() != token.hash());
    }

    #[test]
    fn other_credentials_are_no_tokens() {
        let long = format!("{PREFIX}{}", "a".repeat(44));
        let odd = format!("{PREFIX}{}ä", "a".repeat(41));
        for other in ["", "pia_pod_", "eyJhbGciOiJIUzI1NiJ9.e30.x", &long, &odd] {
            assert!(ConnectorToken::parse(other).is_none(), "{other}");
        }
    }
}
