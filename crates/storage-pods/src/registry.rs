//! Registry of connected pods in SQL. `put` and `keep_alive` both require the
//! pod's token, if it has one: a token that is revoked or expires ends its pods
//! without a message between instances.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_kernel::{ConnectorId, GroupId, SideEffects, Timestamp, Unavailable};
use pia_pods::{
    CallRecord, ConnectedPod, ConnectorTokenHash, PodDescription, PodId, PodRegistrationOutcome,
    PodRegistry, PodStanding,
};
use pia_storage::schema::{connected_pods, connector_groups, connector_tokens, connectors};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};
use tokio_util::task::TaskTracker;

use crate::call_records::CallRecords;

/// Registry of connected pods in SQL.
#[derive(Debug, Clone)]
pub struct SqlPodRegistry {
    db: Database,
    records: CallRecords,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = connected_pods)]
struct PodRow {
    id: DbUid,
    connector_id: DbUid,
    token_hash: Option<Vec<u8>>,
    host: String,
    connected_at: DbInstant,
    alive_until: DbInstant,
    calls: i64,
    failures: i64,
    milliseconds: i64,
    description: String,
    is_draining: bool,
}

impl PodRow {
    fn new(pod: &ConnectedPod) -> Result<Self, Unavailable> {
        let description = serde_json::to_string(&pod.description)
            .map_err(|err| Unavailable::new("a description", err))?;
        Ok(Self {
            id: DbUid(pod.id.0),
            connector_id: DbUid(pod.connector.0),
            token_hash: pod.token.map(|it| it.0.to_vec()),
            description,
            host: pod.host.clone(),
            connected_at: DbInstant(pod.connected_at),
            alive_until: DbInstant(pod.alive_until),
            calls: pod.calls,
            failures: pod.failures,
            milliseconds: pod.milliseconds,
            is_draining: pod.is_draining,
        })
    }

    /// Returns the pod; `None` if a newer version of the server has described it in
    /// another form.
    fn into_pod(self) -> Option<ConnectedPod> {
        let description: PodDescription = serde_json::from_str(&self.description).ok()?;
        Some(ConnectedPod {
            id: PodId(self.id.0),
            connector: ConnectorId(self.connector_id.0),
            token: match self.token_hash {
                Some(hash) => Some(ConnectorTokenHash(hash.try_into().ok()?)),
                None => None,
            },
            host: self.host,
            description,
            connected_at: self.connected_at.0,
            alive_until: self.alive_until.0,
            calls: self.calls,
            failures: self.failures,
            milliseconds: self.milliseconds,
            is_draining: self.is_draining,
        })
    }
}

impl SqlPodRegistry {
    /// Creates the registry in `db`. Calls are recorded by `tasks` on the current
    /// runtime, which must outlive them.
    pub fn new(db: Database, tasks: TaskTracker) -> Self {
        Self { records: CallRecords::new(db.clone(), tasks), db }
    }
}

#[async_trait]
impl PodRegistry for SqlPodRegistry {
    async fn put(
        &self,
        pod: ConnectedPod,
        now: Timestamp,
    ) -> Result<PodRegistrationOutcome, Unavailable> {
        let row = PodRow::new(&pod)?;
        Ok(in_tx!(self.db, async |conn| -> Result<PodRegistrationOutcome, DbError> {
            // Locked, so that it is not revoked or deleted meanwhile.
            let token_expires_at = if let Some(hash) = &row.token_hash {
                let token = diesel::update(connector_tokens::table.find(hash))
                    .filter(connector_tokens::expires_at.gt(DbInstant(now)))
                    .set(connector_tokens::connector_id.eq(row.connector_id))
                    .returning(connector_tokens::expires_at);
                let Some(end) = token.get_result::<DbInstant>(conn).await.optional()? else {
                    return Ok(PodRegistrationOutcome::TokenGone);
                };
                Some(end.0)
            } else {
                let locked_rows = diesel::update(connectors::table.find(row.connector_id))
                    .set(connectors::name.eq(connectors::name))
                    .execute(conn)
                    .await?;
                if locked_rows == 0 {
                    return Ok(PodRegistrationOutcome::TokenGone);
                }
                None
            };

            // Counts and the mark of draining stay: `record` and `drain` write them.
            let updated_rows = diesel::update(connected_pods::table.find(row.id))
                .set((
                    connected_pods::description.eq(&row.description),
                    connected_pods::token_hash.eq(&row.token_hash),
                    connected_pods::alive_until.eq(row.alive_until),
                ))
                .execute(conn)
                .await?;
            if updated_rows == 0 {
                diesel::insert_into(connected_pods::table).values(&row).execute(conn).await?;
            }

            Ok(PodRegistrationOutcome::Done { token_expires_at })
        })?)
    }

    async fn keep_alive(
        &self,
        pods: Vec<PodId>,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<(PodId, PodStanding)>, Unavailable> {
        let ids: Vec<DbUid> = pods.iter().map(|it| DbUid(it.0)).collect();
        let valid = connector_tokens::table
            .filter(connector_tokens::expires_at.gt(DbInstant(now)))
            .select(connector_tokens::hash.nullable());

        let renew = diesel::update(connected_pods::table)
            .filter(connected_pods::id.eq_any(ids))
            .filter(
                connected_pods::token_hash.is_null().or(connected_pods::token_hash.eq_any(valid)),
            )
            .set(connected_pods::alive_until.eq(DbInstant(until)))
            .returning((connected_pods::id, connected_pods::is_draining));

        let rows: Vec<(DbUid, bool)> =
            on_conn!(self.db.writer(), |conn| renew.get_results(conn).await?)?;
        let is_draining: HashMap<DbUid, bool> = rows.into_iter().collect();
        let standing = |pod: PodId| match is_draining.get(&DbUid(pod.0)) {
            None => Some((pod, PodStanding::Unregistered)),
            Some(true) => Some((pod, PodStanding::Draining)),
            Some(false) => None,
        };

        Ok(pods.into_iter().filter_map(standing).collect())
    }

    async fn drain(&self, pod: PodId, effects: SideEffects) -> Result<bool, Unavailable> {
        Ok(in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            let mark = diesel::update(connected_pods::table.find(DbUid(pod.0)))
                .filter(connected_pods::token_hash.is_not_null())
                .set(connected_pods::is_draining.eq(true));
            if mark.execute(conn).await? == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })?)
    }

    async fn remove(&self, pod: PodId) -> Result<(), Unavailable> {
        let row = connected_pods::table.find(DbUid(pod.0));
        on_conn!(self.db.writer(), |conn| diesel::delete(row).execute(conn).await?)?;
        Ok(())
    }

    async fn sweep(&self, before: Timestamp) -> Result<(), Unavailable> {
        let expired_pods =
            connected_pods::table.filter(connected_pods::alive_until.lt(DbInstant(before)));
        on_conn!(self.db.writer(), |conn| diesel::delete(expired_pods).execute(conn).await?)?;
        Ok(())
    }

    async fn list_connected(
        &self,
        granted_to: Option<GroupId>,
        now: Timestamp,
    ) -> Result<Vec<ConnectedPod>, Unavailable> {
        let granted = connector_groups::table
            .filter(connector_groups::group_id.nullable().eq(granted_to.map(|it| DbUid(it.0))))
            .select(connector_groups::connector_id);
        let is_unrestricted = granted_to.is_none().into_sql::<Bool>();
        let connected = connected_pods::table
            .filter(connected_pods::alive_until.ge(DbInstant(now)))
            .filter(connected_pods::connector_id.eq_any(granted).or(is_unrestricted))
            .order((connected_pods::connected_at, connected_pods::id));

        let rows: Vec<PodRow> = on_conn!(self.db.reader(), |conn| {
            connected.select(PodRow::as_select()).load(conn).await?
        })?;

        Ok(rows.into_iter().filter_map(PodRow::into_pod).collect())
    }

    async fn record(&self, call: CallRecord, effects: SideEffects) {
        self.records.add(call, effects).await;
    }
}
