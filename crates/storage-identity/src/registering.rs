//! Registration of an account, with its token, identity and invitation.

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{AccountCreationOutcome, NewAccount, NewEmailToken, Role};
use pia_kernel::{SideEffects, UserId};
use pia_storage::schema::{accounts, invitations, mailed_tokens, provider_identities};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, lock_row};

use crate::accounts::AccountRow;
use crate::addresses::older_form;
use crate::admins::Admins;

/// Stores a new account: see [`AccountStore::register`](pia_identity::AccountStore::register).
pub(crate) async fn register(
    db: &Database,
    new: NewAccount,
    seats: Option<u32>,
    effects: SideEffects,
) -> Result<AccountCreationOutcome, DbError> {
    let token = new.verification.as_ref().map(|it| TokenRow::from_token(new.account.user, it));
    let identity = IdentityRow::from_account(&new);
    let invitation = new.invitation.map(|it| (it.hash.0.to_vec(), it.max_admins));
    let older_email = older_form(&new.account.email);
    let row = AccountRow::from(new);

    in_tx!(db, async |conn| -> Result<AccountCreationOutcome, DbError> {
        conn.take_turn().await?;

        let mut redeemed = None;
        if let Some((hash, max_admins)) = &invitation {
            let valid = invitations::hash.eq(hash).and(invitations::expires_at.gt(row.created_at));
            let for_anyone = invitations::email_folded.is_null();
            let for_email = invitations::email_folded.eq(&row.email_folded);
            // Locked until the commit, so that it still exists when it is deleted.
            let invitation_row: Option<(DbUid, String, Option<DbUid>)> = lock_row!(
                conn,
                invitations::table.filter(valid.and(for_anyone.or(for_email))),
                invitations::role,
                (invitations::id, invitations::role, invitations::group_id),
            );
            let Some((id, role, group)) = invitation_row else {
                return Ok(AccountCreationOutcome::NotInvited);
            };
            if role == Role::Admin.name() && !conn.room_for_admin(*max_admins).await? {
                return Ok(AccountCreationOutcome::NotInvited);
            }
            redeemed = Some((id, role, group));
        }

        if !conn.room_for_account(seats).await? {
            return Ok(AccountCreationOutcome::SeatsTaken);
        }

        if let Some(older_email) = &older_email {
            let owner = accounts::table.filter(accounts::email_folded.eq(older_email));
            if diesel::select(exists(owner)).get_result::<bool>(conn).await? {
                return Ok(AccountCreationOutcome::EmailTaken);
            }
        }

        let insert = diesel::insert_into(accounts::table)
            .values(&row)
            .on_conflict(accounts::email_folded)
            .do_nothing();
        if insert.execute(conn).await? == 0 {
            return Ok(AccountCreationOutcome::EmailTaken);
        }

        if let Some((id, role, group)) = redeemed {
            let group = group.unwrap_or(row.group_id);
            let granted = (accounts::role.eq(role), accounts::group_id.eq(group));
            diesel::update(accounts::table.find(row.id)).set(granted).execute(conn).await?;
            diesel::delete(invitations::table.find(id)).execute(conn).await?;
        }
        if let Some(token) = &token {
            diesel::insert_into(mailed_tokens::table).values(token).execute(conn).await?;
        }
        if let Some(identity) = &identity {
            diesel::insert_into(provider_identities::table).values(identity).execute(conn).await?;
        }
        conn.write_effects(db, &effects).await?;

        Ok(AccountCreationOutcome::Stored)
    })
}

/// Row of a stored token.
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
    pub(crate) fn from_token(user: UserId, token: &NewEmailToken) -> Self {
        Self {
            hash: token.hash.0.to_vec(),
            user_id: DbUid(user.0),
            purpose: token.purpose.name(),
            expires_at: DbInstant(token.expires_at),
        }
    }
}

impl IdentityRow {
    fn from_account(NewAccount { account, identity, .. }: &NewAccount) -> Option<Self> {
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
