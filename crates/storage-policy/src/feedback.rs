//! Reports on answers in SQL.

use std::time::Duration;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, FeedbackId, Page, PageRequest, SideEffects, Timestamp, Unavailable};
use pia_policy::{
    FeedbackChangeOutcome, FeedbackEntry, FeedbackFilter, FeedbackStatus, FeedbackStore, Rating,
    TriageUpdate,
};
use pia_storage::schema::ai_feedback;
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, in_time_order, in_tx, lock_row, on_conn,
};
use serde_json::json;

use crate::feedback_row::FeedbackRow;

/// Reports on answers in SQL.
#[derive(Debug, Clone)]
pub struct SqlFeedback {
    db: Database,
}

impl SqlFeedback {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl FeedbackStore for SqlFeedback {
    async fn add(&self, entry: FeedbackEntry, effects: SideEffects) -> Result<(), Unavailable> {
        let row = FeedbackRow::try_from(entry)?;
        in_tx!(self.db, async |conn| {
            diesel::insert_into(ai_feedback::table).values(&row).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await
        })
    }

    async fn page(
        &self,
        filter: FeedbackFilter,
        page: PageRequest,
    ) -> Result<Page<FeedbackEntry>, Unavailable> {
        let states: Vec<_> = FeedbackStatus::ALL
            .into_iter()
            .filter(|it| filter.status.is_none_or(|status| status == *it))
            .map(FeedbackStatus::name)
            .collect();
        let ratings: Vec<_> = Rating::ALL
            .into_iter()
            .filter(|it| filter.rating.is_none_or(|rating| rating == *it))
            .map(Rating::name)
            .collect();

        let reports = ai_feedback::table
            .filter(ai_feedback::status.eq_any(states))
            .filter(ai_feedback::rating.eq_any(ratings))
            .limit(page.and_one_more().limit.into());

        let rows: Vec<FeedbackRow> = on_conn!(self.db.reader(), |conn| {
            let mut selected = reports.into_boxed();
            if let Some(user) = filter.user {
                selected = selected.filter(ai_feedback::user_id.eq(DbUid(user.0)));
            }

            let query = in_time_order!(
                selected,
                filter.order,
                page.after,
                (ai_feedback::received_at, ai_feedback::id)
            );
            query.select(FeedbackRow::as_select()).load(conn).await?
        })?;
        let entries =
            rows.into_iter().map(FeedbackEntry::try_from).collect::<Result<Vec<_>, DbError>>()?;

        Ok(page.into_page(entries, |it| Cursor { at: it.received_at, id: it.id.0 }))
    }

    async fn find(&self, id: FeedbackId) -> Result<Option<FeedbackEntry>, Unavailable> {
        let report = ai_feedback::table.find(DbUid(id.0));
        let row: Option<FeedbackRow> = on_conn!(self.db.reader(), |conn| {
            report.select(FeedbackRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(FeedbackEntry::try_from).transpose()?)
    }

    async fn triage(
        &self,
        id: FeedbackId,
        update: TriageUpdate,
        effects: SideEffects,
    ) -> Result<FeedbackChangeOutcome, Unavailable> {
        let TriageUpdate { status, note, at, expected } = update;
        let row = ai_feedback::table.find(DbUid(id.0));
        in_tx!(self.db, async |conn| {
            // Locked, so that concurrent changes follow one another.
            let current_values: Option<(DbInstant, String)> = lock_row!(
                conn,
                row,
                ai_feedback::updated_at,
                (ai_feedback::updated_at, ai_feedback::status),
            );
            let Some((last_change, old_status)) = current_values else {
                return Ok(FeedbackChangeOutcome::Unknown);
            };
            if expected.is_some_and(|it| it != last_change.0) {
                return Ok(FeedbackChangeOutcome::Stale);
            }

            let updated_at = DbInstant(at.max(last_change.0 + Duration::from_micros(1)));
            let new_values = (
                status.map(|it| ai_feedback::status.eq(it.name())),
                note.as_deref()
                    .map(|text| ai_feedback::note.eq(Some(text).filter(|it| !it.is_empty()))),
                ai_feedback::updated_at.eq(updated_at),
            );

            let updated_row = diesel::update(row)
                .set(new_values)
                .returning(FeedbackRow::as_returning())
                .get_result(conn)
                .await?;

            // Without the note, which may contain personal data.
            let before = json!({ "status": old_status });
            let after = json!({ "status": updated_row.status });
            let effects = effects.with_changes(Some(&before), Some(&after));
            conn.write_effects(&self.db, &effects).await?;

            Ok(FeedbackChangeOutcome::Done(Box::new(updated_row.try_into()?)))
        })
    }

    async fn sweep(&self, answers: Timestamp, reports: Timestamp) -> Result<u64, Unavailable> {
        let is_old = ai_feedback::received_at.lt(DbInstant(reports));
        let delete_reports = diesel::delete(ai_feedback::table.filter(is_old));
        let has_old_answer = ai_feedback::received_at
            .lt(DbInstant(answers))
            .and(ai_feedback::answer_text.is_not_null());
        let clear_answers = diesel::update(ai_feedback::table.filter(has_old_answer))
            .set(ai_feedback::answer_text.eq(None::<String>));
        let changed_rows: usize = on_conn!(self.db.writer(), |conn| {
            delete_reports.execute(conn).await? + clear_answers.execute(conn).await?
        })?;
        Ok(changed_rows as u64)
    }
}
