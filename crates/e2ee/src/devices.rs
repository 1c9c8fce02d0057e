//! Devices of a user, and their keys: the use cases behind `/api/e2ee/devices`,
//! whose decisions are in `registration.rs`, `approval.rs`, `revocation.rs` and
//! `own_key.rs`.
//!
//! Readers of the list evaluate onboarding sessions at the current time: an
//! expired one stays in the row until the device registers again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_kernel::{Clock, Timestamp, Unavailable, UserId, random_bytes};

use crate::approval::{ApprovalForm, ApproveError};
use crate::change::decide;
use crate::device::{Device, DeviceId, DeviceState, OnboardingSession, WaitingDevice, WrappedKey};
use crate::own_key::{KeyForm, StoreKeyError};
use crate::ports::{KeyState, KeyStore};
use crate::registration::{DeviceForm, RegisterDeviceError, RegisteredDevice};
use crate::revocation::{self, RevokeDeviceError};
use crate::use_cases::KeyOwner;

/// Lifetime of an onboarding session; a device must register again afterwards.
pub(crate) const ONBOARDING_TTL: Duration = Duration::from_mins(10);

/// Device as the user's other devices see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDevice {
    /// Device of the account.
    pub device: Device,
    /// Onboarding session, until it expires.
    pub onboarding: Option<String>,
}

/// Errors that prevent a device from being returned.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Device does not exist, or does not have the requested data.
    #[error("the person has no such device")]
    Unknown,
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Devices of a user, and their keys.
#[derive(Clone)]
pub struct Devices {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
}

impl Devices {
    /// Creates the use cases on a store.
    pub fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Registers a device as pending, or renews its request.
    pub async fn register(
        &self,
        user: UserId,
        form: DeviceForm,
    ) -> Result<RegisteredDevice, RegisterDeviceError> {
        let registration = form.validate()?;
        let at = self.clock.now();
        let session = OnboardingSession { text: random_text()?, ends_at: at + ONBOARDING_TTL };
        let decision = |account: &_| registration.decide(account, &session, user, at);
        let is_first =
            decide(&*self.store, user, at, decision).await?.ok_or(RegisterDeviceError::Gone)?;
        Ok(RegisteredDevice::new(session, random_text()?, is_first))
    }

    /// Activates a device with the approval of another.
    pub async fn approve(&self, user: UserId, form: ApprovalForm) -> Result<(), ApproveError> {
        let approval = form.validate()?;
        let at = self.clock.now();
        let decision = |account: &_| approval.decide(account, user, at);
        decide(&*self.store, user, at, decision).await?.ok_or(ApproveError::Gone)
    }

    /// Revokes a device, whether it is active or pending.
    pub async fn revoke(&self, user: UserId, id: &DeviceId) -> Result<(), RevokeDeviceError> {
        let at = self.clock.now();
        let decision = |account: &_| revocation::decide(id, account, user, at);
        decide(&*self.store, user, at, decision).await?.ok_or(RevokeDeviceError::Gone)
    }

    /// Stores a key that a device wrapped for itself. The first key makes the
    /// account end-to-end encrypted.
    pub async fn store_key(
        &self,
        owner: KeyOwner,
        id: &DeviceId,
        form: KeyForm,
    ) -> Result<(), StoreKeyError> {
        let key = form.validate(id)?;
        let at = self.clock.now();
        let decision = |account: &_| key.decide(account, owner, at);
        decide(&*self.store, owner.user, at, decision).await?.ok_or(StoreKeyError::Gone)
    }

    /// Returns a user's devices, in the order of their first registration.
    pub async fn list(&self, user: UserId) -> Result<Vec<ListedDevice>, Unavailable> {
        let devices = self.store.devices(user).await?;
        let now = self.clock.now();
        Ok(devices.into_iter().map(|it| listed(it, now)).collect())
    }

    /// Returns a device of this user.
    pub async fn find(&self, user: UserId, id: &DeviceId) -> Result<Device, FindError> {
        self.store.device(user, id).await?.ok_or(FindError::Unknown)
    }

    /// Returns the key that was wrapped for an active device.
    pub async fn key_of(&self, user: UserId, id: &DeviceId) -> Result<WrappedKey, FindError> {
        match self.find(user, id).await?.state {
            DeviceState::Active(key) => Ok(key),
            DeviceState::Pending(_) | DeviceState::Revoked => Err(FindError::Unknown),
        }
    }

    /// Returns whether the account is end-to-end encrypted, and the state of
    /// its recovery copy.
    pub async fn state(&self, user: UserId) -> Result<KeyState, Unavailable> {
        self.store.state(user).await
    }

    /// Returns the devices that ask for approval now.
    pub async fn waiting(&self, user: UserId) -> Result<Vec<WaitingDevice>, Unavailable> {
        let devices = self.store.devices(user).await?;
        let now = self.clock.now();
        let waiting = devices
            .into_iter()
            .filter(|it| it.onboarding(now).is_some())
            .map(WaitingDevice::from)
            .collect();
        Ok(waiting)
    }

    /// Returns the names of an account's devices, by their ids; revoked ones included.
    pub async fn names(&self, user: UserId) -> Result<HashMap<String, String>, Unavailable> {
        let devices = self.store.devices(user).await?;
        Ok(devices.into_iter().map(|it| (it.id.as_str().to_owned(), it.name)).collect())
    }
}

impl From<Device> for WaitingDevice {
    fn from(device: Device) -> Self {
        let Device { row, name, created_at, .. } = device;
        Self { row, name, created_at }
    }
}

fn listed(device: Device, now: Timestamp) -> ListedDevice {
    let onboarding = device.onboarding(now).map(str::to_owned);
    ListedDevice { device, onboarding }
}

/// Returns an unguessable text.
fn random_text() -> Result<String, Unavailable> {
    Ok(STANDARD.encode(random_bytes::<32>()?))
}

#[cfg(test)]
mod tests;
