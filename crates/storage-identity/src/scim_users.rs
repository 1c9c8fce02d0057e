//! Users that SCIM clients manage, in SQL.
//!
//! Every account is a user. A row of `scim_users` exists only once a client
//! has created, changed or withdrawn the user; `row.rs` joins both,
//! `selection.rs` translates filters. Attributes are checked first, so that
//! the taken one can be named; unique indexes decide between concurrent
//! writers, and the loser runs again.

mod row;
mod selection;

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::UniqueViolation;
use diesel::result::Error::DatabaseError;
use diesel_async::RunQueryDsl;
use pia_identity::{
    ActivationChange, DeactivationOutcome, NewScimUser, ReactivationOutcome, Role, SCIM_PROVIDER,
    ScimUser, ScimUserAttributes, ScimUserChangeOutcome, ScimUserCreationOutcome, ScimUserEdit,
    ScimUserPage, ScimUserQuery, ScimUserStore, TakenAttribute, fold_email,
};
use pia_kernel::{SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::{accounts, mailed_tokens, scim_users, user_groups};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, connection_trait, in_tx, lock_row, on_conn,
};
use serde_json::json;

use self::row::{AccountRow, AttributesRow, UserRow, UserWithRole, user_columns};
use self::selection::select_users;
use crate::addresses::with_address;
use crate::admins::Admins;
use crate::roles::ActiveAccounts;

/// Adapter of `ScimUserStore` over `scim_users` and `accounts`.
#[derive(Debug, Clone)]
pub struct SqlScimUsers {
    db: Database,
}

impl SqlScimUsers {
    /// Creates the store over `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn insert(
        &self,
        new: &NewScimUser,
        seats: Option<u32>,
        effects: &SideEffects,
    ) -> Result<ScimUserCreationOutcome, DbError> {
        let NewScimUser { user, attributes, is_active, created_at } = new;
        in_tx!(self.db, async |conn| -> Result<ScimUserCreationOutcome, DbError> {
            conn.take_turn().await?;
            let existing_user = with_address(&attributes.email)
                .left_join(scim_users::table)
                .select((accounts::id, scim_users::withdrawn_at.nullable()))
                .first::<(DbUid, Option<DbInstant>)>(conn)
                .await
                .optional()?;
            let (id, outcome) = match existing_user {
                Some((_, None)) => {
                    // Another account, managed or not, has the address.
                    return Ok(ScimUserCreationOutcome::Taken(TakenAttribute::Email));
                }
                // A client withdrew the user before, and creates it again.
                Some((id, Some(_))) => {
                    conn.lock_account(id).await?;
                    (id, ScimUserCreationOutcome::Restored(UserId(id.0)))
                }
                None => (DbUid(user.0), ScimUserCreationOutcome::Stored),
            };

            let row = AttributesRow::new(id, attributes, *created_at);
            let name = row.user_name_folded.as_ref();
            if let Some(taken) = conn.taken(id, name, None, &row.external_id).await? {
                return Ok(ScimUserCreationOutcome::Taken(taken));
            }

            if outcome == ScimUserCreationOutcome::Stored {
                if *is_active && !conn.room_for_account(seats).await? {
                    return Ok(ScimUserCreationOutcome::SeatsTaken);
                }
                conn.insert_account(new).await?;
            } else {
                let name = accounts::display_name.eq(&attributes.display_name);
                diesel::update(accounts::table.find(id)).set(name).execute(conn).await?;
            }

            conn.put_attributes(&row).await?;
            let mut effects = effects.clone();
            for entry in &mut effects.audit {
                entry.subject = Some(UserId(id.0));
            }

            conn.write_effects(&self.db, &effects).await?;

            Ok(outcome)
        })
    }

    async fn update(&self, edit: &ScimUserEdit) -> Result<ScimUserChangeOutcome, DbError> {
        let ScimUserEdit { user, expected, changes, activation, at, effects } = edit;
        let id = DbUid(user.0);
        let at = *at;
        in_tx!(self.db, async |conn| -> Result<ScimUserChangeOutcome, DbError> {
            if activation.is_some() {
                conn.take_turn().await?;
            }

            conn.lock_account(id).await?;
            let Some(UserWithRole { user: before, role }) = conn.scim_user(id).await? else {
                return Ok(ScimUserChangeOutcome::Unknown);
            };
            if expected.as_ref().is_some_and(|it| *it != before.version()) {
                return Ok(ScimUserChangeOutcome::Stale);
            }

            let attributes = match before.attributes.with(changes) {
                Ok(attributes) => attributes,
                Err(violation) => return Ok(ScimUserChangeOutcome::Invalid(violation)),
            };
            let row = AttributesRow::new(id, &attributes, at);
            let changes_email =
                fold_email(&attributes.email) != fold_email(&before.attributes.email);
            let reactivates =
                !before.is_active && matches!(activation, Some(ActivationChange::Reactivate(..)));
            // A SCIM client must not take over the account of an administrator.
            let is_privileged = role != Role::User.name();
            if is_privileged && (changes_email || reactivates) {
                return Ok(ScimUserChangeOutcome::Privileged);
            }

            let old_name = Some(row::fold_user_name(&before.attributes.user_name));
            let new_name =
                row.user_name_folded.as_ref().filter(|it| Some(*it) != old_name.as_ref());
            let new_address = changes_email.then_some(attributes.email.as_str());
            if let Some(taken) = conn.taken(id, new_name, new_address, &row.external_id).await? {
                return Ok(ScimUserChangeOutcome::Taken(taken));
            }
            if let Some(change) = activation
                && let Some(refusal) = conn.activate(&self.db, *user, at, change).await?
            {
                return Ok(refusal);
            }

            if attributes != before.attributes {
                conn.replace_attributes(&row, &before.attributes, &attributes).await?;
                let names = row::changed_attributes(&before.attributes, &attributes);
                let effects = effects.with_changes(None, Some(&json!({ "attributes": names })));
                conn.write_effects(&self.db, &effects).await?;
            }

            let changed_user =
                conn.scim_user(id).await?.ok_or(DbError::Unreadable("scim_users"))?;

            Ok(ScimUserChangeOutcome::Done(Box::new(changed_user.user)))
        })
    }
}

#[async_trait]
impl ScimUserStore for SqlScimUsers {
    async fn create(
        &self,
        new: NewScimUser,
        seats: Option<u32>,
        effects: SideEffects,
    ) -> Result<ScimUserCreationOutcome, Unavailable> {
        match self.insert(&new, seats, &effects).await {
            // Another one took an attribute meanwhile, which is found now.
            Err(DbError::Query(DatabaseError(UniqueViolation, _))) => {
                Ok(self.insert(&new, seats, &effects).await?)
            }
            outcome => Ok(outcome?),
        }
    }

    async fn find(&self, user: UserId) -> Result<Option<ScimUser>, Unavailable> {
        let existing_user: Option<UserWithRole> =
            on_conn!(self.db.reader(), |conn| conn.scim_user(DbUid(user.0)).await?)?;
        Ok(existing_user.map(|it| it.user))
    }

    async fn list(&self, query: ScimUserQuery) -> Result<ScimUserPage, Unavailable> {
        let ScimUserQuery { conditions, offset, limit } = query;
        let (total, rows): (i64, Vec<UserRow>) = on_conn!(self.db.reader(), |conn| {
            // Expanded once for each backend, as it takes long to compile.
            let selected = || select_users!(&conditions);
            let total = selected().count().get_result(conn).await?;
            let users = selected()
                .order((accounts::created_at, accounts::id))
                .offset(offset.into())
                .limit(limit.into());
            (total, users.select(user_columns!()).load(conn).await?)
        })?;

        let users = rows.into_iter().map(|it| row::to_user(it).user).collect();
        Ok(ScimUserPage { total: total.unsigned_abs(), users })
    }

    async fn change(&self, edit: ScimUserEdit) -> Result<ScimUserChangeOutcome, Unavailable> {
        match self.update(&edit).await {
            // Another one took an attribute meanwhile, which is found now.
            Err(DbError::Query(DatabaseError(UniqueViolation, _))) => {
                Ok(self.update(&edit).await?)
            }
            outcome => Ok(outcome?),
        }
    }

    async fn withdraw(
        &self,
        user: UserId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let id = DbUid(user.0);
        let row = AttributesRow::withdrawn(id, at);
        in_tx!(self.db, async |conn| {
            conn.lock_account(id).await?;
            if conn.scim_user(id).await?.is_none() {
                return Ok(false);
            }
            conn.put_attributes(&row).await?;
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }
}

connection_trait! {
    /// Connection that reads and writes users of SCIM clients.
    trait ScimUserRows {
        /// Loads a user; `None` if there is no account, or a client has withdrawn it.
        async fn scim_user(&mut self, id: DbUid) -> Result<Option<UserWithRole>, DbError> {
            let user = accounts::table
                .left_join(scim_users::table)
                .inner_join(user_groups::table)
                .filter(accounts::id.eq(id))
                .filter(scim_users::withdrawn_at.is_null())
                .select(user_columns!());
            let row: Option<UserRow> = user.first(self).await.optional()?;
            Ok(row.map(row::to_user))
        }

        /// Creates the account of a new user, in the default group. Its email address is
        /// as verified as the client that provides it.
        async fn insert_account(&mut self, new: &NewScimUser) -> Result<(), DbError> {
            let NewScimUser { user, attributes, is_active, created_at } = new;
            let created_at = DbInstant(*created_at);
            let group_id = user_groups::table
                .filter(user_groups::is_default)
                .select(user_groups::id)
                .first::<DbUid>(self)
                .await?;

            let account = (
                accounts::id.eq(DbUid(user.0)),
                accounts::email.eq(&attributes.email),
                accounts::email_folded.eq(fold_email(&attributes.email)),
                accounts::display_name.eq(&attributes.display_name),
                accounts::provider.eq(SCIM_PROVIDER),
                accounts::customer_type.eq(0),
                accounts::created_at.eq(created_at),
                accounts::role.eq(Role::User.name()),
                accounts::group_id.eq(group_id),
                accounts::email_verified_at.eq(created_at),
                accounts::credentials_epoch.eq(0),
                accounts::deactivated_at.eq((!is_active).then_some(created_at)),
            );
            diesel::insert_into(accounts::table).values(account).execute(self).await?;
            Ok(())
        }

        /// Locks an account, so that concurrent changes of a user follow one another.
        async fn lock_account(&mut self, id: DbUid) -> Result<(), DbError> {
            lock_row!(self, accounts::table.find(id), accounts::group_id);
            Ok(())
        }

        /// Returns the first attribute that another user already has. `None` for the
        /// folded `userName` or the email address means that it does not change.
        async fn taken(
            &mut self,
            user: DbUid,
            new_name: Option<&String>,
            new_email: Option<&str>,
            external_id: &Option<String>,
        ) -> Result<Option<TakenAttribute>, DbError> {
            if let Some(email) = new_email {
                let owner = with_address(email).filter(accounts::id.ne(user));
                if diesel::select(exists(owner)).get_result(self).await? {
                    return Ok(Some(TakenAttribute::Email));
                }
            }

            let other_users = scim_users::table.filter(scim_users::user_id.ne(user));

            if let Some(name) = new_name {
                let owner = other_users.filter(scim_users::user_name_folded.eq(name));
                if diesel::select(exists(owner)).get_result(self).await? {
                    return Ok(Some(TakenAttribute::UserName));
                }

                // An account without a row has its email address as `userName`.
                let unmanaged_owner = accounts::table
                    .left_join(scim_users::table)
                    .filter(accounts::id.ne(user))
                    .filter(scim_users::user_id.nullable().is_null())
                    .filter(accounts::email_folded.eq(name));

                if diesel::select(exists(unmanaged_owner)).get_result(self).await? {
                    return Ok(Some(TakenAttribute::UserName));
                }
            }

            let owner = other_users.filter(scim_users::external_id.eq(external_id));
            let taken: bool = diesel::select(exists(owner)).get_result(self).await?;

            Ok(taken.then_some(TakenAttribute::ExternalId))
        }

        /// Deactivates or reactivates an account, and returns the refusal if it may not be.
        async fn activate(
            &mut self,
            db: &Database,
            user: UserId,
            at: Timestamp,
            change: &ActivationChange,
        ) -> Result<Option<ScimUserChangeOutcome>, DbError> {
            Ok(match change {
                ActivationChange::Deactivate(effects) => {
                    match self.deactivate_account(db, user, at, effects).await? {
                        DeactivationOutcome::Done => None,
                        DeactivationOutcome::Unknown => Some(ScimUserChangeOutcome::Unknown),
                        DeactivationOutcome::LastAdmin => Some(ScimUserChangeOutcome::LastAdmin),
                    }
                }
                ActivationChange::Reactivate(limits, effects) => {
                    match self.reactivate_account(db, user, *limits, effects).await? {
                        ReactivationOutcome::Done => None,
                        ReactivationOutcome::Unknown => Some(ScimUserChangeOutcome::Unknown),
                        ReactivationOutcome::SeatsTaken => Some(ScimUserChangeOutcome::SeatsTaken),
                        ReactivationOutcome::AdminsTaken => Some(ScimUserChangeOutcome::AdminsTaken),
                    }
                }
            })
        }

        /// Stores the changed attributes of a user, also in their account. A new email
        /// address is as verified as the one before, whose links end.
        async fn replace_attributes(
            &mut self,
            row: &AttributesRow,
            before: &ScimUserAttributes,
            after: &ScimUserAttributes,
        ) -> Result<(), DbError> {
            let account = accounts::table.find(row.user_id);
            let name = accounts::display_name.eq(&after.display_name);
            diesel::update(account).set(name).execute(self).await?;

            if after.email != before.email {
                let email = accounts::email.eq(&after.email);
                diesel::update(account).set(email).execute(self).await?;
            }

            let folded_email = fold_email(&after.email);
            if folded_email != fold_email(&before.email) {
                let email = accounts::email_folded.eq(folded_email);
                diesel::update(account).set(email).execute(self).await?;
                // An address that was not verified does not become so by a change.
                let verified_account = account.filter(accounts::email_verified_at.is_not_null());
                let verification_time = accounts::email_verified_at.eq(row.updated_at);
                diesel::update(verified_account).set(verification_time).execute(self).await?;
                let links = mailed_tokens::table.filter(mailed_tokens::user_id.eq(row.user_id));
                diesel::delete(links).execute(self).await?;
            }

            self.put_attributes(row).await
        }

        /// Stores the attributes of a user, and replaces earlier ones.
        async fn put_attributes(&mut self, row: &AttributesRow) -> Result<(), DbError> {
            diesel::insert_into(scim_users::table)
                .values(row)
                .on_conflict(scim_users::user_id)
                .do_update()
                .set(row)
                .execute(self)
                .await?;
            Ok(())
        }
    }
}
