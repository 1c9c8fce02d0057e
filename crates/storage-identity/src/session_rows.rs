//! Rows of `sessions`, for their start, rotation and listing.

use diesel::prelude::*;
use pia_identity::{
    BrowserArea, NewSession, PresentedToken, SessionEntry, SignInDevice, TokenHash,
};
use pia_kernel::SessionId;
use pia_storage::schema::{refresh_tokens, sessions};
use pia_storage::{DbInstant, DbUid};

/// Row of a new session.
#[derive(Insertable)]
#[diesel(table_name = sessions, treat_none_as_default_value = false)]
pub(crate) struct NewRow {
    id: DbUid,
    user_id: DbUid,
    began_at: DbInstant,
    used_at: DbInstant,
    expires_at: DbInstant,
    method: &'static str,
    app_password_id: Option<DbUid>,
    device_id: Option<String>,
    app_version: Option<String>,
    os_version: Option<String>,
    user_agent: Option<String>,
    signed_in_from: Option<String>,
    used_from: Option<String>,
    console: bool,
    account_only: bool,
}

/// Columns that a rotation changes. Most devices describe themselves only when
/// that has changed, so an absent value stays unchanged.
#[derive(AsChangeset)]
#[diesel(table_name = sessions)]
pub(crate) struct ContinuedRow {
    used_at: DbInstant,
    expires_at: DbInstant,
    device_id: Option<String>,
    app_version: Option<String>,
    os_version: Option<String>,
    user_agent: Option<String>,
    used_from: Option<String>,
}

/// Row of a session in its user's list.
#[derive(Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(crate) struct ListRow {
    id: DbUid,
    began_at: DbInstant,
    used_at: DbInstant,
    method: String,
    device_id: Option<String>,
    app_version: Option<String>,
    os_version: Option<String>,
    user_agent: Option<String>,
    signed_in_from: Option<String>,
    used_from: Option<String>,
    console: bool,
}

/// Row of an unspent refresh token.
#[derive(Insertable)]
#[diesel(table_name = refresh_tokens)]
pub(crate) struct TokenRow {
    hash: Vec<u8>,
    session_id: DbUid,
}

impl TokenRow {
    pub(crate) fn unspent(hash: TokenHash, session_id: DbUid) -> Self {
        Self { hash: hash.0.to_vec(), session_id }
    }
}

impl From<&NewSession> for NewRow {
    fn from(new: &NewSession) -> Self {
        let device = new.device.clone();
        let address = device.address.map(|it| it.to_string());
        Self {
            id: DbUid(new.session.0),
            user_id: DbUid(new.user.0),
            began_at: DbInstant(new.at),
            used_at: DbInstant(new.at),
            expires_at: DbInstant(new.expires_at),
            method: new.method.name(),
            app_password_id: new.app_password.map(|it| DbUid(it.0)),
            device_id: device.device_id,
            app_version: device.app_version,
            os_version: device.os_version,
            user_agent: device.user_agent,
            signed_in_from: address.clone(),
            used_from: address,
            console: new.browser.is_some(),
            account_only: new.browser == Some(BrowserArea::Account),
        }
    }
}

impl From<&PresentedToken> for ContinuedRow {
    fn from(token: &PresentedToken) -> Self {
        let device = token.device.clone();
        Self {
            used_at: DbInstant(token.at),
            expires_at: DbInstant(token.at + token.lifetime),
            device_id: device.device_id,
            app_version: device.app_version,
            os_version: device.os_version,
            user_agent: device.user_agent,
            used_from: device.address.map(|it| it.to_string()),
        }
    }
}

impl From<ListRow> for SessionEntry {
    fn from(row: ListRow) -> Self {
        Self {
            session: SessionId(row.id.0),
            began_at: row.began_at.0,
            used_at: row.used_at.0,
            method: row.method,
            signed_in_from: row.signed_in_from,
            device: SignInDevice {
                device_id: row.device_id,
                app_version: row.app_version,
                os_version: row.os_version,
                user_agent: row.user_agent,
                address: row.used_from.and_then(|it| it.parse().ok()),
            },
            console: row.console,
        }
    }
}
