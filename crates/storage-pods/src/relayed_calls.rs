//! Rows of calls between instances.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Secret, Timestamp, Unavailable};
use pia_pods::{PodCall, PodId, PodReply, ToolCallError};
use pia_sealing::SealContext;
use pia_storage::schema::{connected_pods, pod_calls};
use pia_storage::{Database, DbError, DbInstant, DbUid, NotifyProcesses, in_tx, on_conn};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use uuid::Uuid;

/// Channel of notifications of calls and replies.
const CHANNEL: &str = "pia_pod_calls";
/// Number of calls that are read together.
const BATCH: i64 = 100;

/// Rows of calls between instances, whose contents are sealed.
#[derive(Debug, Clone)]
pub(crate) struct RelayedCalls {
    db: Database,
}

fn place<'a>(id: &'a Uuid, purpose: &'static str) -> SealContext<'a> {
    SealContext { purpose, row: id.as_bytes() }
}

impl RelayedCalls {
    pub(crate) fn new(db: Database) -> Self {
        Self { db }
    }

    /// Wakes `wake` when there may be calls or replies. Runs until dropped.
    pub(crate) async fn listen(&self, wake: &Notify) {
        self.db.listen(CHANNEL, wake).await;
    }

    /// Stores a call until a time. Returns false if its pod is gone.
    pub(crate) async fn store(
        &self,
        id: Uuid,
        pod: PodId,
        (call, expires_at): (&PodCall, Timestamp),
    ) -> Result<bool, Unavailable> {
        let request = self.seal(place(&id, "pod-call"), call)?;
        Ok(in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            // Locked, so that it does not go meanwhile.
            let pod = diesel::update(connected_pods::table.find(DbUid(pod.0)))
                .set(connected_pods::calls.eq(connected_pods::calls))
                .returning(connected_pods::id);
            let Some(pod) = pod.get_result::<DbUid>(conn).await.optional()? else {
                return Ok(false);
            };
            let row = (
                pod_calls::id.eq(DbUid(id)),
                pod_calls::pod_id.eq(pod),
                pod_calls::expires_at.eq(DbInstant(expires_at)),
                pod_calls::is_claimed.eq(false),
                pod_calls::request.eq(&request),
            );
            diesel::insert_into(pod_calls::table).values(row).execute(conn).await?;
            conn.notify_processes(CHANNEL).await?;
            Ok(true)
        })?)
    }

    /// Lists the calls of pods that nobody has claimed.
    pub(crate) async fn waiting(
        &self,
        pods: Vec<PodId>,
        now: Timestamp,
    ) -> Result<Vec<(Uuid, PodId, PodCall)>, Unavailable> {
        if pods.is_empty() {
            return Ok(Vec::new());
        }
        let pods: Vec<DbUid> = pods.into_iter().map(|it| DbUid(it.0)).collect();
        let waiting = pod_calls::table
            .filter(pod_calls::pod_id.eq_any(pods))
            .filter(pod_calls::is_claimed.eq(false))
            .filter(pod_calls::expires_at.gt(DbInstant(now)))
            .order(pod_calls::id)
            .select((pod_calls::id, pod_calls::pod_id, pod_calls::request))
            .limit(BATCH);
        let rows: Vec<(DbUid, DbUid, Vec<u8>)> =
            on_conn!(self.db.reader(), |conn| waiting.load(conn).await?)?;
        let opened = rows.into_iter().filter_map(|(id, pod, request)| {
            let call = self.open(place(&id.0, "pod-call"), &request)?;
            Some((id.0, PodId(pod.0), call))
        });
        Ok(opened.collect())
    }

    /// Claims a call. Returns false if it is claimed, or gone.
    pub(crate) async fn claim(&self, id: Uuid) -> Result<bool, Unavailable> {
        let open = pod_calls::table.find(DbUid(id)).filter(pod_calls::is_claimed.eq(false));
        let claim = diesel::update(open).set(pod_calls::is_claimed.eq(true));
        Ok(on_conn!(self.db.writer(), |conn| claim.execute(conn).await?)? > 0)
    }

    /// Stores the reply to a call.
    pub(crate) async fn reply(
        &self,
        id: Uuid,
        outcome: &Result<PodReply, ToolCallError>,
    ) -> Result<(), Unavailable> {
        let reply = self.seal(place(&id, "pod-reply"), outcome)?;
        Ok(in_tx!(self.db, async |conn| -> Result<(), DbError> {
            let call = diesel::update(pod_calls::table.find(DbUid(id)));
            call.set(pod_calls::reply.eq(&reply)).execute(conn).await?;
            conn.notify_processes(CHANNEL).await?;
            Ok(())
        })?)
    }

    /// Deletes those of the calls that have a reply, and returns them.
    pub(crate) async fn take_replies(
        &self,
        ids: Vec<Uuid>,
    ) -> Result<Vec<(Uuid, Result<PodReply, ToolCallError>)>, Unavailable> {
        let ids: Vec<DbUid> = ids.into_iter().map(DbUid).collect();
        let ended = pod_calls::table
            .filter(pod_calls::id.eq_any(ids))
            .filter(pod_calls::reply.is_not_null())
            .select((pod_calls::id, pod_calls::reply.assume_not_null()));
        let rows: Vec<(DbUid, Vec<u8>)> =
            on_conn!(self.db.reader(), |conn| ended.load(conn).await?)?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let taken: Vec<DbUid> = rows.iter().map(|it| it.0).collect();
        let delete = diesel::delete(pod_calls::table.filter(pod_calls::id.eq_any(taken)));
        on_conn!(self.db.writer(), |conn| delete.execute(conn).await?)?;
        let opened = rows.into_iter().map(|(id, reply)| {
            let outcome = self.open(place(&id.0, "pod-reply"), &reply);
            (id.0, outcome.unwrap_or(Err(ToolCallError::Failed)))
        });
        Ok(opened.collect())
    }

    /// Returns those of the calls that were deleted.
    pub(crate) async fn missing(&self, ids: Vec<Uuid>) -> Result<Vec<Uuid>, Unavailable> {
        let own = pod_calls::id.eq_any(ids.iter().copied().map(DbUid).collect::<Vec<_>>());
        let stored = pod_calls::table.filter(own).select(pod_calls::id);
        let stored: Vec<DbUid> = on_conn!(self.db.reader(), |conn| stored.load(conn).await?)?;
        Ok(ids.into_iter().filter(|it| !stored.contains(&DbUid(*it))).collect())
    }

    /// Deletes calls, and tells the instances of their pods to cancel them.
    pub(crate) async fn delete(&self, ids: Vec<Uuid>) -> Result<(), Unavailable> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids: Vec<DbUid> = ids.into_iter().map(DbUid).collect();
        Ok(in_tx!(self.db, async |conn| -> Result<(), DbError> {
            let own = pod_calls::table.filter(pod_calls::id.eq_any(&ids));
            diesel::delete(own).execute(conn).await?;
            conn.notify_processes(CHANNEL).await?;
            Ok(())
        })?)
    }

    /// Lists the pods that are connected to any instance.
    pub(crate) async fn alive_pods(&self, now: Timestamp) -> Result<Vec<PodId>, Unavailable> {
        let alive = connected_pods::table
            .filter(connected_pods::alive_until.ge(DbInstant(now)))
            .select(connected_pods::id);
        let pods: Vec<DbUid> = on_conn!(self.db.reader(), |conn| alive.load(conn).await?)?;
        Ok(pods.into_iter().map(|it| PodId(it.0)).collect())
    }

    /// Deletes calls whose callers are gone.
    pub(crate) async fn sweep(&self, now: Timestamp) -> Result<(), Unavailable> {
        let old = pod_calls::table.filter(pod_calls::expires_at.lt(DbInstant(now)));
        let any: Option<DbUid> = on_conn!(self.db.reader(), |conn| {
            old.select(pod_calls::id).first(conn).await.optional()?
        })?;
        if any.is_some() {
            on_conn!(self.db.writer(), |conn| diesel::delete(old).execute(conn).await?)?;
        }
        Ok(())
    }

    fn seal<T: Serialize>(
        &self,
        place: SealContext<'_>,
        value: &T,
    ) -> Result<Vec<u8>, Unavailable> {
        let json = serde_json::to_vec(value).map_err(|err| Unavailable::new("a call", err))?;
        self.db.seal()?.seal(place, &Secret::new(json))
    }

    /// Opens a value; `None` if it is sealed under a key that this instance does not
    /// have.
    fn open<T: DeserializeOwned>(&self, place: SealContext<'_>, sealed: &[u8]) -> Option<T> {
        let json = self.db.seal().ok()?.open(place, sealed).ok()?;
        serde_json::from_slice(json.expose()).ok()
    }
}
