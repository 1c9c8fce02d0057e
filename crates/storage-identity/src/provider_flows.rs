//! Pending sign-ins at providers, in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{NewProviderFlow, ProviderFlow, ProviderFlows, TokenHash};
use pia_kernel::{Secret, Timestamp, Unavailable};
use pia_sealing::SealContext;
use pia_storage::schema::provider_flows::{self as flows, expires_at};
use pia_storage::{Database, DbError, DbInstant, on_conn};

/// Purpose under which rows are sealed.
const PURPOSE: &str = "provider-flow";

/// Pending sign-ins at providers in SQL. One that cannot be decrypted is treated as
/// missing: it would have ended in minutes.
#[derive(Debug, Clone)]
pub struct SqlProviderFlows {
    db: Database,
}

impl SqlProviderFlows {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl ProviderFlows for SqlProviderFlows {
    async fn put(&self, new: NewProviderFlow) -> Result<(), Unavailable> {
        let flow_json =
            serde_json::to_vec(&new.flow).map_err(|err| Unavailable::new("sealing", err))?;
        let sealed_flow = self.db.seal()?.seal(seal_context(&new.hash), &Secret::new(flow_json))?;
        let row = (
            flows::hash.eq(new.hash.0.to_vec()),
            flows::browser.eq(new.browser.0.to_vec()),
            flows::sealed.eq(sealed_flow),
            expires_at.eq(DbInstant(new.expires_at)),
        );
        let insertion = diesel::insert_into(flows::table).values(row);
        on_conn!(self.db.writer(), |conn| insertion.execute(conn).await?)?;

        Ok(())
    }

    async fn take(
        &self,
        hash: TokenHash,
        browser: TokenHash,
        now: Timestamp,
    ) -> Result<Option<ProviderFlow>, Unavailable> {
        let is_open = flows::browser.eq(browser.0.to_vec()).and(expires_at.gt(DbInstant(now)));
        let open_flow = flows::table.find(hash.0.to_vec()).filter(is_open);
        let flow_deletion = diesel::delete(open_flow).returning(flows::sealed);
        let sealed_flow: Option<Vec<u8>> =
            on_conn!(self.db.writer(), |conn| flow_deletion.get_result(conn).await.optional()?)?;
        let Some(sealed_flow) = sealed_flow else { return Ok(None) };

        match self.db.seal()?.open(seal_context(&hash), &sealed_flow) {
            Ok(flow_json) => {
                let flow = serde_json::from_slice(flow_json.expose());
                Ok(Some(flow.map_err(|_may_quote| DbError::Unreadable("provider_flows.sealed"))?))
            }
            Err(err) => {
                tracing::error!(error = %err, "provider sign-in state could not be decrypted");
                Ok(None)
            }
        }
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable> {
        let deletion = diesel::delete(flows::table.filter(expires_at.le(DbInstant(now))));
        Ok(on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?)? as u64)
    }
}

fn seal_context(hash: &TokenHash) -> SealContext<'_> {
    SealContext { purpose: PURPOSE, row: &hash.0 }
}
