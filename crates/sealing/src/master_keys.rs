//! Master key of the server, and the previous one during a rotation.

use std::fmt;

use pia_kernel::Secret;
use ring::hmac;

/// Length of a key id in bytes.
pub(crate) const KEY_ID_LEN: usize = 16;

/// Master keys, from which the keys of users and of the server are derived.
#[derive(Debug, Clone)]
pub struct MasterKeys {
    /// Key for new values.
    pub current: Secret<[u8; 32]>,
    /// Key whose values can still be opened; `None` when no rotation is under way.
    pub previous: Option<Secret<[u8; 32]>>,
}

/// Id of a master key: the same wherever the key is used, and useless for
/// finding the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyId(String);

impl MasterKeys {
    /// Returns the id of the current key.
    pub fn current_id(&self) -> KeyId {
        KeyId::from_key(&self.current)
    }

    /// Returns the id of the previous key.
    pub fn previous_id(&self) -> Option<KeyId> {
        self.previous.as_ref().map(KeyId::from_key)
    }

    /// Returns the key with this id, if it is available.
    pub(crate) fn key_by_id(&self, id: &KeyId) -> Option<&Secret<[u8; 32]>> {
        std::iter::once(&self.current).chain(&self.previous).find(|it| KeyId::from_key(it) == *id)
    }
}

impl KeyId {
    pub(crate) fn from_key(key: &Secret<[u8; 32]>) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose());
        let tag = hmac::sign(&key, b"pia-master-key-id-v1");
        Self::digits(tag.as_ref().iter().take(KEY_ID_LEN))
    }

    /// Creates an id from its stored text, which is not checked: an invalid one
    /// equals the id of no key.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn of_bytes(bytes: &[u8; KEY_ID_LEN]) -> Self {
        Self::digits(bytes.iter())
    }

    /// Returns the id as bytes; `None` if the stored text is not an id.
    pub(crate) fn bytes(&self) -> Option<[u8; KEY_ID_LEN]> {
        let digits: Vec<u8> =
            self.0.chars().map_while(|it| it.to_digit(16)?.try_into().ok()).collect();
        let bytes: Vec<u8> = digits
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0, |byte, it| byte << 4 | it))
            .collect();
        bytes.try_into().ok()
    }

    /// Returns the id as 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn digits<'a>(bytes: impl Iterator<Item = &'a u8>) -> Self {
        let digits = bytes.flat_map(|it| [it >> 4, it & 0xf]);
        Self(digits.filter_map(|it| char::from_digit(it.into(), 16)).collect())
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
