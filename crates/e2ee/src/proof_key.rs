//! Proof key: proves that a caller opened a recovery copy.
//!
//! A device derives it from the account's key (the test below has the published
//! client's vectors) and stores it once, after the recovery copy. Later, a device
//! that opened the copy sends HMAC-SHA-256 of its onboarding session under this
//! key, which `activation.rs` verifies. A stored key is never replaced by
//! another, so that a stolen session cannot exchange it.

use std::time::Duration;

use pia_kernel::{ReauthenticationOutcome, Secret, Timestamp, Unavailable};
use ring::hmac;

use crate::account_keys::{AccountKeys, RecoveryProofKey};
use crate::change::Change;
use crate::fields::{PROOF, bytes};
use crate::recovery_copy::changed_effects;
use crate::use_cases::KeyOwner;

/// Time that a client may take for all the steps of encrypting an account.
const SETUP_GRACE_PERIOD: Duration = Duration::from_mins(10);

/// Key that is derived from a user's key, and reveals nothing about it. It is
/// never returned to clients.
#[derive(Debug, Clone)]
pub struct ProofKey(Secret<String>);

/// Proof key, not validated yet.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "named as on the wire")]
pub struct ProofKeyForm {
    pub proof_key: Option<Secret<String>>,
    pub version: Option<i64>,
}

/// Errors that prevent a proof key from being stored.
#[derive(Debug, thiserror::Error)]
pub enum PutProofKeyError {
    /// Proof key is malformed.
    #[error("the proof key is invalid")]
    Invalid,
    /// Account has no recovery copy that the proof key could guard.
    #[error("there is no recovery copy")]
    NotSetUp,
    /// User has no active device from whose key it could be derived.
    #[error("the person has no active device")]
    NoActiveDevice,
    /// Another proof key is stored. It stays.
    #[error("another proof key is stored")]
    Conflict,
    /// Caller's session alone does not suffice here.
    #[error("a proof of the owner is required")]
    Unproven,
    /// Account no longer exists.
    #[error("no such account")]
    Gone,
    /// Dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl ProofKeyForm {
    pub(crate) fn validate(self) -> Result<ProofKey, PutProofKeyError> {
        if self.version.unwrap_or(1) != 1 {
            return Err(PutProofKeyError::Invalid);
        }
        self.proof_key.and_then(|it| ProofKey::parse(it.expose())).ok_or(PutProofKeyError::Invalid)
    }
}

impl ProofKey {
    /// Parses a key of 32 bytes in base64; `None` if the text is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        bytes(text, PROOF).is_some().then(|| Self(Secret::new(text.to_owned())))
    }

    /// Returns the text as it was sent, for encryption at rest.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Compares two keys in constant time.
    pub fn ct_eq(&self, other: &Self) -> bool {
        self.0.ct_eq(other.expose())
    }

    /// Returns whether `proof` was made with this key for this session:
    /// HMAC-SHA-256 over the session's text. A malformed proof is never valid.
    pub fn proves(&self, session: &str, proof: &str) -> bool {
        let key = bytes(self.expose(), PROOF);
        let proof = bytes(proof, PROOF);
        let (Some(key), Some(proof)) = (key, proof) else { return false };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        // Takes the same time wherever the two differ.
        hmac::verify(&key, session.as_bytes(), &proof).is_ok()
    }

    /// Guards the recovery copy with this key permanently, if the owner may.
    pub(crate) fn decide(
        &self,
        account: &AccountKeys,
        owner: KeyOwner,
        at: Timestamp,
    ) -> Result<(Change, ()), PutProofKeyError> {
        match &account.recovery {
            None => Err(PutProofKeyError::NotSetUp),
            _ if !account.any_active() => Err(PutProofKeyError::NoActiveDevice),
            Some(RecoveryProofKey::Stored(stored)) if stored.ct_eq(self) => {
                Ok((Change::default(), ()))
            }
            Some(RecoveryProofKey::Stored(_) | RecoveryProofKey::Lost) => {
                Err(PutProofKeyError::Conflict)
            }
            Some(RecoveryProofKey::Missing) if !may_be_first(account, owner, at) => {
                Err(PutProofKeyError::Unproven)
            }
            Some(RecoveryProofKey::Missing) => {
                let change = Change { proof_key: Some(self.clone()), ..Change::default() };
                Ok((change.with(changed_effects(owner.user, at, "recovery_key.proof_stored")), ()))
            }
        }
    }
}

/// Returns whether a caller may store the first proof key: the owner after
/// reauthentication, or a client that has just encrypted the account.
fn may_be_first(account: &AccountKeys, owner: KeyOwner, now: Timestamp) -> bool {
    match owner.reauthentication {
        ReauthenticationOutcome::Fresh => true,
        ReauthenticationOutcome::Stale => account.all_activated_since(now - SETUP_GRACE_PERIOD),
        ReauthenticationOutcome::Delegated => false,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use ring::hkdf;

    use super::*;

    /// Session id in the published client's tests.
    const SESSION: &str = "c2Vzc2lvbi1pZC1mb3ItdGVzdA==";
    const KEY: &str = "phOEJR9lkjOF4YJxhf4nT9XmassAoNeahsxCoJFIiyc=";
    const PROVES: &str = "y+52MODeXs+WHJ+ElRnSblizJFBBznh7MVOnhS0eB1M=";

    struct Length32;

    impl hkdf::KeyType for Length32 {
        fn len(&self) -> usize {
            32
        }
    }

    #[test]
    fn the_test_vectors_of_the_published_client_match() {
        let umk: Vec<u8> = (0..32).collect();
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"activation");
        let pseudorandom_key = salt.extract(&umk);
        let derived_key = pseudorandom_key.expand(&[b"pia-activation-proof-v1"], Length32).unwrap();
        let mut key = [0; 32];
        derived_key.fill(&mut key).unwrap();

        assert_eq!(STANDARD.encode(key), KEY);
        assert!(ProofKey::parse(KEY).unwrap().proves(SESSION, PROVES));
    }

    #[test]
    fn an_invalid_proof_is_refused() {
        let key = ProofKey::parse(KEY).unwrap();
        let other_key = ProofKey::parse(&STANDARD.encode([7; 32])).unwrap();
        let short = STANDARD.encode(&STANDARD.decode(PROVES).unwrap()[..31]);

        assert!(!other_key.proves(SESSION, PROVES));
        assert!(!key.proves("c2Vzc2lvbi1pZC1mb3ItdGVzdB==", PROVES), "the text, not the bytes");
        for proof in ["", "x", KEY, &short, PROVES.trim_end_matches('='), &format!("{PROVES} ")] {
            assert!(!key.proves(SESSION, proof), "{proof}");
        }
        assert!(!format!("{key:?}").contains(KEY));
    }
}
