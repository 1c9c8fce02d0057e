//! Client policies in SQL.
//!
//! Every write ends with the same steps: a version (`policy_versions.rs`), the next
//! version of the catalogue, the side effects. Names are unique by an index on the
//! folded name, so a violation of the index is `NameTaken`.

use std::time::Duration;

use async_trait::async_trait;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind;
use diesel::result::Error::DatabaseError;
use diesel_async::RunQueryDsl;
use pia_kernel::{ClientPolicyId, GroupId, SideEffects, Timestamp, Unavailable, UserId};
use pia_policy::{
    AssignedPolicy, ClientPolicy, ClientPolicyDraft, ClientPolicyEntry, ClientPolicyStore,
    PolicyAssignmentOutcome, PolicyDeletionOutcome, PolicyDocument, PolicyStoreOutcome,
    PolicyUpdate, PolicyVersion, PolicyVersionEntry,
};
use pia_storage::schema::{client_policies, client_policy_versions, user_groups};
use pia_storage::{
    CatalogueVersion, Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn,
};
use serde_json::json;

use crate::policy_versions::{self, VersionRow, insert_version};

/// Client policies in SQL.
#[derive(Debug, Clone)]
pub struct SqlClientPolicies {
    db: Database,
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = client_policies, treat_none_as_default_value = false)]
struct PolicyRow {
    id: DbUid,
    name: String,
    name_folded: Option<String>,
    description: Option<String>,
    document: String,
    updated_at: DbInstant,
}

#[derive(AsChangeset)]
#[diesel(table_name = client_policies, treat_none_as_null = true)]
struct DraftRow {
    name: String,
    name_folded: Option<String>,
    description: Option<String>,
    document: String,
    updated_at: DbInstant,
}

impl PolicyRow {
    fn into_entry(self, group_count: u64) -> ClientPolicyEntry {
        ClientPolicyEntry {
            id: ClientPolicyId(self.id.0),
            name: self.name,
            description: self.description,
            document_bytes: self.document.len(),
            updated_at: self.updated_at.0,
            group_count,
        }
    }
}

impl SqlClientPolicies {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn write(
        &self,
        policy: ClientPolicyId,
        update: PolicyUpdate,
        effects: &SideEffects,
    ) -> Result<PolicyStoreOutcome, DbError> {
        let PolicyUpdate { draft, by, at, expected } = update;
        in_tx!(self.db, async |conn| -> Result<PolicyStoreOutcome, DbError> {
            conn.lock_catalogue().await?;
            let live_policy = client_policies::table
                .find(DbUid(policy.0))
                .filter(client_policies::deleted_at.is_null());
            let before = live_policy.select(PolicyRow::as_select()).first(conn).await.optional()?;
            let Some(before) = before.map(ClientPolicy::from) else {
                return Ok(PolicyStoreOutcome::Unknown);
            };
            if expected.is_some_and(|it| it != before.updated_at) {
                return Ok(PolicyStoreOutcome::Stale);
            }

            let effects = effects.with_changes(Some(&before.draft), Some(&draft));
            // Later than the last change even if a clock went back: it is the version.
            let updated_at = at.max(before.updated_at + Duration::from_micros(1));
            let row = DraftRow::new(draft.clone(), updated_at);
            diesel::update(live_policy).set(&row).execute(conn).await?;
            insert_version!(conn, row.version(policy, by));
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(PolicyStoreOutcome::Done)
        })
    }

    async fn insert(
        &self,
        policy: ClientPolicy,
        by: UserId,
        effects: &SideEffects,
    ) -> Result<(), DbError> {
        let effects = &effects.with_changes(None, Some(&policy.draft));
        in_tx!(self.db, async |conn| -> Result<(), DbError> {
            conn.bump_catalogue().await?;
            let draft = DraftRow::new(policy.draft.clone(), policy.updated_at);
            let row = PolicyRow::from(policy.clone());
            diesel::insert_into(client_policies::table).values(row).execute(conn).await?;
            insert_version!(conn, draft.version(policy.id, by));
            conn.write_effects(&self.db, effects).await
        })
    }
}

#[async_trait]
impl ClientPolicyStore for SqlClientPolicies {
    async fn all(&self) -> Result<Vec<ClientPolicyEntry>, Unavailable> {
        let policies = client_policies::table
            .filter(client_policies::deleted_at.is_null())
            .order((client_policies::name_folded, client_policies::id));

        let group_counts = user_groups::table
            .filter(user_groups::client_policy_id.is_not_null())
            .group_by(user_groups::client_policy_id)
            .select((user_groups::client_policy_id, count_star()));

        let (rows, counts): (Vec<PolicyRow>, Vec<(Option<DbUid>, i64)>) =
            on_conn!(self.db.reader(), |conn| {
                let rows = policies.select(PolicyRow::as_select()).load(conn).await?;
                (rows, group_counts.load(conn).await?)
            })?;

        let entries = rows.into_iter().map(|row| {
            let count = counts.iter().find(|(policy, _)| *policy == Some(row.id));
            row.into_entry(count.map_or(0, |(_, count)| count.unsigned_abs()))
        });

        Ok(entries.collect())
    }

    async fn find(&self, policy: ClientPolicyId) -> Result<Option<ClientPolicy>, Unavailable> {
        let live_policy = client_policies::table
            .find(DbUid(policy.0))
            .filter(client_policies::deleted_at.is_null());
        let row: Option<PolicyRow> = on_conn!(self.db.reader(), |conn| {
            live_policy.select(PolicyRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Into::into))
    }

    async fn groups_of(
        &self,
        policy: ClientPolicyId,
    ) -> Result<Option<Vec<(GroupId, String)>>, Unavailable> {
        if self.find(policy).await?.is_none() {
            return Ok(None);
        }
        let groups = user_groups::table
            .filter(user_groups::client_policy_id.eq(DbUid(policy.0)))
            .order(user_groups::name_folded)
            .select((user_groups::id, user_groups::name));
        let rows: Vec<(DbUid, String)> =
            on_conn!(self.db.reader(), |conn| groups.load(conn).await?)?;
        Ok(Some(rows.into_iter().map(|(id, name)| (GroupId(id.0), name)).collect()))
    }

    async fn create(
        &self,
        policy: ClientPolicy,
        by: UserId,
        effects: SideEffects,
    ) -> Result<PolicyStoreOutcome, Unavailable> {
        match self.insert(policy, by, &effects).await {
            Err(err) if is_name_taken(&err) => Ok(PolicyStoreOutcome::NameTaken),
            result => Ok(result.map(|()| PolicyStoreOutcome::Done)?),
        }
    }

    async fn replace(
        &self,
        policy: ClientPolicyId,
        update: PolicyUpdate,
        effects: SideEffects,
    ) -> Result<PolicyStoreOutcome, Unavailable> {
        match self.write(policy, update, &effects).await {
            Err(err) if is_name_taken(&err) => Ok(PolicyStoreOutcome::NameTaken),
            result => Ok(result?),
        }
    }

    async fn delete(
        &self,
        policy: ClientPolicyId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PolicyDeletionOutcome, Unavailable> {
        let live_policy = client_policies::table
            .find(DbUid(policy.0))
            .filter(client_policies::deleted_at.is_null());

        let group_names = user_groups::table
            .filter(user_groups::client_policy_id.eq(DbUid(policy.0)))
            .order(user_groups::name_folded)
            .select(user_groups::name);

        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            let groups: Vec<String> = group_names.load(conn).await?;
            if !groups.is_empty() {
                return Ok(PolicyDeletionOutcome::InUse(groups));
            }

            let before = live_policy.select(PolicyRow::as_select()).first(conn).await.optional()?;
            let Some(before) = before.map(ClientPolicy::from) else {
                return Ok(PolicyDeletionOutcome::Unknown);
            };

            diesel::update(live_policy)
                .set(client_policies::deleted_at.eq(DbInstant(at)))
                .execute(conn)
                .await?;
            let effects = effects.with_changes(Some(&before.draft), None);
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(PolicyDeletionOutcome::Done)
        })
    }

    async fn versions(
        &self,
        policy: ClientPolicyId,
    ) -> Result<Option<Vec<PolicyVersionEntry>>, Unavailable> {
        Ok(policy_versions::entries(&self.db, policy).await?)
    }

    async fn version(
        &self,
        policy: ClientPolicyId,
        number: i32,
    ) -> Result<Option<PolicyVersion>, Unavailable> {
        Ok(policy_versions::find(&self.db, policy, number).await?)
    }

    async fn of_group(&self, group: GroupId) -> Result<Option<AssignedPolicy>, Unavailable> {
        let is_assigned = client_policies::id
            .nullable()
            .eq(user_groups::client_policy_id)
            .and(client_policies::deleted_at.is_null());
        let policy = user_groups::table
            .find(DbUid(group.0))
            .left_join(client_policies::table.on(is_assigned));
        let row: Option<Option<PolicyRow>> = on_conn!(self.db.reader(), |conn| {
            policy.select(Option::<PolicyRow>::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(|policy_row| policy_row.map(Into::into)))
    }

    async fn assign(
        &self,
        group: GroupId,
        policy: Option<ClientPolicyId>,
        effects: SideEffects,
    ) -> Result<PolicyAssignmentOutcome, Unavailable> {
        let id = policy.map(|it| DbUid(it.0));
        let group = user_groups::table.find(DbUid(group.0));
        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;

            if let Some(id) = id {
                let live_policy = client_policies::table
                    .find(id)
                    .filter(client_policies::deleted_at.is_null())
                    .select(client_policies::id);
                if live_policy.first::<DbUid>(conn).await.optional()?.is_none() {
                    return Ok(PolicyAssignmentOutcome::UnknownPolicy);
                }
            }

            let before =
                group.select(user_groups::client_policy_id).first(conn).await.optional()?;
            let Some(before): Option<Option<DbUid>> = before else {
                return Ok(PolicyAssignmentOutcome::UnknownGroup);
            };

            diesel::update(group).set(user_groups::client_policy_id.eq(id)).execute(conn).await?;
            let audit_fields = |id: Option<DbUid>| json!({ "clientPolicyId": id.map(|it| it.0) });
            let effects =
                effects.with_changes(Some(&audit_fields(before)), Some(&audit_fields(id)));
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(PolicyAssignmentOutcome::Done)
        })
    }
}

fn is_name_taken(err: &DbError) -> bool {
    matches!(err, DbError::Query(DatabaseError(DatabaseErrorKind::UniqueViolation, _)))
}

impl DraftRow {
    fn new(draft: ClientPolicyDraft, at: Timestamp) -> Self {
        Self {
            name_folded: Some(draft.folded_name()),
            name: draft.name,
            description: draft.description,
            document: draft.document.into_string(),
            updated_at: DbInstant(at),
        }
    }

    /// Returns the version of a policy with these contents, still without its
    /// number.
    fn version(&self, policy: ClientPolicyId, by: UserId) -> VersionRow {
        VersionRow {
            policy_id: DbUid(policy.0),
            number: 0,
            name: self.name.clone(),
            description: self.description.clone(),
            document: self.document.clone(),
            written_at: self.updated_at,
            written_by: Some(DbUid(by.0)),
        }
    }
}

impl From<ClientPolicy> for PolicyRow {
    fn from(policy: ClientPolicy) -> Self {
        let row = DraftRow::new(policy.draft, policy.updated_at);
        let DraftRow { name, name_folded, description, document, updated_at } = row;
        let id = DbUid(policy.id.0);
        Self { id, name, name_folded, description, document, updated_at }
    }
}

impl From<PolicyRow> for ClientPolicy {
    fn from(row: PolicyRow) -> Self {
        let document = PolicyDocument::from_stored(row.document);
        let draft = ClientPolicyDraft { name: row.name, description: row.description, document };
        Self { id: ClientPolicyId(row.id.0), draft, updated_at: row.updated_at.0 }
    }
}
