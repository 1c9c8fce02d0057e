//! Statements shared by changes of passwords and addresses.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_identity::{AppAccess, EmailTokenPurpose, LOCAL, SCIM_PROVIDER};
use pia_kernel::{ApiKeyId, Timestamp, UserId};
use pia_storage::schema::{
    accounts, api_keys, app_passwords, factor_challenges, mailed_tokens, passkey_challenges,
    passkeys, totp_factors,
};
use pia_storage::{DbInstant, DbUid, connection_trait};

connection_trait! {
    /// Connection that changes passwords. Call each method inside a transaction,
    /// under the account's lock.
    pub(crate) trait PasswordWrites {
        /// Marks the address as verified, unless it was before. Returns whether this
        /// call verified it.
        async fn verify_address(&mut self, user: UserId, at: Timestamp) -> QueryResult<bool> {
            let is_unverified = accounts::email_verified_at.is_null();
            let account = accounts::table.find(DbUid(user.0)).filter(is_unverified);
            let verification_time = accounts::email_verified_at.eq(DbInstant(at));
            Ok(diesel::update(account).set(verification_time).execute(self).await? == 1)
        }

        /// Replaces the password of an account, also without the previous one. Returns
        /// false if the account has none, unless a SCIM client created it: its first
        /// password makes it a local one.
        async fn replace_password(&mut self, user: UserId, hash: &str) -> QueryResult<bool> {
            let account = accounts::table.find(DbUid(user.0));
            let provisioned_account = account.filter(accounts::provider.eq(SCIM_PROVIDER));
            let local_provider = accounts::provider.eq(LOCAL);
            let is_first =
                diesel::update(provisioned_account).set(local_provider).execute(self).await? == 1;

            let may_have_password =
                accounts::password_hash.is_not_null().or(is_first.into_sql::<Bool>());
            let epoch = accounts::credentials_epoch;
            let new_password = (accounts::password_hash.eq(hash), epoch.eq(epoch + 1));
            let updated_rows = diesel::update(account.filter(may_have_password))
                .set(new_password)
                .execute(self)
                .await?;
            Ok(updated_rows == 1)
        }

        /// Deletes everything pending that was authorised with the previous
        /// password: challenges of second factors and passkeys, factors not yet
        /// enabled, resets, and changes of the address.
        async fn forget_unfinished(&mut self, user: UserId) -> QueryResult<()> {
            let user_id = DbUid(user.0);

            let purposes = [EmailTokenPurpose::PasswordReset, EmailTokenPurpose::AddressChange];
            let has_purpose =
                mailed_tokens::purpose.eq_any(purposes.map(EmailTokenPurpose::name));
            let tokens =
                mailed_tokens::table.filter(mailed_tokens::user_id.eq(user_id).and(has_purpose));
            diesel::delete(tokens).execute(self).await?;

            let open_challenges =
                factor_challenges::table.filter(factor_challenges::user_id.eq(user_id));
            diesel::delete(open_challenges).execute(self).await?;

            let challenges =
                passkey_challenges::table.filter(passkey_challenges::user_id.eq(user_id));
            diesel::delete(challenges).execute(self).await?;

            let pending_factor =
                totp_factors::table.find(user_id).filter(totp_factors::enabled_at.is_null());
            diesel::delete(pending_factor).execute(self).await?;

            Ok(())
        }

        /// Deletes all app passwords and API keys. Returns the number of app
        /// passwords, and the ids of the keys.
        async fn revoke_app_access(
            &mut self,
            user: UserId,
        ) -> QueryResult<(usize, Vec<ApiKeyId>)> {
            let user_id = DbUid(user.0);
            let deleted_passwords =
                diesel::delete(app_passwords::table.filter(app_passwords::user_id.eq(user_id)))
                    .execute(self)
                    .await?;
            let deleted_keys: Vec<DbUid> =
                diesel::delete(api_keys::table.filter(api_keys::user_id.eq(user_id)))
                    .returning(api_keys::id)
                    .get_results(self)
                    .await?;
            Ok((deleted_passwords, deleted_keys.into_iter().map(|it| ApiKeyId(it.0)).collect()))
        }

        /// Counts the app passwords and API keys.
        async fn app_access(&mut self, user: UserId) -> QueryResult<AppAccess> {
            let user_id = DbUid(user.0);
            let password_count: i64 = app_passwords::table
                .filter(app_passwords::user_id.eq(user_id))
                .count()
                .get_result(self)
                .await?;
            let key_count: i64 = api_keys::table
                .filter(api_keys::user_id.eq(user_id))
                .count()
                .get_result(self)
                .await?;
            Ok(AppAccess {
                app_passwords: password_count.unsigned_abs(),
                api_keys: key_count.unsigned_abs(),
            })
        }

        /// Deletes all passkeys of an account.
        async fn forget_passkeys(&mut self, user: UserId) -> QueryResult<()> {
            let user_id = DbUid(user.0);
            let keys = passkeys::table.filter(passkeys::user_id.eq(user_id));
            diesel::delete(keys).execute(self).await?;
            Ok(())
        }
    }
}
