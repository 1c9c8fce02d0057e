//! The copy of a person's key that their recovery code opens.

use pia_kernel::{QueuedEmail, Reauthentication, SideEffects, Timestamp, Unavailable, UserId};

use crate::account_keys::{AccountKeys, RecoveryProofKey};
use crate::change::Change;
use crate::fields::{FieldValidator, SALT, WRAPPED};
use crate::violation::Violation;

/// Range of Argon2's memory that a device can be requested: up to 4 GiB.
const MEMORY_KIB: (i32, i32) = (8, 4_194_304);
const TIME: (i32, i32) = (1, 1_000);
const PARALLELISM: (i32, i32) = (1, 255);
const UMK_VERSION: (i32, i32) = (1, 1_000_000);

/// A person's key as their recovery code opens it; the texts are as they were
/// sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryCopy {
    /// The key, encrypted.
    pub ciphertext: String,
    /// Salt of the key that opens it.
    pub kdf_salt: String,
    /// Memory that deriving the key takes.
    pub kdf_memory_kib: i32,
    /// Number of passes.
    pub kdf_time: i32,
    /// Number of lanes.
    pub kdf_parallelism: i32,
    /// Version of the account's key.
    pub umk_version: i32,
    /// Time at which it was stored.
    pub created_at: Timestamp,
}

/// A copy for recovery; nothing of it is checked yet.
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
    #[error("the recovery copy is not good")]
    Invalid(Vec<Violation>),
    /// Recovery copy exists and is guarded by a proof; it stays.
    #[error("the recovery copy is locked")]
    Locked,
    /// No device of the person's has a key that there could be a copy of.
    #[error("the person has no active device")]
    NoActiveDevice,
    /// The caller holds a session, and that is not enough here.
    #[error("a proof of the owner is needed")]
    Unproven,
    /// The account is no more.
    #[error("there is no such account")]
    Gone,
    /// Something that is needed did not answer.
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
        let read = move || {
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
        fields.finish(read).map_err(StoreCopyError::Invalid)
    }
}

impl RecoveryCopy {
    /// Keeps it in the place of the one before. A copy of the next key than is
    /// in use reports that the person's devices have changed to that, which their
    /// owner alone can say.
    pub(crate) fn decide(
        &self,
        held: &AccountKeys,
        (user, at): (UserId, Timestamp),
        owner: Reauthentication,
    ) -> Result<(Change, ()), StoreCopyError> {
        if matches!(held.recovery, Some(RecoveryProofKey::Stored(_) | RecoveryProofKey::Lost)) {
            return Err(StoreCopyError::Locked);
        }
        if !held.any_active() {
            return Err(StoreCopyError::NoActiveDevice);
        }
        let raised = Some(self.umk_version).filter(|it| *it > held.umk_version);
        if raised.is_some_and(|it| it > held.umk_version + 1) {
            let message = "`umkVersion` may be raised by one at a time.";
            let violation = Violation::new("umkVersion", "out_of_range", message);
            return Err(StoreCopyError::Invalid(vec![violation]));
        }
        if raised.is_some() && owner != Reauthentication::Fresh {
            return Err(StoreCopyError::Unproven);
        }
        let change =
            Change { recovery: Some(self.clone()), umk_version: raised, ..Change::default() };
        Ok((change.with(changed((user, at), "recovery_key.stored")), ()))
    }
}

/// Side effects of a changed recovery: its audit entry and the email to the user.
pub(crate) fn changed((user, at): (UserId, Timestamp), action: &'static str) -> SideEffects {
    let letter = QueuedEmail::new("recovery-key-changed").to_user(at, user);
    SideEffects::audit(at, user, action).and_mail(letter)
}
