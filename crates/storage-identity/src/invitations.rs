//! Invitations in SQL. They are used up by registrations.
//!
//! `registering.rs` redeems and deletes them.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    InvitationEntry, InvitationFilter, InvitationStore, NewInvitation, fold_email, readable_email,
};
use pia_kernel::{GroupId, InvitationId, PageRequest, SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::{invitations, user_groups};
use pia_storage::text_search::like_containing;
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, in_time_order, in_tx, on_conn,
};

use crate::accounts::role;

/// Adapter of `InvitationStore` over the table `invitations`.
#[derive(Debug, Clone)]
pub struct SqlInvitations {
    db: Database,
}

impl SqlInvitations {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl InvitationStore for SqlInvitations {
    async fn add(&self, new: NewInvitation, effects: SideEffects) -> Result<bool, Unavailable> {
        let row = NewRow::from(new);
        in_tx!(self.db, async |conn| {
            if let Some(group) = row.group_id {
                let known_group = diesel::select(exists(user_groups::table.find(group)));
                if !known_group.get_result::<bool>(conn).await? {
                    return Ok(false);
                }
            }
            diesel::insert_into(invitations::table).values(&row).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn page(
        &self,
        now: Timestamp,
        filter: &InvitationFilter,
        page: PageRequest,
    ) -> Result<Vec<InvitationEntry>, Unavailable> {
        use invitations::{created_at, email_folded, expires_at, id};

        // Only the folded spelling of an address is stored.
        let pattern = like_containing(&fold_email(&filter.search));
        let matches_search = email_folded.like(&pattern).escape('\\');
        let entries =
            invitations::table.filter(expires_at.gt(DbInstant(now))).limit(page.limit.into());

        let rows: Vec<ListRow> = on_conn!(self.db.reader(), |conn| {
            let mut query = entries.into_boxed();
            // Invitations for anyone have no address.
            if !filter.search.is_empty() {
                query = query.filter(matches_search);
            }
            query = if filter.is_by_expiry {
                in_time_order!(query, filter.order, page.after, (expires_at, id))
            } else {
                in_time_order!(query, filter.order, page.after, (created_at, id))
            };
            query.select(ListRow::as_select()).load(conn).await?
        })?;

        Ok(rows.into_iter().map(InvitationEntry::try_from).collect::<Result<_, _>>()?)
    }

    async fn revoke(&self, id: InvitationId, effects: SideEffects) -> Result<bool, Unavailable> {
        let invitation = invitations::table.find(DbUid(id.0));
        in_tx!(self.db, async |conn| {
            if diesel::delete(invitation).execute(conn).await? == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable> {
        let deletion =
            diesel::delete(invitations::table.filter(invitations::expires_at.le(DbInstant(now))));
        Ok(on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?)? as u64)
    }
}

#[derive(Insertable)]
#[diesel(table_name = invitations)]
struct NewRow {
    id: DbUid,
    hash: Vec<u8>,
    email_folded: Option<String>,
    role: &'static str,
    group_id: Option<DbUid>,
    invited_by: Option<DbUid>,
    created_at: DbInstant,
    expires_at: DbInstant,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations)]
struct ListRow {
    id: DbUid,
    email_folded: Option<String>,
    role: String,
    group_id: Option<DbUid>,
    invited_by: Option<DbUid>,
    created_at: DbInstant,
    expires_at: DbInstant,
}

impl From<NewInvitation> for NewRow {
    fn from(new: NewInvitation) -> Self {
        Self {
            id: DbUid(new.id.0),
            hash: new.hash.0.to_vec(),
            email_folded: new.email.as_deref().map(fold_email),
            role: new.role.name(),
            group_id: new.group.map(|it| DbUid(it.0)),
            invited_by: new.by.map(|it| DbUid(it.0)),
            created_at: DbInstant(new.at),
            expires_at: DbInstant(new.expires_at),
        }
    }
}

impl TryFrom<ListRow> for InvitationEntry {
    type Error = DbError;

    fn try_from(row: ListRow) -> Result<Self, DbError> {
        Ok(Self {
            id: InvitationId(row.id.0),
            email: row.email_folded.as_deref().map(readable_email),
            role: role(&row.role)?,
            group: row.group_id.map(|it| GroupId(it.0)),
            by: row.invited_by.map(|it| UserId(it.0)),
            at: row.created_at.0,
            expires_at: row.expires_at.0,
        })
    }
}
