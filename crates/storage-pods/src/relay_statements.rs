//! Statements on the rows of calls between instances. Their commits do not wait for the
//! disk, since no call outlives its instances.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment};
use diesel::sql_types::{Array, Binary, Text};
use pia_storage::{DbInstant, DbUid, Instant, Uid, prepared_by_text};

/// Channel of notifications of calls and replies.
pub(crate) const CHANNEL: &str = "pia_pod_calls";

/// Insert, update or delete that notifies the instances if it wrote anything. Its
/// result has a row then.
pub(crate) struct NotifyingWrite<S>(pub(crate) S);

/// Claim of the calls of pods that nobody has claimed. Its result has their id, their
/// pod, their end and their request.
pub(crate) struct ClaimCalls {
    pub(crate) pods: Vec<DbUid>,
    pub(crate) now: DbInstant,
}

const WITHOUT_WAITING: &str = "set_config('synchronous_commit', 'off', true)";

/// Number of calls that are claimed together.
const BATCH: &str = "100";

impl<S: QueryFragment<Pg>> QueryFragment<Pg> for NotifyingWrite<S> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH written AS (");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" RETURNING 1) SELECT ");
        out.push_sql(WITHOUT_WAITING);
        out.push_sql(" || pg_notify('");
        out.push_sql(CHANNEL);
        out.push_sql("', '')::text FROM written LIMIT 1");
        Ok(())
    }

    /// Always true: there are few texts, and diesel would otherwise prepare each write
    /// anew, at a round trip each.
    fn is_safe_to_cache_prepared(&self, _backend: &Pg) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<S> diesel::query_builder::QueryId for NotifyingWrite<S> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<S> Query for NotifyingWrite<S> {
    type SqlType = Text;
}

impl QueryFragment<Pg> for ClaimCalls {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH waiting AS (SELECT id FROM pod_calls WHERE pod_id = ANY(");
        out.push_bind_param::<Array<Uid>, _>(&self.pods)?;
        out.push_sql(") AND NOT is_claimed AND expires_at > ");
        out.push_bind_param::<Instant, _>(&self.now)?;
        out.push_sql(" ORDER BY id LIMIT ");
        out.push_sql(BATCH);

        out.push_sql(
            "), claimed AS (UPDATE pod_calls SET is_claimed = true
                WHERE id IN (SELECT id FROM waiting) AND NOT is_claimed
                RETURNING id, pod_id, expires_at, request)
            SELECT id, pod_id, expires_at, request FROM claimed, ",
        );
        out.push_sql(WITHOUT_WAITING);
        out.push_sql(" ORDER BY id");

        Ok(())
    }
}

prepared_by_text!(ClaimCalls);

impl Query for ClaimCalls {
    type SqlType = (Uid, Uid, Instant, Binary);
}
