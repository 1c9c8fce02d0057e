//! Groups in SQL.
//!
//! Members are read in `members.rs`, and changed many at once in `membership.rs`.
//! A group is deleted only after `group_use.rs` has counted, under its lock, what refers
//! to it.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind;
use diesel::result::Error::DatabaseError;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    GroupId, Page, PageRequest, SideEffects, SortCursor, Timestamp, Unavailable, UserId,
};
use pia_policy::{
    ExternalIdOutcome, Group, GroupCreationOutcome, GroupDeletionOutcome, GroupEntry, GroupMember,
    GroupName, GroupRenameOutcome, GroupSettings, GroupStore, MemberEffects, MemberFilter,
    MemberMoveOutcome, MembersChangeOutcome, MembershipChange, SettingChange,
    SettingsChangeOutcome,
};
use pia_storage::schema::{accounts, group_settings, user_groups};
use pia_storage::{Database, DbError, DbUid, WriteEffects, in_tx, lock_row, on_conn};
use serde_json::json;

use crate::group_row::GroupRow;
use crate::group_use::CountGroupUse;
use crate::members;
use crate::membership;
use crate::settings_row::SettingsRow;

/// Groups in SQL.
#[derive(Debug, Clone)]
pub struct SqlGroups {
    db: Database,
}

/// Locks a group until the commit. Evaluates to whether it exists.
macro_rules! lock_group {
    ($conn:expr, $group:expr) => {
        lock_row!($conn, user_groups::table.find($group), user_groups::name)
    };
}

impl SqlGroups {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn with_member_count(
        &self,
        row: Option<GroupRow>,
    ) -> Result<Option<GroupEntry>, DbError> {
        let Some(group) = row.map(Group::from) else { return Ok(None) };
        let members = accounts::table.filter(accounts::group_id.eq(DbUid(group.id.0))).count();
        let count: i64 = on_conn!(self.db.reader(), |conn| members.get_result(conn).await?)?;
        Ok(Some(GroupEntry { group, members: count.unsigned_abs() }))
    }

    async fn update_name(
        &self,
        group: GroupId,
        name: &GroupName,
        effects: &SideEffects,
    ) -> Result<GroupRenameOutcome, DbError> {
        let row = user_groups::table.find(DbUid(group.0));
        in_tx!(self.db, async |conn| -> Result<GroupRenameOutcome, DbError> {
            if !lock_group!(conn, DbUid(group.0)) {
                return Ok(GroupRenameOutcome::Unknown);
            }

            let current_row: GroupRow = row.select(GroupRow::as_select()).first(conn).await?;
            if current_row.name == name.as_str() {
                return Ok(GroupRenameOutcome::Done);
            }

            let new_name =
                (user_groups::name.eq(name.as_str()), user_groups::name_folded.eq(name.folded()));
            diesel::update(row).set(new_name).execute(conn).await?;
            let before = json!({ "name": current_row.name });
            let after = json!({ "name": name.as_str() });
            let effects = effects.with_changes(Some(&before), Some(&after));
            conn.write_effects(&self.db, &effects).await?;

            Ok(GroupRenameOutcome::Done)
        })
    }

    async fn delete(
        &self,
        group: GroupId,
        effects: &SideEffects,
    ) -> Result<GroupDeletionOutcome, DbError> {
        let id = DbUid(group.0);
        in_tx!(self.db, async |conn| -> Result<GroupDeletionOutcome, DbError> {
            if !lock_group!(conn, id) {
                return Ok(GroupDeletionOutcome::Unknown);
            }

            let row = user_groups::table.find(id);
            let (name, is_default) = row
                .select((user_groups::name, user_groups::is_default))
                .first::<(String, bool)>(conn)
                .await?;
            if is_default {
                return Ok(GroupDeletionOutcome::IsDefault);
            }

            let group_use = conn.group_use(id).await?;
            if !group_use.is_none() {
                return Ok(GroupDeletionOutcome::InUse(group_use));
            }

            diesel::delete(row).execute(conn).await?;
            let effects = effects.with_changes(Some(&json!({ "name": name })), None);
            conn.write_effects(&self.db, &effects).await?;

            Ok(GroupDeletionOutcome::Done)
        })
    }
}

#[async_trait]
impl GroupStore for SqlGroups {
    async fn all(&self) -> Result<Vec<GroupEntry>, Unavailable> {
        let groups =
            user_groups::table.order((user_groups::is_default.desc(), user_groups::name_folded));
        let member_counts =
            accounts::table.group_by(accounts::group_id).select((accounts::group_id, count_star()));
        let (rows, counts): (Vec<GroupRow>, Vec<(DbUid, i64)>) =
            on_conn!(self.db.reader(), |conn| {
                let rows = groups.select(GroupRow::as_select()).load(conn).await?;
                (rows, member_counts.load(conn).await?)
            })?;

        let count_by_group: HashMap<_, _> =
            counts.into_iter().map(|(id, count)| (id.0, count)).collect();
        let entries = rows.into_iter().map(|row| {
            let group = Group::from(row);
            let members = count_by_group.get(&group.id.0).copied().unwrap_or_default();
            GroupEntry { group, members: members.unsigned_abs() }
        });

        Ok(entries.collect())
    }

    async fn names(&self) -> Result<Vec<(GroupId, String)>, Unavailable> {
        let groups = user_groups::table
            .order((user_groups::is_default.desc(), user_groups::name_folded))
            .select((user_groups::id, user_groups::name));
        let rows: Vec<(DbUid, String)> =
            on_conn!(self.db.reader(), |conn| groups.load(conn).await?)?;
        Ok(rows.into_iter().map(|(id, name)| (GroupId(id.0), name)).collect())
    }

    async fn find(&self, group: GroupId) -> Result<Option<GroupEntry>, Unavailable> {
        let group = user_groups::table.find(DbUid(group.0));
        let row: Option<GroupRow> = on_conn!(self.db.reader(), |conn| {
            group.select(GroupRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(self.with_member_count(row).await?)
    }

    async fn find_named(&self, name: &GroupName) -> Result<Option<GroupEntry>, Unavailable> {
        let group = user_groups::table.filter(user_groups::name_folded.eq(name.folded()));
        let row: Option<GroupRow> = on_conn!(self.db.reader(), |conn| {
            group.select(GroupRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(self.with_member_count(row).await?)
    }

    async fn members(
        &self,
        filter: MemberFilter,
        page: PageRequest<SortCursor>,
    ) -> Result<Page<GroupMember, SortCursor>, Unavailable> {
        Ok(members::page_of(&self.db, filter, page).await?)
    }

    async fn member(&self, user: UserId) -> Result<Option<GroupMember>, Unavailable> {
        Ok(members::find(&self.db, user).await?)
    }

    async fn emails(&self, users: Vec<UserId>) -> Result<Vec<(UserId, String)>, Unavailable> {
        Ok(members::emails(&self.db, users).await?)
    }

    async fn last_uses(&self, users: Vec<UserId>) -> Result<Vec<(UserId, Timestamp)>, Unavailable> {
        Ok(members::last_uses(&self.db, users).await?)
    }

    async fn add(
        &self,
        group: Group,
        effects: SideEffects,
    ) -> Result<GroupCreationOutcome, Unavailable> {
        let effects = effects.with_changes(None, Some(&json!({ "name": group.name.as_str() })));
        let row = GroupRow::from(group);
        in_tx!(self.db, async |conn| {
            let inserted_rows = diesel::insert_into(user_groups::table)
                .values(&row)
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            if inserted_rows == 0 {
                return Ok(GroupCreationOutcome::NameTaken);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(GroupCreationOutcome::Stored)
        })
    }

    async fn rename(
        &self,
        group: GroupId,
        name: GroupName,
        effects: SideEffects,
    ) -> Result<GroupRenameOutcome, Unavailable> {
        match self.update_name(group, &name, &effects).await {
            Err(DbError::Query(DatabaseError(DatabaseErrorKind::UniqueViolation, _))) => {
                Ok(GroupRenameOutcome::NameTaken)
            }
            result => Ok(result?),
        }
    }

    async fn remove(
        &self,
        group: GroupId,
        effects: SideEffects,
    ) -> Result<GroupDeletionOutcome, Unavailable> {
        match self.delete(group, &effects).await {
            // An account joined it after the count.
            Err(DbError::Query(DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _))) => {
                Ok(self.delete(group, &effects).await?)
            }
            result => Ok(result?),
        }
    }

    async fn settings(&self, group: GroupId) -> Result<Option<GroupSettings>, Unavailable> {
        let settings = user_groups::table
            .find(DbUid(group.0))
            .left_join(group_settings::table.on(group_settings::group_id.eq(user_groups::id)));
        let row: Option<Option<SettingsRow>> = on_conn!(self.db.reader(), |conn| {
            settings.select(Option::<SettingsRow>::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(settings_from_row).transpose()?)
    }

    async fn change(
        &self,
        group: GroupId,
        changes: &[SettingChange],
        effects: SideEffects,
    ) -> Result<SettingsChangeOutcome, Unavailable> {
        let settings = group_settings::table.find(DbUid(group.0));
        in_tx!(self.db, async |conn| {
            if !lock_group!(conn, DbUid(group.0)) {
                return Ok(SettingsChangeOutcome::Unknown);
            }

            let row = settings.select(SettingsRow::as_select()).first(conn).await.optional()?;
            let before = settings_from_row(row)?;
            let after = match before.with(changes) {
                Ok(after) => after,
                Err(error) => return Ok(SettingsChangeOutcome::Refused(error)),
            };

            if after != before {
                let row = SettingsRow::new(group, &after)?;
                diesel::insert_into(group_settings::table)
                    .values(&row)
                    .on_conflict(group_settings::group_id)
                    .do_update()
                    .set(&row)
                    .execute(conn)
                    .await?;
                let effects = effects.with_changes(Some(&before), Some(&after));
                conn.write_effects(&self.db, &effects).await?;
            }

            Ok(SettingsChangeOutcome::Done(after))
        })
    }

    async fn member_ids(&self, group: GroupId) -> Result<Vec<(UserId, String)>, Unavailable> {
        Ok(members::ids(&self.db, group).await?)
    }

    async fn change_members(
        &self,
        group: GroupId,
        changes: &[MembershipChange],
        at: Timestamp,
        effects: MemberEffects,
    ) -> Result<MembersChangeOutcome, Unavailable> {
        Ok(membership::change(&self.db, group, changes, at, effects).await?)
    }

    async fn set_external_id(
        &self,
        group: GroupId,
        external_id: Option<String>,
        effects: SideEffects,
    ) -> Result<ExternalIdOutcome, Unavailable> {
        let row = user_groups::table.find(DbUid(group.0));
        let result = in_tx!(self.db, async |conn| -> Result<ExternalIdOutcome, DbError> {
            if !lock_group!(conn, DbUid(group.0)) {
                return Ok(ExternalIdOutcome::Unknown);
            }

            let before: Option<String> = row.select(user_groups::external_id).first(conn).await?;
            if before == external_id {
                return Ok(ExternalIdOutcome::Done);
            }

            let new_id = user_groups::external_id.eq(&external_id);
            diesel::update(row).set(new_id).execute(conn).await?;
            let audit_fields = |id: Option<&str>| json!({ "externalId": id });
            let old_fields = audit_fields(before.as_deref());
            let new_fields = audit_fields(external_id.as_deref());
            let effects = effects.with_changes(Some(&old_fields), Some(&new_fields));
            conn.write_effects(&self.db, &effects).await?;

            Ok(ExternalIdOutcome::Done)
        });

        match result {
            Err(DbError::Query(DatabaseError(DatabaseErrorKind::UniqueViolation, _))) => {
                Ok(ExternalIdOutcome::Taken)
            }
            result => Ok(result?),
        }
    }

    async fn put(
        &self,
        user: UserId,
        group: GroupId,
        effects: SideEffects,
    ) -> Result<MemberMoveOutcome, Unavailable> {
        let account = accounts::table.find(DbUid(user.0));
        let to = DbUid(group.0);
        in_tx!(self.db, async |conn| {
            // Before the account, so that the group exists until the commit.
            if !lock_group!(conn, to) {
                return Ok(MemberMoveOutcome::UnknownGroup);
            }

            // Locked, so that concurrent moves are serialised.
            let old_group: Option<DbUid> =
                lock_row!(conn, account, accounts::group_id, accounts::group_id);
            let Some(before) = old_group else {
                return Ok(MemberMoveOutcome::UnknownAccount);
            };
            if before == to {
                return Ok(MemberMoveOutcome::Done);
            }

            diesel::update(account).set(accounts::group_id.eq(to)).execute(conn).await?;
            let audit_fields = |id: DbUid| json!({ "groupId": id.0 });
            let effects =
                effects.with_changes(Some(&audit_fields(before)), Some(&audit_fields(to)));
            conn.write_effects(&self.db, &effects).await?;

            Ok(MemberMoveOutcome::Done)
        })
    }
}

/// Returns the settings of a row, or the defaults of a group without one.
fn settings_from_row(row: Option<SettingsRow>) -> Result<GroupSettings, DbError> {
    row.map_or_else(|| Ok(GroupSettings::default()), GroupSettings::try_from)
}
