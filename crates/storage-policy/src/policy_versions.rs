//! Versions of client policies in SQL.

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use pia_kernel::{ClientPolicyId, UserId};
use pia_policy::{ClientPolicyDraft, PolicyDocument, PolicyVersion, PolicyVersionEntry};
use pia_storage::schema::{client_policies, client_policy_versions};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};

#[diesel::declare_sql_function]
extern "SQL" {
    /// Size of a text in bytes.
    fn octet_length(text: Text) -> Integer;
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = client_policy_versions)]
pub(crate) struct VersionRow {
    pub policy_id: DbUid,
    pub number: i32,
    pub name: String,
    pub description: Option<String>,
    pub document: String,
    pub written_at: DbInstant,
    pub written_by: Option<DbUid>,
}

/// Stores the next version of a policy. Call it with the catalogue locked.
macro_rules! insert_version {
    ($conn:expr, $row:expr) => {{
        let mut row: $crate::policy_versions::VersionRow = $row;
        let newest: Option<i32> = client_policy_versions::table
            .filter(client_policy_versions::policy_id.eq(row.policy_id))
            .select(diesel::dsl::max(client_policy_versions::number))
            .first($conn)
            .await?;
        row.number = newest.unwrap_or_default() + 1;
        diesel::insert_into(client_policy_versions::table).values(row).execute($conn).await?
    }};
}

pub(crate) use insert_version;

/// Loads the versions of a policy, newest first; `None` if there is no such
/// policy.
pub(crate) async fn entries(
    db: &Database,
    policy: ClientPolicyId,
) -> Result<Option<Vec<PolicyVersionEntry>>, DbError> {
    use client_policy_versions as versions;

    type Row = (i32, String, i32, DbInstant, Option<DbUid>);

    let policy_versions = versions::table
        .inner_join(client_policies::table)
        .filter(client_policies::id.eq(DbUid(policy.0)))
        .filter(client_policies::deleted_at.is_null())
        .order(versions::number.desc())
        .select((
            versions::number,
            versions::name,
            octet_length(versions::document),
            versions::written_at,
            versions::written_by,
        ));

    let rows: Vec<Row> = on_conn!(db.reader(), |conn| policy_versions.load(conn).await?)?;

    let entries: Vec<_> = rows
        .into_iter()
        .map(|(number, name, bytes, at, by)| PolicyVersionEntry {
            number,
            name,
            document_bytes: bytes.unsigned_abs() as usize,
            written_at: at.0,
            written_by: by.map(|it| UserId(it.0)),
        })
        .collect();

    Ok(Some(entries).filter(|it| !it.is_empty()))
}

/// Loads a version of a policy.
pub(crate) async fn find(
    db: &Database,
    policy: ClientPolicyId,
    number: i32,
) -> Result<Option<PolicyVersion>, DbError> {
    let version = client_policy_versions::table
        .inner_join(client_policies::table)
        .filter(client_policies::id.eq(DbUid(policy.0)))
        .filter(client_policies::deleted_at.is_null())
        .filter(client_policy_versions::number.eq(number));
    let row: Option<VersionRow> = on_conn!(db.reader(), |conn| {
        version.select(VersionRow::as_select()).first(conn).await.optional()?
    })?;
    Ok(row.map(Into::into))
}

impl From<VersionRow> for PolicyVersion {
    fn from(row: VersionRow) -> Self {
        let document = PolicyDocument::from_stored(row.document);
        Self {
            number: row.number,
            draft: ClientPolicyDraft { name: row.name, description: row.description, document },
            written_at: row.written_at.0,
            written_by: row.written_by.map(|it| UserId(it.0)),
        }
    }
}
