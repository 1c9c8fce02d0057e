//! Reading of accounts as members of groups.
//!
//! Pages continue after the value that a cursor carries: that of the column which sorts
//! them, and the id of an account.

use diesel::dsl::{case_when, exists, max, not};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel_async::RunQueryDsl;
use pia_kernel::{GroupId, Page, PageRequest, SortCursor, SortValue, Timestamp, UserId};
use pia_policy::{GroupMember, MemberFilter, MemberOrder};
use pia_storage::schema::{accounts, passkeys, scim_users, sessions, totp_factors};
use pia_storage::text_search::{like_containing, lower};
use pia_storage::{Database, DbError, DbInstant, DbUid, in_column_order, on_conn};

/// Provider of accounts with a password.
const LOCAL: &str = "local";

#[derive(Queryable, Selectable)]
#[diesel(table_name = accounts)]
struct MemberRow {
    id: DbUid,
    email: String,
    email_folded: String,
    display_name: Option<String>,
    role: String,
    group_id: DbUid,
    deactivated_at: Option<DbInstant>,
    created_at: DbInstant,
}

/// Number by which accounts are sorted by their status, as in [`MemberRow::status`].
macro_rules! status {
    () => {
        case_when(accounts::deactivated_at.is_null(), 0_i64.into_sql::<BigInt>())
            .otherwise(1_i64.into_sql::<BigInt>())
    };
}

/// Orders a boxed query of accounts, and lets it begin after the time and id, the address,
/// or the cursor of a page, on either backend.
macro_rules! in_order {
    ($query:expr, $order:expr, $after:expr, $email:expr, $cursor:expr) => {{
        let mut query = $query;
        match $order {
            MemberOrder::Newest => {
                if let Some((at, id)) = $after {
                    let is_older = accounts::created_at.lt(at).or(accounts::id.lt(id));
                    query = query.filter(accounts::created_at.le(at).and(is_older));
                }
                query.order((accounts::created_at.desc(), accounts::id.desc()))
            }
            MemberOrder::Oldest => {
                if let Some((at, id)) = $after {
                    let is_newer = accounts::created_at.gt(at).or(accounts::id.gt(id));
                    query = query.filter(accounts::created_at.ge(at).and(is_newer));
                }
                query.order((accounts::created_at, accounts::id))
            }
            MemberOrder::Email => {
                if let Some(email) = $email {
                    query = query.filter(accounts::email_folded.gt(email));
                }
                query.order(accounts::email_folded)
            }
            MemberOrder::EmailDescending => {
                if let Some(email) = $email {
                    query = query.filter(accounts::email_folded.lt(email));
                }
                query.order(accounts::email_folded.desc())
            }
            MemberOrder::Role | MemberOrder::RoleDescending => in_column_order!(
                query, $order == MemberOrder::RoleDescending, $cursor,
                (accounts::role, accounts::id), it => it.text()
            ),
            MemberOrder::Status | MemberOrder::StatusDescending => in_column_order!(
                query, $order == MemberOrder::StatusDescending, $cursor,
                (status!(), accounts::id), it => it.number()
            ),
        }
    }};
}

/// Loads a page of members in their order.
pub(crate) async fn page_of(
    db: &Database,
    filter: MemberFilter,
    page: PageRequest<SortCursor>,
) -> Result<Page<GroupMember, SortCursor>, DbError> {
    let after = page.after.as_ref().map(|it| (DbInstant(it.value.time()), DbUid(it.id)));
    let email = page.after.as_ref().map(|it| it.value.text().to_owned());
    let pattern = like_containing(&filter.search);
    // Addresses of internationalised domains have two spellings.
    let matches_search = accounts::email_folded
        .like(&pattern)
        .escape('\\')
        .or(lower(accounts::email.nullable()).like(&pattern).escape('\\'))
        .or(lower(accounts::display_name).like(&pattern).escape('\\'));

    let group = DbUid(filter.group.map(|it| it.0).unwrap_or_default());
    let in_group = accounts::group_id.eq(group).or(filter.group.is_none().into_sql::<Bool>());
    let members = accounts::table.filter(in_group).filter(matches_search);
    let limit = i64::from(page.clone().and_one_more().limit);

    let factor_on = totp_factors::table
        .filter(totp_factors::user_id.eq(accounts::id))
        .filter(totp_factors::enabled_at.is_not_null());
    let passkey = passkeys::table.filter(passkeys::user_id.eq(accounts::id));

    let rows: Vec<MemberRow> = on_conn!(db.reader(), |conn| {
        let mut query = members.into_boxed();
        if let Some(role) = &filter.role {
            query = query.filter(accounts::role.eq(role));
        }

        query = match filter.is_active {
            Some(true) => query.filter(accounts::deactivated_at.is_null()),
            Some(false) => query.filter(accounts::deactivated_at.is_not_null()),
            None => query,
        };
        if filter.is_without_factor {
            query = query
                .filter(accounts::provider.eq(LOCAL))
                .filter(not(exists(factor_on)))
                .filter(not(exists(passkey)));
        }

        query = in_order!(query, filter.order, after, email, page.after);
        query.limit(limit).select(MemberRow::as_select()).load(conn).await?
    })?;
    let page = page.into_page(rows, |it: &MemberRow| it.cursor(filter.order));

    Ok(Page { items: page.items.into_iter().map(Into::into).collect(), next: page.next })
}

/// Loads a user as a member of their group.
pub(crate) async fn find(db: &Database, user: UserId) -> Result<Option<GroupMember>, DbError> {
    let account = accounts::table.find(DbUid(user.0));
    let row: Option<MemberRow> = on_conn!(db.reader(), |conn| {
        account.select(MemberRow::as_select()).first(conn).await.optional()?
    })?;
    Ok(row.map(Into::into))
}

/// Loads the email addresses of users.
pub(crate) async fn emails(
    db: &Database,
    users: Vec<UserId>,
) -> Result<Vec<(UserId, String)>, DbError> {
    let ids: Vec<DbUid> = users.into_iter().map(|it| DbUid(it.0)).collect();
    let query =
        accounts::table.filter(accounts::id.eq_any(ids)).select((accounts::id, accounts::email));
    let rows: Vec<(DbUid, String)> = on_conn!(db.reader(), |conn| query.load(conn).await?)?;
    Ok(rows.into_iter().map(|(id, email)| (UserId(id.0), email)).collect())
}

/// Loads the last use of any session of users.
pub(crate) async fn last_uses(
    db: &Database,
    users: Vec<UserId>,
) -> Result<Vec<(UserId, Timestamp)>, DbError> {
    let ids: Vec<DbUid> = users.into_iter().map(|it| DbUid(it.0)).collect();
    let query = sessions::table
        .filter(sessions::user_id.eq_any(ids))
        .group_by(sessions::user_id)
        .select((sessions::user_id, max(sessions::used_at)));
    let rows: Vec<(DbUid, Option<DbInstant>)> =
        on_conn!(db.reader(), |conn| query.load(conn).await?)?;
    Ok(rows.into_iter().filter_map(|(id, at)| Some((UserId(id.0), at?.0))).collect())
}

/// Loads the ids and email addresses of a group's members, by id; without the
/// users whom SCIM clients deleted.
pub(crate) async fn ids(db: &Database, group: GroupId) -> Result<Vec<(UserId, String)>, DbError> {
    let members = accounts::table
        .left_join(scim_users::table)
        .filter(accounts::group_id.eq(DbUid(group.0)))
        .filter(scim_users::withdrawn_at.is_null())
        .order(accounts::id)
        .select((accounts::id, accounts::email));
    let rows: Vec<(DbUid, String)> = on_conn!(db.reader(), |conn| members.load(conn).await?)?;
    Ok(rows.into_iter().map(|(id, email)| (UserId(id.0), email)).collect())
}

impl MemberRow {
    /// Returns the position of an account in an order.
    fn cursor(&self, order: MemberOrder) -> SortCursor {
        let id = self.id.0;
        match order {
            MemberOrder::Newest | MemberOrder::Oldest => SortCursor::at_time(self.created_at.0, id),
            MemberOrder::Email | MemberOrder::EmailDescending => {
                SortCursor::at_text(&self.email_folded, id)
            }
            MemberOrder::Role | MemberOrder::RoleDescending => SortCursor::at_text(&self.role, id),
            MemberOrder::Status | MemberOrder::StatusDescending => {
                SortCursor { value: SortValue::Number(self.status()), id }
            }
        }
    }

    /// Returns 0 for an active account, 1 for a deactivated one.
    fn status(&self) -> i64 {
        i64::from(self.deactivated_at.is_some())
    }
}

impl From<MemberRow> for GroupMember {
    fn from(row: MemberRow) -> Self {
        Self {
            user: UserId(row.id.0),
            email: row.email,
            display_name: row.display_name,
            role: row.role,
            group: GroupId(row.group_id.0),
            is_active: row.deactivated_at.is_none(),
            created_at: row.created_at.0,
        }
    }
}
