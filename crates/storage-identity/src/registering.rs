//! Registration of an account, with its token, identity and invitation.
//!
//! The order of the checks decides which outcome a caller gets: the
//! invitation, then the seats, then the address. An address is looked up in
//! its older form too, which the unique index does not cover.

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{AccountCreationOutcome, NewAccount, NewEmailToken, PresentedInvitation, Role};
use pia_kernel::{SideEffects, UserId};
use pia_storage::schema::{accounts, invitations, mailed_tokens, provider_identities};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, connection_trait, in_tx, lock_row,
};

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
    let invitation = new.invitation;
    let older_email = older_form(&new.account.email);
    let row = AccountRow::from(new);

    in_tx!(db, async |conn| -> Result<AccountCreationOutcome, DbError> {
        conn.take_turn().await?;

        let invitation_row = match &invitation {
            Some(invitation) => conn.lock_invitation(invitation, &row).await?,
            None => None,
        };
        if invitation.is_some() && invitation_row.is_none() {
            return Ok(AccountCreationOutcome::NotInvited);
        }

        if !conn.room_for_account(seats).await? {
            return Ok(AccountCreationOutcome::SeatsTaken);
        }

        if let Some(older_email) = &older_email
            && conn.is_taken(older_email).await?
        {
            return Ok(AccountCreationOutcome::EmailTaken);
        }

        let inserted_rows = diesel::insert_into(accounts::table)
            .values(&row)
            .on_conflict(accounts::email_folded)
            .do_nothing()
            .execute(conn)
            .await?;
        if inserted_rows == 0 {
            return Ok(AccountCreationOutcome::EmailTaken);
        }

        if let Some(invitation_row) = &invitation_row {
            conn.redeem_invitation(invitation_row, &row).await?;
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

connection_trait! {
    /// Connection that can register accounts. Call each method inside a transaction
    /// that has taken the turn.
    trait RegisterAccount {
        /// Locks an invitation until the commit, so that it still exists when it is
        /// deleted. Returns `None` if it is not valid for the account, or is an
        /// administrator's and the maximum number of them is active.
        async fn lock_invitation(
            &mut self,
            invitation: &PresentedInvitation,
            account: &AccountRow,
        ) -> Result<Option<InvitationRow>, DbError> {
            let for_anyone = invitations::email_folded.is_null();
            let for_email = invitations::email_folded.eq(&account.email_folded);
            let valid_invitation = invitations::table
                .filter(invitations::hash.eq(invitation.hash.0.to_vec()))
                .filter(invitations::expires_at.gt(account.created_at))
                .filter(for_anyone.or(for_email));
            let row: Option<InvitationRow> =
                lock_row!(self, valid_invitation, invitations::role, InvitationRow::as_returning());

            match row {
                Some(row) if row.role == Role::Admin.name() => {
                    let has_room = self.room_for_admin(invitation.max_admins).await?;
                    Ok(has_room.then_some(row))
                }
                row => Ok(row),
            }
        }

        /// Returns whether an account has this folded address.
        async fn is_taken(&mut self, folded_email: &str) -> Result<bool, DbError> {
            let owner = accounts::table.filter(accounts::email_folded.eq(folded_email));
            Ok(diesel::select(exists(owner)).get_result::<bool>(self).await?)
        }

        /// Deletes an invitation, and gives the account its role and its group, if it
        /// names one.
        async fn redeem_invitation(
            &mut self,
            invitation: &InvitationRow,
            account: &AccountRow,
        ) -> Result<(), DbError> {
            let group_id = invitation.group_id.unwrap_or(account.group_id);
            let role_and_group =
                (accounts::role.eq(&invitation.role), accounts::group_id.eq(group_id));
            diesel::update(accounts::table.find(account.id))
                .set(role_and_group)
                .execute(self)
                .await?;
            diesel::delete(invitations::table.find(invitation.id)).execute(self).await?;
            Ok(())
        }
    }
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

/// Row of an invitation that a registration redeems.
#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations)]
struct InvitationRow {
    id: DbUid,
    role: String,
    group_id: Option<DbUid>,
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
    fn from_account(new: &NewAccount) -> Option<Self> {
        let account = &new.account;
        let identity = new.identity.as_ref()?;
        Some(Self {
            provider: account.provider.clone(),
            issuer: identity.issuer.clone(),
            subject: identity.subject.clone(),
            user_id: DbUid(account.user.0),
            created_at: DbInstant(account.created_at),
        })
    }
}
