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
use pia_storage::{Database, DbInstant, DbUid, in_tx, on_conn};

use crate::quotas::LoadGroupUsage;

/// Unanswered questions in SQL.
#[derive(Debug, Clone)]
pub struct SqlQuestionLog {
    db: Database,
}

/// Id, text, count and times of a question.
type QuestionRow = (DbUid, String, i64, DbInstant, DbInstant);

impl SqlQuestionLog {
    /// Creates a log in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

fn unanswered_question((row_id, text, count, first, last): QuestionRow) -> UnansweredQuestion {
    UnansweredQuestion {
        id: QuestionId(row_id.0),
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
        let asking_group = DbUid(group.0);
        let seen_at = DbInstant(at);
        let new_id = DbUid(QuestionId::generate().0);
        in_tx!(self.db, async |conn| {
            // One after the other, so that none of them misses what another adds.
            conn.lock_group(asking_group).await?;

            diesel::insert_into(knowledge_questions::table)
                .values((
                    id.eq(new_id),
                    group_id.eq(asking_group),
                    question.eq(text),
                    seen_count.eq(1_i64),
                    first_seen_at.eq(seen_at),
                    last_seen_at.eq(seen_at),
                ))
                .on_conflict((group_id, question))
                .do_update()
                .set((seen_count.eq(seen_count + 1), last_seen_at.eq(seen_at)))
                .execute(conn)
                .await?;

            let surplus_ids: Vec<DbUid> = knowledge_questions::table
                .filter(group_id.eq(asking_group))
                .order((last_seen_at.desc(), id.desc()))
                .offset(limit.into())
                .limit(i64::from(u16::MAX))
                .select(id)
                .load(conn)
                .await?;
            let surplus_questions = knowledge_questions::table.filter(id.eq_any(surplus_ids));
            diesel::delete(surplus_questions).execute(conn).await?;

            Ok(())
        })
    }

    async fn page(
        &self,
        group: GroupId,
        page: PageRequest,
    ) -> Result<Option<Page<UnansweredQuestion>>, Unavailable> {
        let asking_group = DbUid(group.0);
        let after = page.after.unwrap_or_else(Cursor::top);
        let at = DbInstant(after.at);
        let last_id = DbUid(after.id);
        let is_after_cursor = last_seen_at.le(at).and(last_seen_at.lt(at).or(id.lt(last_id)));
        let rows = knowledge_questions::table
            .filter(group_id.eq(asking_group))
            .filter(is_after_cursor)
            .order((last_seen_at.desc(), id.desc()))
            .limit(page.and_one_more().limit.into())
            .select((id, question, seen_count, first_seen_at, last_seen_at));

        let group_exists = diesel::select(exists(user_groups::table.find(asking_group)));
        let (exists, rows): (bool, Vec<QuestionRow>) = on_conn!(self.db.reader(), |conn| {
            (group_exists.get_result(conn).await?, rows.load(conn).await?)
        })?;
        if !exists {
            return Ok(None);
        }

        let entries = rows.into_iter().map(unanswered_question).collect();
        Ok(Some(page.into_page(entries, |it| Cursor { at: it.last_seen_at, id: it.id.0 })))
    }

    async fn delete(&self, group: GroupId, question_id: QuestionId) -> Result<bool, Unavailable> {
        let row = knowledge_questions::table
            .filter(id.eq(DbUid(question_id.0)))
            .filter(group_id.eq(DbUid(group.0)));
        let deleted_rows: usize =
            on_conn!(self.db.writer(), |conn| diesel::delete(row).execute(conn).await?)?;
        Ok(deleted_rows > 0)
    }

    async fn sweep(&self, before: Timestamp) -> Result<u64, Unavailable> {
        let old_questions = knowledge_questions::table.filter(last_seen_at.lt(DbInstant(before)));
        let deleted_rows: usize =
            on_conn!(self.db.writer(), |conn| diesel::delete(old_questions).execute(conn).await?)?;
        Ok(deleted_rows as u64)
    }
}
