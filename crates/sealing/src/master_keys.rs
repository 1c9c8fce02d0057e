//! The operator's master key, and the one before it while it is being changed.

use std::fmt;

use pia_kernel::Secret;
use ring::hmac;

/// What data keys are derived from.
#[derive(Debug, Clone)]
pub struct MasterKeys {
    /// What is sealed now is sealed under this one.
    pub current: Secret<[u8; 32]>,
    /// What was sealed under this one is still read.
    pub previous: Option<Secret<[u8; 32]>>,
}

/// The name of a master key: the same wherever the key is, and of no help in
/// finding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyId(String);

impl MasterKeys {
    /// The name of the key in use.
    pub fn current_id(&self) -> KeyId {
        KeyId::of(&self.current)
    }

    /// The name of the key before it.
    pub fn previous_id(&self) -> Option<KeyId> {
        self.previous.as_ref().map(KeyId::of)
    }
}

impl KeyId {
    fn of(key: &Secret<[u8; 32]>) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose());
        let tag = hmac::sign(&key, b"pia-master-key-id-v1");
        let digits = tag.as_ref().iter().take(16).flat_map(|it| [it >> 4, it & 0xf]);
        Self(digits.filter_map(|it| char::from_digit(it.into(), 16)).collect())
    }

    /// A name as it was kept.
    pub fn kept(text: String) -> Self {
        Self(text)
    }

    /// The name as text: 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
