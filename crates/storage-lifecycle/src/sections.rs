//! Export of tables that hold many rows per account.
//!
//! Most are declared by `section!`, which derives the listed columns from the fields of
//! the row: the two cannot differ.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, UserId};
use pia_storage::schema::{
    ai_usage, api_keys, app_passwords, devices, invitations, mails, passkeys, provider_identities,
    sessions, sign_ins, sync_events,
};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use serde::Serialize;
use serde_json::Value;

use crate::export_section::{ExportSection, cursor_page, single_page};

/// Exported row, and its position among the others.
pub(crate) type ExportedRow = (Cursor, Value);

/// Number of rows that are held in memory at once.
pub(crate) const PAGE: i64 = 200;

/// Converts a row to JSON; it holds nothing that fails to convert.
pub(crate) fn to_json(row: impl Serialize) -> Value {
    serde_json::to_value(row).unwrap_or_default()
}

/// Declares a section of a table's columns, whose pages are newest first.
macro_rules! section {
    (
        $section:ident $name:literal, $page:ident: $table:ident of $owner:ident by $at:ident,
        $row:ident { $($column:ident: $type:ty),* $(,)? }
    ) => {
        pub(crate) const $section: ExportSection = ExportSection {
            name: $name,
            columns: &[$(stringify!($column)),*],
            read: |data, user, after| {
                Box::pin(async move {
                    let after = after.unwrap_or_else(Cursor::top);
                    Ok(cursor_page($page(&data.db, user, after).await?))
                })
            },
        };

        #[derive(Queryable, Selectable, Serialize)]
        #[diesel(table_name = $table)]
        #[serde(rename_all = "camelCase")]
        struct $row { $($column: $type),* }

        async fn $page(
            db: &Database,
            user: UserId,
            after: Cursor,
        ) -> Result<Vec<ExportedRow>, DbError> {
            let at = DbInstant(after.at);
            let id = DbUid(after.id);
            let is_after_cursor = $table::$at.le(at).and($table::$at.lt(at).or($table::id.lt(id)));
            let page = $table::table
                .filter($table::$owner.eq(DbUid(user.0)).and(is_after_cursor))
                .order(($table::$at.desc(), $table::id.desc()))
                .limit(PAGE);
            let rows: Vec<$row> = on_conn!(db.reader(), |conn| {
                page.select($row::as_select()).load(conn).await?
            })?;
            let cursor = |it: &$row| Cursor { at: it.$at.0, id: it.id.0 };
            Ok(rows.into_iter().map(|it| (cursor(&it), to_json(it))).collect())
        }
    };
}

section! {
    SESSIONS "sessions", sessions_of: sessions of user_id by began_at,
    SessionRow {
        id: DbUid,
        began_at: DbInstant,
        used_at: DbInstant,
        expires_at: DbInstant,
        method: String,
        device_id: Option<String>,
        app_version: Option<String>,
        os_version: Option<String>,
        user_agent: Option<String>,
        signed_in_from: Option<String>,
        used_from: Option<String>,
        app_password_id: Option<DbUid>,
        console: bool,
        account_only: bool,
        proved_at: Option<DbInstant>,
    }
}

section! {
    LOGIN_HISTORY "loginHistory", login_history_of: sign_ins of user_id by at,
    SignInRow {
        id: DbUid,
        at: DbInstant,
        outcome: String,
        method: String,
        address: Option<String>,
        network: Option<String>,
        device_id: Option<String>,
        app_version: Option<String>,
        os_version: Option<String>,
        user_agent: Option<String>,
        session_id: Option<DbUid>,
    }
}

section! {
    PASSKEYS "passkeys", passkeys_of: passkeys of user_id by created_at,
    PasskeyRow {
        id: DbUid,
        name: String,
        created_at: DbInstant,
        used_at: Option<DbInstant>,
        blocked_at: Option<DbInstant>,
    }
}

section! {
    APP_PASSWORDS "appPasswords", app_passwords_of: app_passwords of user_id by created_at,
    AppPasswordRow { id: DbUid, name: String, created_at: DbInstant, used_at: Option<DbInstant> }
}

section! {
    API_KEYS "apiKeys", api_keys_of: api_keys of user_id by created_at,
    ApiKeyRow {
        id: DbUid,
        name: String,
        scopes: String,
        weekly_credits: i64,
        created_at: DbInstant,
        expires_at: Option<DbInstant>,
        used_at: Option<DbInstant>,
    }
}

section! {
    DEVICES "devices", devices_of: devices of user_id by created_at,
    DeviceRow {
        id: DbUid,
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
    }
}

section! {
    INVITATIONS "invitations", invitations_of: invitations of invited_by by created_at,
    InvitationRow {
        id: DbUid,
        email_folded: Option<String>,
        role: String,
        group_id: Option<DbUid>,
        created_at: DbInstant,
        expires_at: DbInstant,
    }
}

section! {
    MAILS "mails", mails_of: mails of user_id by queued_at,
    MailRow {
        id: DbUid,
        letter: String,
        queued_at: DbInstant,
        due_at: DbInstant,
        tries: i32,
        failed_at: Option<DbInstant>,
        failure: Option<String>,
    }
}

section! {
    SYNC_EVENTS "syncEvents", sync_events_of: sync_events of user_id by at,
    SyncEventRow {
        id: DbUid,
        at: DbInstant,
        kind: String,
        device_id: Option<String>,
        stored: i32,
        deleted: i32,
        conflicts: i32,
        refused: i32,
    }
}

section! {
    AI_USAGE "aiUsage", ai_usage_of: ai_usage of user_id by at,
    UsageRow {
        id: DbUid,
        at: DbInstant,
        mode: String,
        provider: String,
        model: String,
        input_tokens: i64,
        cached_input_tokens: i64,
        output_tokens: i64,
        estimated: bool,
        outcome: String,
        group_id: Option<DbUid>,
        api_key_id: Option<DbUid>,
        entry_id: Option<String>,
        connector_tokens: i64,
        spent_micros: i64,
        duration_millis: Option<i64>,
    }
}

pub(crate) const PROVIDER_IDENTITIES: ExportSection = ExportSection {
    name: "providerIdentities",
    columns: &["provider", "issuer", "subject", "created_at"],
    read: |data, user, _| {
        Box::pin(async move { Ok(single_page(provider_identities_of(&data.db, user).await?)) })
    },
};

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = provider_identities)]
#[serde(rename_all = "camelCase")]
struct ProviderIdentityRow {
    provider: String,
    issuer: String,
    subject: String,
    created_at: DbInstant,
}

/// Exports all identities on one page: an account has only a few.
async fn provider_identities_of(db: &Database, user: UserId) -> Result<Vec<Value>, DbError> {
    use provider_identities::{created_at, user_id};
    let identities = provider_identities::table
        .filter(user_id.eq(DbUid(user.0)))
        .order(created_at.desc())
        .limit(PAGE);
    let rows: Vec<ProviderIdentityRow> = on_conn!(db.reader(), |conn| {
        identities.select(ProviderIdentityRow::as_select()).load(conn).await?
    })?;
    Ok(rows.into_iter().map(to_json).collect())
}

pub(crate) use section;
