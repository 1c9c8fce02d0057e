//! Revocation of devices. A revoked device loses its wrapped key and its session,
//! and stays in the list; beyond `MAX_REVOKED`, the ones revoked first are
//! deleted.

use pia_kernel::{QueuedEmail, Timestamp, Unavailable, UserId};

use crate::account_keys::AccountKeys;
use crate::change::{Change, audit_effects, with_device_name};
use crate::device::{Device, DeviceId, DeviceRow, DeviceState};

/// Maximum number of revoked devices that are retained.
pub(crate) const MAX_REVOKED: usize = 50;

/// Errors that prevent a device from being revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeDeviceError {
    /// User has no such device.
    #[error("the person has no such device")]
    Unknown,
    /// Account no longer exists.
    #[error("no such account")]
    Gone,
    /// Dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Revokes a device, whether it is active or pending. The last active device
/// may be revoked too: the account stays encrypted, and only the recovery code
/// activates a device again.
pub(crate) fn decide(
    id: &DeviceId,
    account: &AccountKeys,
    user: UserId,
    at: Timestamp,
) -> Result<(Change, ()), RevokeDeviceError> {
    let device = account.device(id).ok_or(RevokeDeviceError::Unknown)?;
    if device.is_revoked() {
        return Ok((Change::default(), ()));
    }
    let email = with_device_name(QueuedEmail::new("device-revoked"), device).to_user(at, user);
    let effects = audit_effects(at, user, device, "device.revoked").and_mail(email);
    let revoked = Device { state: DeviceState::Revoked, revoked_at: Some(at), ..device.clone() };
    let change = Change { deleted: surplus_revoked(account), ..Change::device(revoked) };
    Ok((change.with(effects), ()))
}

/// Returns the devices revoked the longest ago that exceed the limit.
fn surplus_revoked(account: &AccountKeys) -> Vec<DeviceRow> {
    let mut revoked: Vec<_> = account.devices.iter().filter(|it| it.is_revoked()).collect();
    revoked.sort_by_key(|it| it.revoked_at);
    // The device that is being revoked counts too.
    let too_many = (revoked.len() + 1).saturating_sub(MAX_REVOKED);
    revoked.iter().take(too_many).map(|it| it.row).collect()
}
