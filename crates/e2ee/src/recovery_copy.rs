//! Copy of a user's key, encrypted with their recovery code.
//!
//! The copy may be replaced until a proof key guards it (`proof_key.rs`). A copy
//! of the next version of the key is also how the server learns that the devices
//! have changed the key: `decide` then raises `AccountKeys::umk_version`.

use std::ops::RangeInclusive;

use pia_kernel::{
    QueuedEmail, ReauthenticationOutcome, SideEffects, Timestamp, Unavailable, UserId,
};

use crate::account_keys::{AccountKeys, RecoveryProofKey};
use crate::change::Change;
use crate::fields::{FieldValidator, SALT, WRAPPED};
use crate::use_cases::KeyOwner;
use crate::violation::Violation;

/// Range of Argon2's memory that a device can be required to use: up to 4 GiB.
const MEMORY_KIB: RangeInclusive<i32> = 8..=4_194_304;
const TIME: RangeInclusive<i32> = 1..=1_000;
const PARALLELISM: RangeInclusive<i32> = 1..=255;
const UMK_VERSION: RangeInclusive<i32> = 1..=1_000_000;

/// User's key, encrypted with their recovery code; the texts are as they were
/// sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryCopy {
    /// Account's key, wrapped under the recovery code.
    pub ciphertext: String,
    /// Salt of the key that opens it.
    pub kdf_salt: String,
    /// Memory that deriving the key takes, in KiB.
    pub kdf_memory_kib: i32,
    /// Number of passes of Argon2id.
    pub kdf_time: i32,
    /// Number of lanes of Argon2id.
    pub kdf_parallelism: i32,
    /// Version of the account's key that it contains, from 1.
    pub umk_version: i32,
    /// Time when it was stored.
    pub created_at: Timestamp,
}

/// Recovery copy, not validated yet.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "named as on the wire")]
pub struct RecoveryForm {
    pub ciphertext: Option<String>,
    pub kdf_salt: Option<String>,
    pub kdf_memory_cost_kb: Option<i64>,
    pub kdf_time_cost: Option<i64>,
    pub kdf_parallelism: Option<i64>,
    pub wrap_version: Option<i64>,
    pub umk_version: Option<i64>,
}

/// Errors that prevent a recovery copy from being stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreCopyError {
    /// The request is invalid.
    #[error("the recovery copy is invalid")]
    Invalid(Vec<Violation>),
    /// Recovery copy exists and is guarded by a proof key; it stays.
    #[error("the recovery copy is locked")]
    Locked,
    /// User has no active device whose key could be copied.
    #[error("the person has no active device")]
    NoActiveDevice,
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

impl RecoveryForm {
    pub(crate) fn validate(self, at: Timestamp) -> Result<RecoveryCopy, StoreCopyError> {
        let mut fields = FieldValidator::default();
        let ciphertext = fields.bytes("ciphertext", self.ciphertext, WRAPPED);
        let salt = fields.bytes("kdfSalt", self.kdf_salt, SALT);
        let memory = fields.number("kdfMemoryCostKb", self.kdf_memory_cost_kb, MEMORY_KIB, None);
        let time = fields.number("kdfTimeCost", self.kdf_time_cost, TIME, None);
        let lanes = fields.number("kdfParallelism", self.kdf_parallelism, PARALLELISM, None);
        let _known = fields.version("wrapVersion", self.wrap_version, &[1]);
        let umk = fields.number("umkVersion", self.umk_version, UMK_VERSION, Some(1));
        let build = move || {
            Some(RecoveryCopy {
                ciphertext: ciphertext?,
                kdf_salt: salt?,
                kdf_memory_kib: memory?,
                kdf_time: time?,
                kdf_parallelism: lanes?,
                umk_version: umk?,
                created_at: at,
            })
        };

        fields.finish(build).map_err(StoreCopyError::Invalid)
    }
}

impl RecoveryCopy {
    /// Replaces the recovery copy. A copy of the version after the current one
    /// means that the user's devices have changed to that version, which requires
    /// reauthentication.
    pub(crate) fn decide(
        &self,
        account: &AccountKeys,
        owner: KeyOwner,
        at: Timestamp,
    ) -> Result<(Change, ()), StoreCopyError> {
        if matches!(account.recovery, Some(RecoveryProofKey::Stored(_) | RecoveryProofKey::Lost)) {
            return Err(StoreCopyError::Locked);
        }
        if !account.any_active() {
            return Err(StoreCopyError::NoActiveDevice);
        }

        // A copy of the current version, or of an earlier one, raises nothing.
        let raised_version = Some(self.umk_version).filter(|it| *it > account.umk_version);
        if raised_version.is_some_and(|it| it > account.umk_version + 1) {
            let message = "`umkVersion` may be raised by one at a time.";
            let violation = Violation::new("umkVersion", "out_of_range", message);
            return Err(StoreCopyError::Invalid(vec![violation]));
        }
        if raised_version.is_some() && owner.reauthentication != ReauthenticationOutcome::Fresh {
            return Err(StoreCopyError::Unproven);
        }

        let change = Change {
            recovery: Some(self.clone()),
            umk_version: raised_version,
            ..Change::default()
        };

        Ok((change.with(changed_effects(owner.user, at, "recovery_key.stored")), ()))
    }
}

/// Returns the side effects of a changed recovery: its audit entry and the email to
/// the user.
pub(crate) fn changed_effects(user: UserId, at: Timestamp, action: &'static str) -> SideEffects {
    let email = QueuedEmail::new("recovery-key-changed").to_user(at, user);
    SideEffects::audit(at, user, action).and_mail(email)
}
