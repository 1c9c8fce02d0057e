//! Unanswered questions in SQL.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, GroupId, Page, PageRequest, QuestionId, Timestamp, Unavailable};
use pia_knowledge::{QuestionLog, UnansweredQuestion};
use pia_storage::schema::knowledge_questions::{
    self, first_seen_at, group_id, id, last_seen_at, question, seen_count,
};
use pia_storage::schema::user_groups;
use pia_storage::{Database, DbError, DbInstant, DbUid, in_tx, on_conn};

use crate::quotas::LoadGroupUsage;

/// Unanswered questions in SQL.
#[derive(Debug, Clone)]
pub struct SqlQuestionLog {
    db: Database,
}

type QuestionRow = (DbUid, String, i64, DbInstant, DbInstant);

impl SqlQuestionLog {
    /// Creates a log in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

fn unanswered_question((row, text, count, first, last): QuestionRow) -> UnansweredQuestion {
    UnansweredQuestion {
        id: QuestionId(row.0),
        text,
        count,
        first_seen_at: first.0,
        last_seen_at: last.0,
    }
}

#[async_trait]
impl QuestionLog for SqlQuestionLog {
    async fn record(
        &self,
        group: GroupId,
        text: &str,
        at: Timestamp,
        limit: u16,
    ) -> Result<(), Unavailable> {
        let group = DbUid(group.0);
        let at = DbInstant(at);
        let new = DbUid(QuestionId::generate().0);
        Ok(in_tx!(self.db, async |conn| -> Result<(), DbError> {
            // One after the other, so that none of them misses what another adds.
            conn.lock_group(group).await?;

            diesel::insert_into(knowledge_questions::table)
                .values((
                    id.eq(new),
                    group_id.eq(group),
                    question.eq(text),
                    seen_count.eq(1_i64),
                    first_seen_at.eq(at),
                    last_seen_at.eq(at),
                ))
                .on_conflict((group_id, question))
                .do_update()
                .set((seen_count.eq(seen_count + 1), last_seen_at.eq(at)))
                .execute(conn)
                .await?;

            let surplus: Vec<DbUid> = knowledge_questions::table
                .filter(group_id.eq(group))
                .order((last_seen_at.desc(), id.desc()))
                .offset(limit.into())
                .limit(i64::from(u16::MAX))
                .select(id)
                .load(conn)
                .await?;
            let surplus = knowledge_questions::table.filter(id.eq_any(surplus));
            diesel::delete(surplus).execute(conn).await?;

            Ok(())
        })?)
    }

    async fn page(
        &self,
        group: GroupId,
        page: PageRequest,
    ) -> Result<Option<Page<UnansweredQuestion>>, Unavailable> {
        let group = DbUid(group.0);
        let after = page.after.unwrap_or_else(Cursor::top);
        let at = DbInstant(after.at);
        let last = DbUid(after.id);
        let behind = last_seen_at.le(at).and(last_seen_at.lt(at).or(id.lt(last)));
        let rows = knowledge_questions::table
            .filter(group_id.eq(group))
            .filter(behind)
            .order((last_seen_at.desc(), id.desc()))
            .limit(page.and_one_more().limit.into())
            .select((id, question, seen_count, first_seen_at, last_seen_at));

        let group = diesel::select(exists(user_groups::table.find(group)));
        let (exists, rows): (bool, Vec<QuestionRow>) = on_conn!(self.db.reader(), |conn| {
            (group.get_result(conn).await?, rows.load(conn).await?)
        })?;
        let entries = rows.into_iter().map(unanswered_question).collect();
        let page = page.part_of(entries, |it| Cursor { at: it.last_seen_at, id: it.id.0 });

        Ok(exists.then_some(page))
    }

    async fn delete(&self, group: GroupId, deleted: QuestionId) -> Result<bool, Unavailable> {
        let row = knowledge_questions::table
            .filter(id.eq(DbUid(deleted.0)))
            .filter(group_id.eq(DbUid(group.0)));
        let deleted = diesel::delete(row);
        Ok(on_conn!(self.db.writer(), |conn| deleted.execute(conn).await?)? > 0)
    }

    async fn sweep(&self, before: Timestamp) -> Result<u64, Unavailable> {
        let old = knowledge_questions::table.filter(last_seen_at.lt(DbInstant(before)));
        let deleted: usize =
            on_conn!(self.db.writer(), |conn| diesel::delete(old).execute(conn).await?)?;
        Ok(deleted as u64)
    }
}
