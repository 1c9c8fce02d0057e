//! Assignments in SQL. Methods for a user go through `db` and see the rows of
//! this user alone; workers, timers and administrators use `all_rows`. Lists read
//! no contents but error messages.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_assignments::{
    Assignment, AssignmentCreationOutcome, AssignmentDetails, AssignmentStatus, AssignmentStore,
    CollectionOutcome, FailureCode, ForcedEnd, NewAssignment, RunFailure,
};
use pia_kernel::{
    AssignmentId, Cursor, Page, PageRequest, SideEffects, TimeOrder, Unavailable, UserId,
};
use pia_sealing::{PersonSeal, Sealer};
use pia_storage::schema::{assignment_events, assignments};
use pia_storage::{
    Database, DbError, DbUid, WriteEffects, in_time_order, in_tx, in_user_tx, on_conn, on_user_rows,
};
use tokio::sync::Notify;

use crate::assignment_rows::{AssignmentRow, DetailsRow, NewRow};
use crate::event_rows::EventRow;
use crate::handing_over::{HandOver, QUEUED};
use crate::transition::{AssignmentPatch, ChangeAssignment, Transition};

/// Assignments and their runs in SQL. Contents are sealed under the key of their
/// user: without the user's salt, none of them can be read.
#[derive(Debug, Clone)]
pub struct SqlAssignments {
    /// Database of requests, which see the rows of their user alone.
    pub(crate) db: Database,
    /// Database of workers, timers and administrators.
    pub(crate) all_rows: Database,
    pub(crate) sealer: Sealer,
}

/// Query of a page of assignments, newest first.
macro_rules! page_of {
    ($assignments:expr, $skip:expr, $limit:expr) => {
        $assignments
            .order((assignments::created_at.desc(), assignments::id.desc()))
            .offset(i64::from($skip))
            .limit(i64::from($limit))
    };
}

impl SqlAssignments {
    /// Creates the store of the assignments in `db`.
    pub fn new(db: Database, sealer: Sealer) -> Self {
        let all_rows = db.unrestricted();
        Self { db, all_rows, sealer }
    }

    /// Wakes `wake` when an assignment may have been handed over to any process.
    /// Runs until dropped.
    pub async fn wake_when_queued(&self, wake: &Notify) {
        self.all_rows.listen(QUEUED, wake).await;
    }

    /// Loads the keys of the user of an assignment; `None` if it does not exist.
    pub(crate) async fn seal_of(
        &self,
        id: AssignmentId,
    ) -> Result<Option<PersonSeal>, Unavailable> {
        let query = assignments::table.find(DbUid(id.0)).select(assignments::user_id);
        let user: Option<DbUid> =
            on_conn!(self.all_rows.reader(), |conn| query.first(conn).await.optional()?)?;
        let Some(user) = user else { return Ok(None) };
        self.sealer.seal_for(UserId(user.0)).await
    }

    /// Changes an assignment of any user, with its events.
    pub(crate) async fn apply(&self, change: &Transition) -> Result<bool, DbError> {
        in_tx!(self.all_rows, async |conn| -> Result<bool, DbError> {
            conn.transition(change).await
        })
    }
}

#[async_trait]
impl AssignmentStore for SqlAssignments {
    async fn create(
        &self,
        assignment: NewAssignment,
        max_unfinished: u32,
    ) -> Result<AssignmentCreationOutcome, Unavailable> {
        let id = DbUid(assignment.id.0);
        let Some(seal) = self.sealer.seal_for(assignment.user).await? else {
            return Ok(AssignmentCreationOutcome::Gone);
        };
        let row = NewRow::new(&assignment, &seal)?;
        let event = EventRow::new(id, assignment.event, assignment.at, Some(&seal))?;
        Ok(HandOver { row, event, max_unfinished }.store(&self.db).await?)
    }

    async fn discard(&self, id: AssignmentId) -> Result<(), Unavailable> {
        let queued_assignment = assignments::table
            .find(DbUid(id.0))
            .filter(assignments::status.eq(AssignmentStatus::Queued.name()));
        let deletion = diesel::delete(queued_assignment);
        on_conn!(self.all_rows.writer(), |conn| deletion.execute(conn).await?)?;
        Ok(())
    }

    async fn list(
        &self,
        user: UserId,
        skip: u32,
        limit: u32,
    ) -> Result<Vec<Assignment>, Unavailable> {
        let own_assignments = assignments::table.filter(assignments::user_id.eq(DbUid(user.0)));
        let page = page_of!(own_assignments, skip, limit);
        let rows: Vec<AssignmentRow> = on_user_rows!(self.db, user, |conn| page
            .select(AssignmentRow::as_select())
            .load(conn)
            .await?)?;
        let has_messages = rows.iter().any(|it| it.error_message.is_some());
        let seal = if has_messages { self.sealer.seal_for(user).await? } else { None };
        let open = |it: AssignmentRow| it.open_listed(seal.as_ref());
        Ok(rows.into_iter().map(open).collect::<Result<_, _>>()?)
    }

    async fn load(
        &self,
        user: UserId,
        id: AssignmentId,
    ) -> Result<Option<AssignmentDetails>, Unavailable> {
        let row_query =
            assignments::table.find(DbUid(id.0)).filter(assignments::user_id.eq(DbUid(user.0)));
        let events_query = assignment_events::table
            .filter(assignment_events::assignment_id.eq(DbUid(id.0)))
            .order(assignment_events::ordinal);

        // The assignment first, so that one which has ended comes with all events.
        let (row, events): (Option<DetailsRow>, Vec<EventRow>) =
            on_user_rows!(self.db, user, |conn| {
                let row = row_query.select(DetailsRow::as_select()).first(conn).await.optional()?;
                (row, events_query.select(EventRow::as_select()).load(conn).await?)
            })?;

        let Some(row) = row else { return Ok(None) };
        let Some(seal) = self.sealer.seal_for(user).await? else { return Ok(None) };

        let events = events.into_iter().map(|it| it.open(&seal)).collect::<Result<_, _>>()?;

        row.open(events, &seal).map(Some)
    }

    async fn cancel(
        &self,
        user: UserId,
        id: AssignmentId,
        end: ForcedEnd,
    ) -> Result<bool, Unavailable> {
        let query = assignments::table
            .find(DbUid(id.0))
            .filter(assignments::user_id.eq(DbUid(user.0)))
            .count();
        let count: i64 = on_user_rows!(self.db, user, |conn| query.get_result(conn).await?)?;
        if count == 0 {
            return Ok(false);
        }
        let Some(seal) = self.sealer.seal_for(user).await? else { return Ok(false) };

        let event = EventRow::new(DbUid(id.0), end.event, end.at, Some(&seal))?;
        let patch = AssignmentPatch::ended(AssignmentStatus::Cancelled, end.at);
        let cancel = Transition::end(id, AssignmentStatus::Cancelled, patch, event);

        in_user_tx!(self.db, user, async |conn| { conn.transition(&cancel).await })
    }

    async fn collect(
        &self,
        user: UserId,
        id: AssignmentId,
        end: ForcedEnd,
    ) -> Result<CollectionOutcome, Unavailable> {
        self.collect_contents(user, id, end).await
    }

    async fn list_all(&self, skip: u32, limit: u32) -> Result<Vec<Assignment>, Unavailable> {
        let page = page_of!(assignments::table, skip, limit);
        let rows: Vec<AssignmentRow> = on_conn!(self.all_rows.reader(), |conn| page
            .select(AssignmentRow::as_select())
            .load(conn)
            .await?)?;
        Ok(rows.into_iter().map(|it| it.open_listed(None)).collect::<Result<_, _>>()?)
    }

    async fn page_of_all(
        &self,
        user: Option<UserId>,
        status: Option<AssignmentStatus>,
        order: TimeOrder,
        page: PageRequest,
    ) -> Result<Page<Assignment>, Unavailable> {
        let has_status = assignments::status
            .eq(status.map_or("", AssignmentStatus::name))
            .or(status.is_none().into_sql::<Bool>());
        let all = assignments::table.filter(has_status).limit(page.and_one_more().limit.into());

        let rows: Vec<AssignmentRow> = on_conn!(self.all_rows.reader(), |conn| {
            let mut query = in_time_order!(
                all.into_boxed(),
                order,
                page.after,
                (assignments::created_at, assignments::id)
            );
            if let Some(user) = user {
                query = query.filter(assignments::user_id.eq(DbUid(user.0)));
            }
            query.select(AssignmentRow::as_select()).load(conn).await?
        })?;
        let entries: Vec<Assignment> =
            rows.into_iter().map(|it| it.open_listed(None)).collect::<Result<_, _>>()?;

        Ok(page.into_page(entries, |it| Cursor { at: it.created_at, id: it.id.0 }))
    }

    async fn find(&self, id: AssignmentId) -> Result<Option<Assignment>, Unavailable> {
        let row: Option<AssignmentRow> =
            on_conn!(self.all_rows.reader(), |conn| assignments::table
                .find(DbUid(id.0))
                .select(AssignmentRow::as_select())
                .first(conn)
                .await
                .optional()?)?;
        Ok(row.map(|it| it.open_listed(None)).transpose()?)
    }

    async fn terminate(
        &self,
        id: AssignmentId,
        end: ForcedEnd,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let Some(seal) = self.seal_of(id).await? else { return Ok(false) };

        let message = end.event.message.clone();
        let failure = RunFailure { code: FailureCode::Terminated, message };
        let patch = AssignmentPatch::failed(DbUid(id.0), &failure, end.at, &seal)?;
        let event = EventRow::new(DbUid(id.0), end.event, end.at, Some(&seal))?;
        let terminate = Transition::end(id, AssignmentStatus::Failed, patch, event);
        in_tx!(self.all_rows, async |conn| {
            if !conn.transition(&terminate).await? {
                return Ok(false);
            }
            conn.write_effects(&self.all_rows, &effects).await?;
            Ok(true)
        })
    }
}
