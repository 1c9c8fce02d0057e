//! Devices that are turned away.

use pia_kernel::{QueuedEmail, Timestamp, Unavailable, UserId};

use crate::account_keys::AccountKeys;
use crate::change::{Change, audit_effects, with_device_name};
use crate::device::{Device, DeviceId, DeviceRow, DeviceState};

/// Maximum number of revoked devices that are retained.
pub(crate) const MAX_REVOKED: usize = 50;

/// Errors that prevent a device from being revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeDeviceError {
    /// The person has no such device.
    #[error("the person has no such device")]
    Unknown,
    /// The account is no more.
    #[error("there is no such account")]
    Gone,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Turns a device away, whether it had the person's key or requested it. The
/// last one may go too: the account stays encrypted, and only the recovery
/// code lets a device in again.
pub(crate) fn decide(
    id: &DeviceId,
    held: &AccountKeys,
    (user, at): (UserId, Timestamp),
) -> Result<(Change, ()), RevokeDeviceError> {
    let device = held.device(id).ok_or(RevokeDeviceError::Unknown)?;
    if device.is_revoked() {
        return Ok((Change::default(), ()));
    }
    let letter = with_device_name(QueuedEmail::new("device-revoked"), device).to_user(at, user);
    let effects = audit_effects(at, user, device, "device.revoked").and_mail(letter);
    let revoked = Device { state: DeviceState::Revoked, revoked_at: Some(at), ..device.clone() };
    let change = Change { deleted: surplus_revoked(held), ..Change::device(revoked) };
    Ok((change.with(effects), ()))
}

/// Devices revoked the longest ago, where more are stored than the limit.
fn surplus_revoked(held: &AccountKeys) -> Vec<DeviceRow> {
    let mut revoked: Vec<_> = held.devices.iter().filter(|it| it.is_revoked()).collect();
    revoked.sort_by_key(|it| it.revoked_at);
    // With the one that is turned away now there is one more.
    let too_many = (revoked.len() + 1).saturating_sub(MAX_REVOKED);
    revoked.iter().take(too_many).map(|it| it.row).collect()
}
