//! Database rows of schedules: one to write, one to read, one for administrators
//! without the input. An update replaces what the user writes, and neither the
//! time of creation nor the last outcome.

use diesel::prelude::*;
use pia_assignments::{
    CatchUp, DueSchedule, LastStart, Recurrence, Schedule, ScheduleEntry, SkipReason,
};
use pia_kernel::{AssignmentId, ScheduleId, Unavailable, UserId};
use pia_sealing::PersonSeal;
use pia_storage::schema::assignment_schedules;
use pia_storage::{DbError, DbInstant, DbUid};

use crate::contents::SealedText;

/// Columns of a schedule that its user writes.
#[derive(Debug, Clone, Insertable, AsChangeset)]
#[diesel(table_name = assignment_schedules, treat_none_as_null = true)]
pub(crate) struct NewScheduleRow {
    id: DbUid,
    user_id: DbUid,
    skill_name: String,
    cron: String,
    time_zone: &'static str,
    catch_up: &'static str,
    next_at: Option<DbInstant>,
    #[diesel(skip_update)]
    created_at: DbInstant,
    updated_at: DbInstant,
    input: Vec<u8>,
}

/// Schedule with its last outcome.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = assignment_schedules)]
pub(crate) struct ScheduleRow {
    pub(crate) id: DbUid,
    user_id: DbUid,
    skill_name: String,
    cron: String,
    time_zone: String,
    catch_up: String,
    next_at: Option<DbInstant>,
    last_due_at: Option<DbInstant>,
    last_assignment_id: Option<DbUid>,
    last_skip: Option<String>,
    created_at: DbInstant,
    updated_at: DbInstant,
    input: Vec<u8>,
}

/// Schedule without its input.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = assignment_schedules)]
pub(crate) struct ScheduleEntryRow {
    id: DbUid,
    user_id: DbUid,
    skill_name: String,
    cron: String,
    time_zone: String,
    next_at: Option<DbInstant>,
    last_due_at: Option<DbInstant>,
    last_assignment_id: Option<DbUid>,
    last_skip: Option<String>,
    created_at: DbInstant,
}

impl NewScheduleRow {
    /// Creates the row of a schedule.
    pub(crate) fn new(
        user: UserId,
        schedule: &Schedule,
        seal: &PersonSeal,
    ) -> Result<Self, Unavailable> {
        let id = DbUid(schedule.id.0);
        Ok(Self {
            id,
            user_id: DbUid(user.0),
            skill_name: schedule.skill.clone(),
            cron: schedule.recurrence.cron().to_owned(),
            time_zone: schedule.recurrence.zone(),
            catch_up: schedule.catch_up.name(),
            next_at: schedule.next_at.map(DbInstant),
            created_at: DbInstant(schedule.created_at),
            updated_at: DbInstant(schedule.updated_at),
            input: SealedText::ScheduleInput.seal(seal, id, &schedule.input)?,
        })
    }
}

impl ScheduleRow {
    pub(crate) fn user(&self) -> UserId {
        UserId(self.user_id.0)
    }

    /// Opens the schedule. An input that cannot be opened is empty, so that its
    /// user can replace or delete it.
    pub(crate) fn open(self, seal: &PersonSeal) -> Result<Schedule, DbError> {
        let recurrence = self.recurrence()?;
        let catch_up = self.catch_up()?;
        let last = last_start(self.last_due_at, self.last_assignment_id, self.last_skip.as_deref());
        Ok(Schedule {
            id: ScheduleId(self.id.0),
            skill: self.skill_name,
            input: open_input(seal, self.id, self.input).unwrap_or_default(),
            recurrence,
            catch_up,
            next_at: self.next_at.map(|it| it.0),
            last,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        })
    }

    /// Opens the schedule as one that is due.
    pub(crate) fn open_due(self, seal: Option<&PersonSeal>) -> Result<DueSchedule, DbError> {
        let recurrence = self.recurrence()?;
        let catch_up = self.catch_up()?;
        let user = self.user();
        Ok(DueSchedule {
            id: ScheduleId(self.id.0),
            user,
            skill: self.skill_name,
            input: seal.and_then(|it| open_input(it, self.id, self.input)),
            recurrence,
            catch_up,
            due_at: self.next_at.ok_or(DbError::Unreadable("assignment_schedules.next_at"))?.0,
        })
    }

    fn recurrence(&self) -> Result<Recurrence, DbError> {
        Recurrence::parse(&self.cron, &self.time_zone)
            .map_err(|_refused| DbError::Unreadable("assignment_schedules.cron"))
    }

    fn catch_up(&self) -> Result<CatchUp, DbError> {
        CatchUp::from_name(&self.catch_up)
            .ok_or(DbError::Unreadable("assignment_schedules.catch_up"))
    }
}

impl From<ScheduleEntryRow> for ScheduleEntry {
    fn from(row: ScheduleEntryRow) -> Self {
        Self {
            id: ScheduleId(row.id.0),
            user: UserId(row.user_id.0),
            skill: row.skill_name,
            cron: row.cron,
            time_zone: row.time_zone,
            next_at: row.next_at.map(|it| it.0),
            last: last_start(row.last_due_at, row.last_assignment_id, row.last_skip.as_deref()),
            created_at: row.created_at.0,
        }
    }
}

/// Returns the last outcome. A reason that a newer version stored is unknown.
fn last_start(
    due_at: Option<DbInstant>,
    assignment: Option<DbUid>,
    skip: Option<&str>,
) -> Option<LastStart> {
    let due_at = due_at?.0;
    let skip = skip.and_then(SkipReason::from_code);
    let started_assignment = assignment.map(|it| AssignmentId(it.0));
    Some(LastStart {
        due_at,
        outcome: started_assignment.ok_or(skip.unwrap_or(SkipReason::Unreadable)),
    })
}

/// Opens the input of a schedule; `None` if it cannot be opened.
fn open_input(seal: &PersonSeal, id: DbUid, sealed: Vec<u8>) -> Option<String> {
    match SealedText::ScheduleInput.open(seal, id, Some(sealed)) {
        Ok(input) => input,
        Err(err) => {
            let error = &err as &dyn std::error::Error;
            tracing::error!(error, schedule = %id.0, "an input could not be decrypted");
            None
        }
    }
}
