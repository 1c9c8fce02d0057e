//! Rows of calls between instances. Deleting a row is how a caller cancels a
//! call: `missing` finds out on the other side. `delete` notifies the instances,
//! `forget` does not, since a call that was answered needs no cancellation.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::QueryFragment;
use diesel::sql_types::{Binary, Bool};
use diesel_async::RunQueryDsl;
use diesel_async::pooled_connection::deadpool::Object;
use pia_kernel::{Secret, Timestamp, Unavailable};
use pia_pods::{PodCall, PodId, PodReply, ToolCallError};
use pia_sealing::SealContext;
use pia_storage::schema::{connected_pods, pod_calls};
use pia_storage::{
    AsyncPostgres, Conn, Database, DbError, DbInstant, DbUid, Instant, Uid, on_conn,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::relay_statements::{CHANNEL, ClaimCalls, NotifyingWrite};

/// Call that this instance has claimed.
pub(crate) struct ClaimedCall {
    pub(crate) id: Uuid,
    pub(crate) pod: PodId,
    pub(crate) expires_at: Timestamp,
    pub(crate) call: PodCall,
}

/// Answer to a call that another instance has claimed.
pub(crate) enum RelayedAnswer {
    /// Progress that the pod reported last.
    Progress(String),
    /// Reply of the pod, or the reason why there is none.
    Ended(Result<PodReply, ToolCallError>),
}

/// Row of a claimed call, whose request is sealed.
#[derive(Queryable)]
struct ClaimedRow {
    id: DbUid,
    pod: DbUid,
    expires_at: DbInstant,
    request: Vec<u8>,
}

/// Row of a call that has an answer. Reply and progress are sealed.
#[derive(Queryable)]
struct AnswerRow {
    id: DbUid,
    reply: Option<Vec<u8>>,
    progress: Option<Vec<u8>>,
}

/// Rows of calls between instances, whose contents are sealed.
#[derive(Debug, Clone)]
pub(crate) struct RelayedCalls {
    db: Database,
}

fn seal_context<'a>(id: &'a Uuid, purpose: &'static str) -> SealContext<'a> {
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
        call: &PodCall,
        expires_at: Timestamp,
    ) -> Result<bool, Unavailable> {
        let request = self.seal(seal_context(&id, "pod-call"), call)?;
        let row = connected_pods::table.find(DbUid(pod.0)).select((
            DbUid(id).into_sql::<Uid>(),
            connected_pods::id,
            DbInstant(expires_at).into_sql::<Instant>(),
            false.into_sql::<Bool>(),
            request.into_sql::<Binary>(),
        ));

        let insertion = diesel::insert_into(pod_calls::table).values(row).into_columns((
            pod_calls::id,
            pod_calls::pod_id,
            pod_calls::expires_at,
            pod_calls::is_claimed,
            pod_calls::request,
        ));

        Ok(self.write(insertion).await?)
    }

    /// Claims calls of pods that nobody has claimed.
    pub(crate) async fn claim(
        &self,
        pods: Vec<PodId>,
        now: Timestamp,
    ) -> Result<Vec<ClaimedCall>, Unavailable> {
        if pods.is_empty() {
            return Ok(Vec::new());
        }

        let pod_ids = pods.into_iter().map(|it| DbUid(it.0)).collect();
        let claim = ClaimCalls { pods: pod_ids, now: DbInstant(now) };
        let mut conn = self.connection().await?;
        let rows: Vec<ClaimedRow> = claim.load(&mut conn).await.map_err(DbError::from)?;

        Ok(rows.into_iter().filter_map(|row| self.open_call(&row)).collect())
    }

    fn open_call(&self, row: &ClaimedRow) -> Option<ClaimedCall> {
        let id = row.id.0;
        let call = self.open(seal_context(&id, "pod-call"), &row.request)?;
        Some(ClaimedCall { id, pod: PodId(row.pod.0), expires_at: row.expires_at.0, call })
    }

    /// Stores the reply to a call.
    pub(crate) async fn reply(
        &self,
        id: Uuid,
        outcome: &Result<PodReply, ToolCallError>,
    ) -> Result<(), Unavailable> {
        let reply = self.seal(seal_context(&id, "pod-reply"), outcome)?;
        let update =
            diesel::update(pod_calls::table.find(DbUid(id))).set(pod_calls::reply.eq(reply));
        // If the call is gone, nobody waits for its reply.
        self.write(update).await?;
        Ok(())
    }

    /// Stores the progress of a call.
    pub(crate) async fn report(&self, id: Uuid, progress: &str) -> Result<(), Unavailable> {
        let sealed = self.seal(seal_context(&id, "pod-progress"), &progress)?;
        let update =
            diesel::update(pod_calls::table.find(DbUid(id))).set(pod_calls::progress.eq(sealed));
        self.write(update).await?;
        Ok(())
    }

    /// Returns the answers to those of the calls that have one.
    pub(crate) async fn answers(
        &self,
        ids: Vec<Uuid>,
    ) -> Result<Vec<(Uuid, RelayedAnswer)>, Unavailable> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }

        let call_ids: Vec<DbUid> = ids.into_iter().map(DbUid).collect();
        let answered = pod_calls::table
            .filter(pod_calls::id.eq_any(call_ids))
            .filter(pod_calls::reply.is_not_null().or(pod_calls::progress.is_not_null()))
            .select((pod_calls::id, pod_calls::reply, pod_calls::progress));
        let rows: Vec<AnswerRow> = on_conn!(self.db.reader(), |conn| answered.load(conn).await?)?;

        let answers = rows.iter().filter_map(|row| Some((row.id.0, self.open_answer(row)?)));
        Ok(answers.collect())
    }

    /// Opens the reply, or the progress of a call that has none. A reply that cannot
    /// be opened ends the call as failed.
    fn open_answer(&self, row: &AnswerRow) -> Option<RelayedAnswer> {
        let id = row.id.0;
        if let Some(reply) = &row.reply {
            let outcome = self.open(seal_context(&id, "pod-reply"), reply);
            return Some(RelayedAnswer::Ended(outcome.unwrap_or(Err(ToolCallError::Failed))));
        }

        let progress = row.progress.as_ref()?;
        Some(RelayedAnswer::Progress(self.open(seal_context(&id, "pod-progress"), progress)?))
    }

    /// Returns those of the calls that were deleted.
    pub(crate) async fn missing(&self, ids: Vec<Uuid>) -> Result<Vec<Uuid>, Unavailable> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }

        let has_id = pod_calls::id.eq_any(ids.iter().copied().map(DbUid).collect::<Vec<_>>());
        let query = pod_calls::table.filter(has_id).select(pod_calls::id);
        let existing: Vec<DbUid> = on_conn!(self.db.reader(), |conn| query.load(conn).await?)?;
        Ok(ids.into_iter().filter(|it| !existing.contains(&DbUid(*it))).collect())
    }

    /// Deletes calls whose replies were read.
    pub(crate) async fn forget(&self, ids: Vec<Uuid>) -> Result<(), Unavailable> {
        if ids.is_empty() {
            return Ok(());
        }

        let has_id = pod_calls::id.eq_any(ids.into_iter().map(DbUid).collect::<Vec<_>>());
        self.db.count(diesel::delete(pod_calls::table.filter(has_id))).await?;
        Ok(())
    }

    /// Deletes calls, and tells the instances of their pods to cancel them.
    pub(crate) async fn delete(&self, ids: Vec<Uuid>) -> Result<(), Unavailable> {
        if ids.is_empty() {
            return Ok(());
        }

        let has_id = pod_calls::id.eq_any(ids.into_iter().map(DbUid).collect::<Vec<_>>());
        self.write(diesel::delete(pod_calls::table.filter(has_id))).await?;
        Ok(())
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
        let expired = pod_calls::table.filter(pod_calls::expires_at.lt(DbInstant(now)));
        // Without expired calls, no write disturbs others.
        let first_expired: Option<DbUid> = on_conn!(self.db.reader(), |conn| {
            expired.select(pod_calls::id).first(conn).await.optional()?
        })?;
        if first_expired.is_some() {
            on_conn!(self.db.writer(), |conn| diesel::delete(expired).execute(conn).await?)?;
        }
        Ok(())
    }

    /// Writes without waiting for the disk. Returns whether anything was written; all
    /// instances are notified if so.
    async fn write<S>(&self, statement: S) -> Result<bool, DbError>
    where
        S: QueryFragment<Pg> + Send,
    {
        let mut conn = self.connection().await?;
        let notified: Option<String> =
            NotifyingWrite(statement).get_result(&mut conn).await.optional()?;
        Ok(notified.is_some())
    }

    async fn connection(&self) -> Result<Object<AsyncPostgres>, DbError> {
        match self.db.writer().await? {
            Conn::Postgres(conn) => Ok(conn),
            // SQLite serves one instance only.
            Conn::Sqlite(_) => Err(DbError::Abandoned),
        }
    }

    fn seal<T: Serialize>(
        &self,
        context: SealContext<'_>,
        value: &T,
    ) -> Result<Vec<u8>, Unavailable> {
        let json = serde_json::to_vec(value).map_err(|err| Unavailable::new("a call", err))?;
        self.db.seal()?.seal(context, &Secret::new(json))
    }

    /// Opens a value; `None` if it is sealed under a key that this instance does not
    /// have.
    fn open<T: DeserializeOwned>(&self, context: SealContext<'_>, sealed: &[u8]) -> Option<T> {
        let json = self.db.seal().ok()?.open(context, sealed).ok()?;
        serde_json::from_slice(json.expose()).ok()
    }
}
