//! Replacement of passwords in SQL.
//!
//! `reset` requires a token and ends every session; `change` compares the old
//! hash and leaves the session that makes the change.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    ApiKeyRef, AppAccess, AppAccessRevoked, EmailTokenPurpose, PasswordChange, PasswordReset,
    PasswordStore,
};
use pia_kernel::Unavailable;
use pia_storage::schema::{accounts, mailed_tokens, sessions};
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx};

use crate::factor_writes::FactorWrites;
use crate::password_writes::PasswordWrites;

/// Adapter of `PasswordStore` over the table `accounts`, whose rows have the hashes.
///
/// Each change first locks its account's row, so that changes of one account
/// are serialised, and no session starts unnoticed while the others are ended.
#[derive(Debug, Clone)]
pub struct SqlPasswords {
    db: Database,
}

impl SqlPasswords {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl PasswordStore for SqlPasswords {
    async fn reset(&self, reset: PasswordReset) -> Result<bool, Unavailable> {
        let PasswordReset { user, token, password_hash, at, effects, if_ended } = &reset;
        let owner = DbUid(user.0);
        in_tx!(self.db, async |conn| {
            if !conn.lock_account(*user).await? {
                return Ok(false);
            }

            let is_valid = mailed_tokens::user_id
                .eq(owner)
                .and(mailed_tokens::purpose.eq(EmailTokenPurpose::PasswordReset.name()))
                .and(mailed_tokens::expires_at.gt(DbInstant(*at)));
            let valid_token = mailed_tokens::table.find(token.0.to_vec()).filter(is_valid);
            if diesel::delete(valid_token).execute(conn).await? == 0 {
                return Ok(false);
            }

            if !conn.replace_password(*user, password_hash.expose()).await? {
                return Ok(false);
            }

            if conn.verify_address(*user, *at).await? {
                // The address was unverified, so passkeys of the account may
                // belong to an attacker. A second factor opens nothing without the
                // new password, and protects it from an attacker with access to
                // the mailbox alone.
                conn.forget_passkeys(*user).await?;
            }
            conn.forget_unfinished(*user).await?;
            conn.write_effects(&self.db, effects).await?;

            let own_sessions = sessions::table.filter(sessions::user_id.eq(owner));
            for _ in 0..diesel::delete(own_sessions).execute(conn).await? {
                conn.write_effects(&self.db, &if_ended(*user, *at)).await?;
            }
            conn.revoke_app_access(*user).await?;

            Ok(true)
        })
    }

    async fn change(&self, change: PasswordChange) -> Result<Option<AppAccess>, Unavailable> {
        let PasswordChange { by, old, new, at, effects, if_ended, .. } = &change;
        let revocation_effects = change.revoke_app_access.then_some(change.if_revoked);
        in_tx!(self.db, async |conn| {
            if !conn.lock_account(by.user).await? {
                return Ok(None);
            }

            let is_unchanged = accounts::password_hash.eq(old.expose());
            let account = accounts::table.find(DbUid(by.user.0)).filter(is_unchanged);
            let new_hash = accounts::password_hash.eq(new.expose());
            if diesel::update(account).set(new_hash).execute(conn).await? == 0 {
                return Ok(None);
            }

            conn.forget_unfinished(by.user).await?;

            if let Some(AppAccessRevoked { app_password, api_key }) = revocation_effects {
                let (password_count, keys) = conn.revoke_app_access(by.user).await?;
                for _ in 0..password_count {
                    conn.write_effects(&self.db, &app_password(by.user, *at)).await?;
                }
                for key in keys {
                    let key_ref = ApiKeyRef { user: by.user, key };
                    conn.write_effects(&self.db, &api_key(key_ref, *at)).await?;
                }
            }

            let app_access_left = conn.app_access(by.user).await?;
            conn.write_effects(&self.db, &effects(by.user, *at, app_access_left)).await?;
            conn.end_others(&self.db, *by, *at, *if_ended).await?;

            Ok(Some(app_access_left))
        })
    }
}
