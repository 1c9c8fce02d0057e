//! Rows of `devices`, and their conversion from and to `Device`. Writing sets the
//! columns that do not belong to the status to null; reading fails if one that
//! does is missing.

use diesel::prelude::*;
use pia_e2ee::{
    Device, DeviceApproval, DeviceId, DeviceRow as RowId, DeviceState, OnboardingSession,
    WrappedKey,
};
use pia_kernel::UserId;
use pia_storage::schema::devices;
use pia_storage::{DbError, DbInstant, DbUid};

pub(crate) const PENDING: i16 = 0;
pub(crate) const ACTIVE: i16 = 1;
pub(crate) const REVOKED: i16 = 2;

/// Row of a device. Onboarding and key columns are set as its status requires.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = devices, treat_none_as_null = true)]
pub(crate) struct DeviceRow {
    id: DbUid,
    user_id: DbUid,
    device_id: String,
    name: String,
    status: i16,
    agreement_key: String,
    signing_key: String,
    os_version: Option<String>,
    app_version: Option<String>,
    created_at: DbInstant,
    activated_at: Option<DbInstant>,
    revoked_at: Option<DbInstant>,
    seen_at: DbInstant,
    onboarding: Option<String>,
    onboarding_ends_at: Option<DbInstant>,
    key_ciphertext: Option<String>,
    key_salt: Option<String>,
    key_created_by: Option<String>,
    key_created_at: Option<DbInstant>,
    key_signature: Option<String>,
    key_signature_version: Option<i16>,
    key_onboarding: Option<String>,
}

impl DeviceRow {
    pub(crate) fn from_device(user: UserId, device: Device) -> Self {
        let Device { row, id, name, state, agreement_key, signing_key, .. } = device;
        let bare = Self {
            id: DbUid(row.0),
            user_id: DbUid(user.0),
            device_id: id.as_str().to_owned(),
            name,
            status: REVOKED,
            agreement_key,
            signing_key,
            os_version: device.os_version,
            app_version: device.app_version,
            created_at: DbInstant(device.created_at),
            activated_at: device.activated_at.map(DbInstant),
            revoked_at: device.revoked_at.map(DbInstant),
            seen_at: DbInstant(device.seen_at),
            onboarding: None,
            onboarding_ends_at: None,
            key_ciphertext: None,
            key_salt: None,
            key_created_by: None,
            key_created_at: None,
            key_signature: None,
            key_signature_version: None,
            key_onboarding: None,
        };

        match state {
            DeviceState::Pending(session) => bare.pending(session),
            DeviceState::Active(key) => bare.active(key),
            DeviceState::Revoked => bare,
        }
    }

    fn pending(self, session: OnboardingSession) -> Self {
        Self {
            status: PENDING,
            onboarding: Some(session.text),
            onboarding_ends_at: Some(DbInstant(session.ends_at)),
            ..self
        }
    }

    fn active(self, key: WrappedKey) -> Self {
        let row = Self {
            status: ACTIVE,
            key_ciphertext: Some(key.ciphertext),
            key_salt: Some(key.salt),
            key_created_by: Some(key.created_by.as_str().to_owned()),
            key_created_at: Some(DbInstant(key.created_at)),
            ..self
        };

        let Some(approval) = key.approved else { return row };
        Self {
            key_signature: Some(approval.signature),
            key_signature_version: Some(approval.version),
            key_onboarding: Some(approval.onboarding),
            ..row
        }
    }

    fn state(&mut self) -> Option<DeviceState> {
        match self.status {
            PENDING => {
                let text = self.onboarding.take()?;
                let ends_at = self.onboarding_ends_at?.0;
                Some(DeviceState::Pending(OnboardingSession { text, ends_at }))
            }
            ACTIVE => self.key().map(DeviceState::Active),
            REVOKED => Some(DeviceState::Revoked),
            _ => None,
        }
    }

    fn key(&mut self) -> Option<WrappedKey> {
        let approved = match self.key_signature.take() {
            Some(signature) => {
                let version = self.key_signature_version?;
                Some(DeviceApproval { signature, version, onboarding: self.key_onboarding.take()? })
            }
            None => None,
        };

        Some(WrappedKey {
            ciphertext: self.key_ciphertext.take()?,
            salt: self.key_salt.take()?,
            created_by: DeviceId::parse(self.key_created_by.as_deref()?)?,
            created_at: self.key_created_at?.0,
            approved,
        })
    }
}

impl TryFrom<DeviceRow> for Device {
    type Error = DbError;

    fn try_from(mut row: DeviceRow) -> Result<Self, DbError> {
        let id = DeviceId::parse(&row.device_id);
        Ok(Self {
            row: RowId(row.id.0),
            id: id.ok_or(DbError::Unreadable("devices.device_id"))?,
            state: row.state().ok_or(DbError::Unreadable("devices.status"))?,
            name: row.name,
            agreement_key: row.agreement_key,
            signing_key: row.signing_key,
            os_version: row.os_version,
            app_version: row.app_version,
            created_at: row.created_at.0,
            activated_at: row.activated_at.map(|it| it.0),
            revoked_at: row.revoked_at.map(|it| it.0),
            seen_at: row.seen_at.0,
        })
    }
}
