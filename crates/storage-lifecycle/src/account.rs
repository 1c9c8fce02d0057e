//! Export of tables that hold one row per account.

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

pub(crate) const SECOND_FACTOR: ExportSection = ExportSection {
    name: "secondFactor",
    columns: &["begun_at", "enabled_at"],
    read: |data, user, _| {
        Box::pin(async move { Ok(single_page(second_factor_of(&data.db, user).await?)) })
    },
};

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

async fn provisioning_of(db: &Database, user: UserId) -> Result<Vec<Value>, DbError> {
    let row = scim_users::table.find(DbUid(user.0));
    let rows: Vec<ProvisioningRow> = on_conn!(db.reader(), |conn| {
        row.select(ProvisioningRow::as_select()).load(conn).await?
    })?;
    Ok(rows.into_iter().map(to_json).collect())
}

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

/// Exports the account, with its group by name.
async fn account_of(db: &Database, user: UserId) -> Result<Vec<Value>, DbError> {
    let account = accounts::table.find(DbUid(user.0));
    let row: Option<AccountRow> = on_conn!(db.reader(), |conn| {
        account.select(AccountRow::as_select()).first(conn).await.optional()?
    })?;
    let Some(row) = row else { return Ok(Vec::new()) };

    let group = user_groups::table.find(row.group_id).select(user_groups::name);
    let group_name: Option<String> =
        on_conn!(db.reader(), |conn| group.first(conn).await.optional()?)?;
    let mut exported = to_json(row);
    if let (Some(fields), Some(name)) = (exported.as_object_mut(), group_name) {
        fields.insert("group".to_owned(), name.into());
    }

    Ok(vec![exported])
}

/// Exports the state of the second factor; nothing if there never was one.
async fn second_factor_of(db: &Database, user: UserId) -> Result<Vec<Value>, DbError> {
    let user_id = DbUid(user.0);
    let factor = totp_factors::table
        .find(user_id)
        .select((totp_factors::begun_at, totp_factors::enabled_at));
    let codes = recovery_codes::table.filter(recovery_codes::user_id.eq(user_id)).count();
    let (times, codes_left): (Option<(DbInstant, Option<DbInstant>)>, i64) =
        on_conn!(db.reader(), |conn| {
            (factor.first(conn).await.optional()?, codes.get_result(conn).await?)
        })?;

    if times.is_none() && codes_left == 0 {
        return Ok(Vec::new());
    }

    let (begun_at, enabled_at) = times.unzip();
    Ok(vec![serde_json::json!({
        "begunAt": begun_at,
        "enabledAt": enabled_at.flatten(),
        "recoveryCodesLeft": codes_left,
    })])
}
