//! Identities of accounts at identity providers, in SQL.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    Account, Credentials, KnownAccount, Provider, ProviderAccounts, ProviderIdentity,
    ProvisionedSignIn, SCIM_PROVIDER,
};
use pia_kernel::{Unavailable, UserId};
use pia_storage::schema::{accounts, provider_identities as identities};
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::accounts::AccountRow;
use crate::addresses::with_address;

/// Adapter of `ProviderAccounts` over the table `provider_identities`.
#[derive(Debug, Clone)]
pub struct SqlProviderAccounts {
    db: Database,
}

impl SqlProviderAccounts {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl ProviderAccounts for SqlProviderAccounts {
    async fn find(
        &self,
        provider: Provider,
        identity: &ProviderIdentity,
    ) -> Result<Option<KnownAccount>, Unavailable> {
        let is_identity = identities::provider
            .eq(provider.name())
            .and(identities::issuer.eq(&identity.issuer))
            .and(identities::subject.eq(&identity.subject));
        let owner = identities::table.filter(is_identity).select(identities::user_id);
        let account = accounts::table.filter(accounts::id.eq_any(owner));
        let row: Option<(AccountRow, bool)> = on_conn!(self.db.reader(), |conn| {
            let columns = (AccountRow::as_select(), accounts::deactivated_at.is_null());
            account.select(columns).first(conn).await.optional()?
        })?;

        let Some((account_row, is_active)) = row else { return Ok(None) };
        let Credentials { account, .. } = account_row.try_into()?;
        let known_account =
            if is_active { KnownAccount::Active(account) } else { KnownAccount::Deactivated };
        Ok(Some(known_account))
    }

    async fn link_provisioned(
        &self,
        sign_in: ProvisionedSignIn,
    ) -> Result<Option<Account>, Unavailable> {
        let ProvisionedSignIn { provider, identity, email, at, effects } = sign_in;
        let is_unused = accounts::provider
            .eq(SCIM_PROVIDER)
            .and(accounts::password_hash.is_null())
            .and(accounts::deactivated_at.is_null());

        in_tx!(self.db, async |conn| {
            let account_id_query = with_address(&email).filter(is_unused).select(accounts::id);
            let Some(id) = account_id_query.first::<DbUid>(conn).await.optional()? else {
                return Ok(None);
            };

            // Guarded, so that of many at once one links an identity.
            let linked_row = diesel::update(accounts::table.find(id).filter(is_unused))
                .set(accounts::provider.eq(provider.name()))
                .returning(AccountRow::as_returning())
                .get_result::<AccountRow>(conn)
                .await
                .optional()?;
            let Some(row) = linked_row else { return Ok(None) };

            let identity_row = (
                identities::provider.eq(provider.name()),
                identities::issuer.eq(&identity.issuer),
                identities::subject.eq(&identity.subject),
                identities::user_id.eq(id),
                identities::created_at.eq(DbInstant(at)),
            );
            diesel::insert_into(identities::table).values(identity_row).execute(conn).await?;
            conn.write_effects(&self.db, &effects(UserId(id.0), at)).await?;

            Ok(Some(Credentials::try_from(row)?.account))
        })
    }

    async fn has_address(&self, email: &str) -> Result<bool, Unavailable> {
        let query = diesel::select(exists(with_address(email)));
        Ok(on_conn!(self.db.reader(), |conn| query.get_result(conn).await?)?)
    }
}
