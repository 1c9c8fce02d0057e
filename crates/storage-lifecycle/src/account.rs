//! Export of tables that hold one row per account: the account itself, its second factor,
//! and the names that an identity provider maintains over SCIM.
//!
//! `columns` lists what a section exports of its table, and its row has a field for each. A
//! test compares the lists with the schema.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::UserId;
use pia_storage::schema::{accounts, recovery_codes, scim_users, totp_factors, user_groups};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use serde::Serialize;
use serde_json::Value;

use crate::export_section::{ExportSection, single_page};
use crate::sections::to_json;

pub(crate) const ACCOUNT: ExportSection = ExportSection {
    name: "account",
    columns: &[
        "id",
        "email",
        "display_name",
        "provider",
        "customer_type",
        "company_name",
        "created_at",
        "deactivated_at",
        "role",
        "group_id",
        "email_verified_at",
    ],
    read: |data, user, _| {
        Box::pin(async move { Ok(single_page(account_of(&data.db, user).await?)) })
    },
};

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = accounts)]
#[serde(rename_all = "camelCase")]
struct AccountRow {
    id: DbUid,
    email: String,
    display_name: Option<String>,
    provider: String,
    customer_type: i32,
    company_name: Option<String>,
    created_at: DbInstant,
    deactivated_at: Option<DbInstant>,
    role: String,
    group_id: DbUid,
    email_verified_at: Option<DbInstant>,
}

/// Exports the account, with the name of its group.
async fn account_of(db: &Database, user: UserId) -> Result<Vec<Value>, DbError> {
    let account = accounts::table.find(DbUid(user.0));
    let row: Option<AccountRow> = on_conn!(db.reader(), |conn| {
        account.select(AccountRow::as_select()).first(conn).await.optional()?
    })?;
    let Some(row) = row else { return Ok(Vec::new()) };

    let group = user_groups::table.find(row.group_id).select(user_groups::name);
    let group_name: Option<String> =
        on_conn!(db.reader(), |conn| group.first(conn).await.optional()?)?;
    let mut exported_row = to_json(row);
    if let (Some(fields), Some(name)) = (exported_row.as_object_mut(), group_name) {
        fields.insert("group".to_owned(), name.into());
    }

    Ok(vec![exported_row])
}

pub(crate) const SECOND_FACTOR: ExportSection = ExportSection {
    name: "secondFactor",
    columns: &["begun_at", "enabled_at"],
    read: |data, user, _| {
        Box::pin(async move { Ok(single_page(second_factor_of(&data.db, user).await?)) })
    },
};

#[derive(Queryable, Selectable)]
#[diesel(table_name = totp_factors)]
struct TotpFactorRow {
    begun_at: DbInstant,
    enabled_at: Option<DbInstant>,
}

/// Exports the state of the second factor; nothing if there never was one.
async fn second_factor_of(db: &Database, user: UserId) -> Result<Vec<Value>, DbError> {
    let user_id = DbUid(user.0);
    let factor = totp_factors::table.find(user_id);
    let codes = recovery_codes::table.filter(recovery_codes::user_id.eq(user_id)).count();
    let (factor_row, codes_left): (Option<TotpFactorRow>, i64) = on_conn!(db.reader(), |conn| {
        (
            factor.select(TotpFactorRow::as_select()).first(conn).await.optional()?,
            codes.get_result(conn).await?,
        )
    })?;

    if factor_row.is_none() && codes_left == 0 {
        return Ok(Vec::new());
    }

    Ok(vec![serde_json::json!({
        "begunAt": factor_row.as_ref().map(|it| it.begun_at),
        "enabledAt": factor_row.as_ref().and_then(|it| it.enabled_at),
        "recoveryCodesLeft": codes_left,
    })])
}

pub(crate) const PROVISIONING: ExportSection = ExportSection {
    name: "provisioning",
    columns: &[
        "user_name",
        "external_id",
        "given_name",
        "family_name",
        "updated_at",
        "withdrawn_at",
    ],
    read: |data, user, _| {
        Box::pin(async move { Ok(single_page(provisioning_of(&data.db, user).await?)) })
    },
};

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = scim_users)]
#[serde(rename_all = "camelCase")]
struct ProvisioningRow {
    user_name: Option<String>,
    external_id: Option<String>,
    given_name: Option<String>,
    family_name: Option<String>,
    updated_at: DbInstant,
    withdrawn_at: Option<DbInstant>,
}

/// Exports the user that an identity provider created over SCIM; nothing if none did.
async fn provisioning_of(db: &Database, user: UserId) -> Result<Vec<Value>, DbError> {
    let scim_user = scim_users::table.find(DbUid(user.0));
    let rows: Vec<ProvisioningRow> = on_conn!(db.reader(), |conn| {
        scim_user.select(ProvisioningRow::as_select()).load(conn).await?
    })?;
    Ok(rows.into_iter().map(to_json).collect())
}
