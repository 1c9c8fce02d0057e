//! Whom identity providers know accounts' owners as, in SQL.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{Credentials, KnownAccount, Provider, ProviderAccounts, ProviderIdentity};
use pia_kernel::Unavailable;
use pia_storage::schema::{accounts, provider_identities as identities};
use pia_storage::{Database, on_conn};

use crate::accounts::AccountRow;
use crate::addresses::with_address;

/// Accounts of providers in SQL.
#[derive(Debug, Clone)]
pub struct SqlProviderAccounts {
    db: Database,
}

impl SqlProviderAccounts {
    /// Provider accounts kept in `db`.
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
        let same = identities::provider
            .eq(provider.name())
            .and(identities::issuer.eq(&identity.issuer))
            .and(identities::subject.eq(&identity.subject));
        let owner = identities::table.filter(same).select(identities::user_id);
        let account = accounts::table.filter(accounts::id.eq_any(owner));
        let found: Option<(AccountRow, bool)> = on_conn!(self.db.reader(), |conn| {
            let columns = (AccountRow::as_select(), accounts::deactivated_at.is_null());
            account.select(columns).first(conn).await.optional()?
        })?;
        let Some((row, active)) = found else { return Ok(None) };
        let Credentials { account, .. } = row.try_into()?;
        Ok(Some(if active { KnownAccount::Active(account) } else { KnownAccount::Deactivated }))
    }

    async fn has_address(&self, email: &str) -> Result<bool, Unavailable> {
        let same = with_address(email);
        let taken = diesel::select(exists(same));
        Ok(on_conn!(self.db.reader(), |conn| taken.get_result(conn).await?)?)
    }
}
