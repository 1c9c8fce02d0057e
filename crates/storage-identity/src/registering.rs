//! Making an account, with all that is stored beside it.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{NewAccount, NewMailedToken, Registered};
use pia_kernel::{Effects, UserId};
use pia_storage::schema::{accounts, invitations, locks, mailed_tokens, provider_identities};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx};

use crate::accounts::AccountRow;

/// The row of `locks` that whoever registers an account holds.
const REGISTERING: &str = "accounts";

/// Stores a new account: see [`AccountStore::register`](pia_identity::AccountStore::register).
pub(crate) async fn register(
    db: &Database,
    new: NewAccount,
    seats: Option<u32>,
    effects: Effects,
) -> Result<Registered, DbError> {
    let token = new.verification.as_ref().map(|it| TokenRow::of(new.account.user, it));
    let identity = IdentityRow::of(&new);
    let invitation = new.invitation.map(|it| it.0.to_vec());
    let row = AccountRow::from(new);
    in_tx!(db, async |conn| -> Result<Registered, DbError> {
        // Seats are a limit over many rows, so they are counted by one at
        // a time, which this row's lock sees to until the commit.
        let turn = diesel::update(locks::table.find(REGISTERING));
        if turn.set(locks::turn.eq(locks::turn + 1)).execute(conn).await? != 1 {
            return Err(DbError::Unreadable("locks"));
        }
        if let Some(seats) = seats {
            let active = accounts::table.filter(accounts::deactivated_at.is_null()).count();
            if active.get_result::<i64>(conn).await? >= i64::from(seats) {
                return Ok(Registered::SeatsTaken);
            }
        }

        let insert = diesel::insert_into(accounts::table).values(&row);
        let insert = insert.on_conflict(accounts::email_folded).do_nothing();
        if insert.execute(conn).await? == 0 {
            return Ok(Registered::EmailTaken);
        }
        if let Some(hash) = &invitation {
            let good = invitations::expires_at.gt(row.created_at);
            let anyone = invitations::email_folded.is_null();
            let them = invitations::email_folded.eq(&row.email_folded);
            let used = invitations::table
                .filter(invitations::hash.eq(hash).and(good).and(anyone.or(them)));
            let used: Option<(String, Option<DbUid>)> = diesel::delete(used)
                .returning((invitations::role, invitations::group_id))
                .get_result(conn)
                .await
                .optional()?;
            let Some((role, group)) = used else {
                // In the same transaction, so that nobody ever sees it.
                diesel::delete(accounts::table.find(row.id)).execute(conn).await?;
                return Ok(Registered::NotInvited);
            };
            let given =
                (accounts::role.eq(role), accounts::group_id.eq(group.unwrap_or(row.group_id)));
            diesel::update(accounts::table.find(row.id)).set(given).execute(conn).await?;
        }
        if let Some(token) = &token {
            diesel::insert_into(mailed_tokens::table).values(token).execute(conn).await?;
        }
        if let Some(identity) = &identity {
            let insert = diesel::insert_into(provider_identities::table).values(identity);
            insert.execute(conn).await?;
        }
        conn.write_effects(db, &effects).await?;
        Ok(Registered::Stored)
    })
}

/// A token as it is stored.
#[derive(Insertable)]
#[diesel(table_name = mailed_tokens)]
pub(crate) struct TokenRow {
    hash: Vec<u8>,
    user_id: DbUid,
    purpose: &'static str,
    expires_at: DbInstant,
}

#[derive(Insertable)]
#[diesel(table_name = provider_identities)]
struct IdentityRow {
    provider: String,
    issuer: String,
    subject: String,
    user_id: DbUid,
    created_at: DbInstant,
}

impl TokenRow {
    pub(crate) fn of(user: UserId, token: &NewMailedToken) -> Self {
        Self {
            hash: token.hash.0.to_vec(),
            user_id: DbUid(user.0),
            purpose: token.purpose.name(),
            expires_at: DbInstant(token.expires_at),
        }
    }
}

impl IdentityRow {
    fn of(NewAccount { account, identity, .. }: &NewAccount) -> Option<Self> {
        let identity = identity.as_ref()?;
        Some(Self {
            provider: account.provider.clone(),
            issuer: identity.issuer.clone(),
            subject: identity.subject.clone(),
            user_id: DbUid(account.user.0),
            created_at: DbInstant(account.created_at),
        })
    }
}
