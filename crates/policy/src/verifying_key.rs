//! Public key that verifies licences, fixed when the binary is built.
//!
//! The key is decoded at compile time: a malformed one, or a distribution without one,
//! is an error of the build. Hence everything up to `choose_key` is `const`.

use std::fmt::Write as _;

use ring::{digest, signature};

/// Public half of the key in `xtask/dev-license-key`. That key is public:
/// anyone who builds from source can issue licences for it.
const DEVELOPMENT_KEY: &str = "zVu35G9R9RWRxASTngMDAcklbL6VpMwPbCRvZTRrK1c";

/// Public key that this build accepts. A distribution build without a key of
/// its own does not compile, so that the key cannot be forgotten.
const BUILT_IN: [u8; 32] =
    match choose_key(option_env!("PIA_DISTRIBUTION"), option_env!("PIA_LICENSE_PUBLIC_KEY")) {
        Ok(key) => key,
        Err(why) => panic!("{}", why),
    };

/// Ed25519 public key of an issuer of licences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyingKey([u8; 32]);

impl VerifyingKey {
    /// Returns the key of this build: `PIA_LICENSE_PUBLIC_KEY` at compile time, or
    /// else the development key.
    pub const fn built_in() -> Self {
        Self(BUILT_IN)
    }

    /// Parses 32 bytes in base64, in either alphabet.
    pub const fn from_base64(text: &str) -> Option<Self> {
        match decode_base64(text) {
            Some(bytes) => Some(Self(bytes)),
            None => None,
        }
    }

    /// Creates a key from its bytes.
    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns whether anyone can issue licences that this key accepts.
    pub fn is_development_key(&self) -> bool {
        Some(self.0) == decode_base64(DEVELOPMENT_KEY)
    }

    /// Returns the id by which licences refer to it: the beginning of its SHA-256
    /// in hexadecimal.
    pub fn id(&self) -> String {
        let hash = digest::digest(&digest::SHA256, &self.0);
        hash.as_ref().iter().take(8).fold(String::new(), |mut id, byte| {
            // Writing to a string does not fail.
            write!(id, "{byte:02x}").unwrap_or_default();
            id
        })
    }

    /// Returns the key in the format of `PIA_LICENSE_PUBLIC_KEY`.
    pub fn to_base64(&self) -> String {
        use base64::Engine as _;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Returns whether the signature of `message` was made with the private key
    /// of this key.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let key = signature::UnparsedPublicKey::new(&signature::ED25519, &self.0);
        key.verify(message, signature).is_ok()
    }
}

/// Returns the key for a build with these two variables. An empty variable
/// counts as unset, because that is how pipelines pass on a missing variable.
const fn choose_key(
    distribution: Option<&str>,
    configured: Option<&str>,
) -> Result<[u8; 32], &'static str> {
    let for_distribution = matches!(distribution, Some(it) if !it.is_empty());
    let Some(development) = decode_base64(DEVELOPMENT_KEY) else {
        return Err("the development key is not 32 bytes in base64");
    };

    match configured {
        Some(text) if !text.is_empty() => match decode_base64(text) {
            None => Err("PIA_LICENSE_PUBLIC_KEY is not 32 bytes in base64"),
            Some(key) if for_distribution && keys_eq(&key, &development) => {
                Err("a build for distribution must not accept the development key: set \
                 PIA_LICENSE_PUBLIC_KEY to a key of your own")
            }
            Some(key) => Ok(key),
        },
        _ if for_distribution => {
            Err("a build for distribution needs a key for licences: set PIA_LICENSE_PUBLIC_KEY")
        }
        _ => Ok(development),
    }
}

const fn keys_eq(left: &[u8], right: &[u8]) -> bool {
    match (left, right) {
        ([], []) => true,
        ([first, left @ ..], [second, right @ ..]) => *first == *second && keys_eq(left, right),
        _ => false,
    }
}

/// Decodes base64 at compile time, with at most one `=` at the end.
const fn decode_base64(text: &str) -> Option<[u8; 32]> {
    let mut symbols = text.as_bytes();
    if let [before @ .., b'='] = symbols {
        symbols = before;
    }

    let mut key = [0; 32];
    let mut unfilled: &mut [u8] = &mut key;
    let mut bits = 0_u32;
    let mut pending_bits = 0_u32;
    while let [symbol, later_symbols @ ..] = symbols {
        symbols = later_symbols;
        let Some(value) = sextet(*symbol) else { return None };

        bits = (bits << 6) | value as u32;
        pending_bits += 6;

        if pending_bits >= 8 {
            pending_bits -= 8;
            let Some((byte, later_bytes)) = unfilled.split_first_mut() else { return None };
            *byte = ((bits >> pending_bits) & 0xff) as u8;
            unfilled = later_bytes;
        }
    }

    // Remaining bits must be zero, or else one key would have several encodings.
    let complete = unfilled.is_empty() && pending_bits < 6 && bits & ((1 << pending_bits) - 1) == 0;

    if complete { Some(key) } else { None }
}

const fn sextet(symbol: u8) -> Option<u8> {
    match symbol {
        b'A'..=b'Z' => Some(symbol - b'A'),
        b'a'..=b'z' => Some(symbol - b'a' + 26),
        b'0'..=b'9' => Some(symbol - b'0' + 52),
        b'-' | b'+' => Some(62),
        b'_' | b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use ring::rand::{SecureRandom as _, SystemRandom};

    use super::*;

    const OURS: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA";

    #[test]
    fn a_build_without_settings_has_the_development_key() {
        assert_eq!(choose_key(None, None), decode_base64(DEVELOPMENT_KEY).ok_or(""));
        assert_eq!(choose_key(Some(""), Some("")), decode_base64(DEVELOPMENT_KEY).ok_or(""));
    }

    #[test]
    fn a_build_has_its_configured_key() {
        let configured = decode_base64(OURS).ok_or("");

        assert_eq!(choose_key(None, Some(OURS)), configured);
        assert_eq!(choose_key(Some("1"), Some(OURS)), configured);
    }

    #[test]
    fn a_distribution_build_without_its_own_key_is_refused() {
        for key in [None, Some(""), Some(DEVELOPMENT_KEY)] {
            let error = choose_key(Some("1"), key).unwrap_err();

            assert!(error.contains("PIA_LICENSE_PUBLIC_KEY"), "{error}");
        }
    }

    #[test]
    fn an_invalid_key_is_refused_in_every_build() {
        for distribution in [None, Some("1")] {
            for key in ["AAAA", "not base64!", &format!("{OURS}A"), &format!("{OURS}==")] {
                assert!(choose_key(distribution, Some(key)).is_err(), "{key}");
            }
        }
    }

    #[test]
    fn keys_of_either_alphabet_decode_as_with_the_library() {
        for _ in 0..1000 {
            let mut key = [0; 32];
            SystemRandom::new().fill(&mut key).unwrap();

            assert_eq!(decode_base64(&URL_SAFE_NO_PAD.encode(key)), Some(key));
            assert_eq!(decode_base64(&STANDARD.encode(key)), Some(key));
        }
    }

    #[test]
    fn a_key_has_exactly_one_encoding() {
        let with_a_surplus_bit = OURS.replace("eHyA", "eHyB");

        assert_eq!(decode_base64(&with_a_surplus_bit), None);
    }

    #[test]
    fn a_key_survives_a_round_trip() {
        let key = VerifyingKey::from_base64(OURS).unwrap();

        assert_eq!(key.to_base64(), OURS);
        assert_eq!(key.id(), "ae216c2ef5247a37");
        assert!(!key.is_development_key());
    }
}
