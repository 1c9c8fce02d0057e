//! Redaction: deletion of the contents of assignments that have ended.
//!
//! `collect_contents` does so for a user, `RunStore::redact` after the retention;
//! both use `redact`, whose guard on `plaintext_dropped_at` makes a repetition
//! harmless. Sealed messages of events are deleted too, those of the server stay.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{AssignmentStatus, CollectionOutcome, ForcedEnd};
use pia_kernel::{AssignmentId, Unavailable, UserId};
use pia_storage::schema::{assignment_events, assignments};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait, in_user_tx, on_user_rows};

use crate::assignments::SqlAssignments;
use crate::event_rows::{AppendEvents, EventRow};

connection_trait! {
    /// Connection that can redact assignments.
    pub(crate) trait RedactAssignments {
        /// Deletes the contents of the assignments that have ended and still have
        /// contents, and appends the event of each. Returns their number.
        async fn redact(&mut self, events: &[(DbUid, EventRow)], at: DbInstant) -> Result<usize, DbError> {
            let ids: Vec<DbUid> = events.iter().map(|it| it.0).collect();
            let with_contents = assignments::table
                .filter(assignments::id.eq_any(&ids))
                .filter(assignments::completed_at.is_not_null())
                .filter(assignments::plaintext_dropped_at.is_null());

            let none = None::<Vec<u8>>;
            let columns = (
                assignments::input.eq(&none),
                assignments::outputs.eq(&none),
                assignments::artifact_json.eq(&none),
                assignments::artifact_text.eq(&none),
                assignments::error_message.eq(&none),
                assignments::plaintext_dropped_at.eq(Some(at)),
                assignments::updated_at.eq(at),
                assignments::event_count.eq(assignments::event_count + 1),
            );
            let rows: Vec<(DbUid, i32)> = diesel::update(with_contents)
                .set(columns)
                .returning((assignments::id, assignments::event_count))
                .get_results(self)
                .await?;

            let event_counts: HashMap<DbUid, i32> = rows.into_iter().collect();
            let redacted_ids: Vec<DbUid> = event_counts.keys().copied().collect();
            let messages = assignment_events::table
                .filter(assignment_events::assignment_id.eq_any(redacted_ids))
                .filter(assignment_events::sealed_message.is_not_null());

            diesel::update(messages)
                .set(assignment_events::sealed_message.eq(none))
                .execute(self)
                .await?;

            for (id, event) in events {
                if let Some(last) = event_counts.get(id) {
                    self.append(std::slice::from_ref(event), *last).await?;
                }
            }

            Ok(event_counts.len())
        }
    }
}

impl SqlAssignments {
    pub(crate) async fn collect_contents(
        &self,
        user: UserId,
        id: AssignmentId,
        end: ForcedEnd,
    ) -> Result<CollectionOutcome, Unavailable> {
        let own_assignments = assignments::table
            .find(DbUid(id.0))
            .filter(assignments::user_id.eq(DbUid(user.0)))
            .select(assignments::status);

        let status: Option<String> =
            on_user_rows!(self.db, user, |conn| own_assignments.first(conn).await.optional()?)?;
        let Some(status) = status else { return Ok(CollectionOutcome::NotFound) };
        if !AssignmentStatus::from_name(&status).is_some_and(AssignmentStatus::is_final) {
            return Ok(CollectionOutcome::Unfinished);
        }

        let row_id = DbUid(id.0);
        let events = [(row_id, EventRow::new(row_id, end.event, end.at, None)?)];
        let at = DbInstant(end.at);
        in_user_tx!(self.db, user, async |conn| -> Result<usize, DbError> {
            conn.redact(&events, at).await
        })?;

        Ok(CollectionOutcome::Done)
    }
}
