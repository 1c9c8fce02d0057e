//! Device that has its user's key, or requests it.
//!
//! `DeviceState` decides which secrets exist: an onboarding session while it is
//! pending, a wrapped key while it is active, and neither once it is revoked. The
//! row of a device stays through all of them.

use pia_kernel::Timestamp;
use ring::digest::{SHA256, digest};
use uuid::Uuid;

use crate::fields::{PUBLIC_KEY, bytes};

/// Maximum length of the id that a device chooses for itself.
const MAX_ID_CHARS: usize = 64;

/// Identifier of a device, unique within its account, as the device chose it.
/// It is part of what devices sign and encrypt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceId(String);

/// Id of a device's row. Devices do not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceRow(pub Uuid);

/// Device as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Server-side id.
    pub row: DeviceRow,
    /// Id that the device chose.
    pub id: DeviceId,
    /// Name for the owner.
    pub name: String,
    /// State of the device.
    pub state: DeviceState,
    /// Public key for which other devices wrap the account's key, base64 as it was sent.
    pub agreement_key: String,
    /// Public key that verifies the device's approvals, base64 as it was sent.
    pub signing_key: String,
    /// Operating system, if the device named it.
    pub os_version: Option<String>,
    /// Version of the app, if the device named it.
    pub app_version: Option<String>,
    /// Time of its first registration.
    pub created_at: Timestamp,
    /// Time of its last activation; `None` if it never was active.
    pub activated_at: Option<Timestamp>,
    /// Time of its last revocation, which stays if it registers again; `None` if it never
    /// was revoked.
    pub revoked_at: Option<Timestamp>,
    /// Time of its last registration, activation, approval of another device, or own key.
    pub seen_at: Timestamp,
}

/// State of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceState {
    /// Device requests approval, for as long as this session lasts.
    Pending(OnboardingSession),
    /// Device is active and has this wrapped copy of the account key.
    Active(WrappedKey),
    /// Device was revoked.
    Revoked,
}

/// Single-use secret of a device that asks to be approved, valid for a short
/// time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnboardingSession {
    /// The session, as it was issued.
    pub text: String,
    /// Time of expiry.
    pub ends_at: Timestamp,
}

/// User's key, encrypted for one of the user's devices; all texts are as they
/// were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// Account's key, wrapped for the device.
    pub ciphertext: String,
    /// Salt of the key that opens it, 32 bytes in base64.
    pub salt: String,
    /// Device that created it: the approving one, or the device itself.
    pub created_by: DeviceId,
    /// Time when it was stored.
    pub created_at: Timestamp,
    /// Approval by another device; `None` where the device approved itself.
    pub approved: Option<DeviceApproval>,
}

/// Signed approval of a device's key by another device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceApproval {
    /// Signature of the approving device.
    pub signature: String,
    /// Version of the signed payload, 1 or 2.
    pub version: i16,
    /// Signed onboarding session.
    pub onboarding: String,
}

/// Device that requests approval, as other devices see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingDevice {
    /// Server-side id.
    pub row: DeviceRow,
    /// Name for the owner.
    pub name: String,
    /// Time of its first registration.
    pub created_at: Timestamp,
}

impl DeviceId {
    /// Parses a device's id; `None` if it is invalid. Signed payloads separate
    /// their parts with colons, so an id must not contain any.
    pub fn parse(text: &str) -> Option<Self> {
        let is_allowed = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
        let is_valid =
            !text.is_empty() && text.len() <= MAX_ID_CHARS && text.bytes().all(is_allowed);
        is_valid.then(|| Self(text.to_owned()))
    }

    /// Returns the text as it was sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Device {
    /// Returns whether the device has the user's key.
    pub fn is_active(&self) -> bool {
        matches!(self.state, DeviceState::Active(_))
    }

    /// Returns whether the device is revoked.
    pub fn is_revoked(&self) -> bool {
        matches!(self.state, DeviceState::Revoked)
    }

    /// Returns a fingerprint by which users compare devices: the first eight bytes of the
    /// SHA-256 of the device's encryption key, as `9BDA-95BD-A1EF-8F1B`. `None` if the key is
    /// no public key.
    pub fn fingerprint(&self) -> Option<String> {
        let hash = digest(&SHA256, &bytes(&self.agreement_key, PUBLIC_KEY)?);
        let words: Vec<_> = hash
            .as_ref()
            .chunks_exact(2)
            .take(4)
            .filter_map(|it| it.try_into().ok())
            .map(|it| format!("{:04X}", u16::from_be_bytes(it)))
            .collect();
        Some(words.join("-"))
    }

    /// Returns the unexpired onboarding session of a pending device.
    pub fn onboarding(&self, now: Timestamp) -> Option<&str> {
        match &self.state {
            DeviceState::Pending(session) if now < session.ends_at => Some(&session.text),
            DeviceState::Pending(_) | DeviceState::Active(_) | DeviceState::Revoked => None,
        }
    }

    /// Returns whether `session` is the device's unexpired onboarding session.
    /// An ordinary comparison suffices: all of the user's devices know the
    /// session.
    pub(crate) fn has_onboarding_session(&self, session: &str, now: Timestamp) -> bool {
        self.onboarding(now) == Some(session)
    }

    /// Returns the device with the account's key.
    pub(crate) fn activated(&self, key: WrappedKey, at: Timestamp) -> Self {
        let mut device = self.with_last_seen(at);
        device.state = DeviceState::Active(key);
        device.activated_at = Some(at);
        device
    }

    /// Returns the device with a newer time of last use.
    pub(crate) fn with_last_seen(&self, at: Timestamp) -> Self {
        Self { seen_at: at, ..self.clone() }
    }
}

impl WrappedKey {
    /// Returns a key that a device wrapped for itself, which no other device
    /// has approved.
    pub(crate) fn self_wrapped(
        device: &DeviceId,
        ciphertext: String,
        salt: String,
        at: Timestamp,
    ) -> Self {
        Self { ciphertext, salt, created_by: device.clone(), created_at: at, approved: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::{Ada, Machine, text};

    #[tokio::test]
    async fn a_fingerprint_is_the_beginning_of_the_hash_of_the_key() {
        let ada = Ada::new();
        let first = Machine::new("first");
        ada.register(&first).await;

        // printf '\\4%.0s' {1..65} | sha256sum
        let key = text(4, 65);
        let device = Device { agreement_key: key, ..ada.device(&first) };

        assert_eq!(device.fingerprint().as_deref(), Some("9BDA-95BD-A1EF-8F1B"));
    }

    #[test]
    fn an_id_is_a_plain_text_that_stays_unchanged() {
        for valid in ["0199F0E0-0000-7000-8000-00000000000a", "5", "a_b.c"] {
            assert_eq!(DeviceId::parse(valid).unwrap().as_str(), valid);
        }
        let long = "x".repeat(65);
        for none in ["", " ", "a b", "a:b", "a/b", "{a}", "\u{0}", "ß", &long] {
            assert_eq!(DeviceId::parse(none), None, "{none:?}");
        }
    }
}
