//! Database rows of events.
//!
//! The row of the assignment counts them: a change increments `event_count`
//! first, which locks the row, and `append` numbers its events up to the new
//! count. Numbers of events that existed already stay unused.

use diesel::prelude::*;
use pia_assignments::{AssignmentEvent, MessageAuthor, NewEvent};
use pia_kernel::{Timestamp, Unavailable};
use pia_sealing::PersonSeal;
use pia_storage::schema::assignment_events;
use pia_storage::{DbError, DbInstant, DbUid, InsertAll, connection_trait, insert_all};
use uuid::Uuid;

use crate::contents::SealedText;

/// Row of an event. Its number is assigned when it is appended.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = assignment_events)]
pub(crate) struct EventRow {
    id: DbUid,
    assignment_id: DbUid,
    ordinal: i32,
    key: String,
    kind: String,
    message: Option<String>,
    sealed_message: Option<Vec<u8>>,
    detail: Option<String>,
    created_at: DbInstant,
}

insert_all!(EventRow => assignment_events);

impl EventRow {
    /// Creates the row of an event. Without a seal, a message of others than the
    /// server is left out.
    pub(crate) fn new(
        assignment: DbUid,
        event: NewEvent,
        at: Timestamp,
        seal: Option<&PersonSeal>,
    ) -> Result<Self, Unavailable> {
        let id = DbUid(Uuid::now_v7());
        let (message, sealed_message) = match (event.author, seal) {
            // PostgreSQL stores no NUL.
            (MessageAuthor::Server, _) => (Some(event.message.replace('\0', "")), None),
            (MessageAuthor::Other, Some(seal)) => {
                (None, Some(SealedText::EventMessage.seal(seal, id, &event.message)?))
            }
            (MessageAuthor::Other, None) => (None, None),
        };

        Ok(Self {
            id,
            assignment_id: assignment,
            ordinal: 0,
            key: event.key,
            kind: event.kind.name().to_owned(),
            message,
            sealed_message,
            detail: event.detail,
            created_at: DbInstant(at),
        })
    }

    /// Returns the event with its number.
    pub(crate) fn with_ordinal(&self, ordinal: i32) -> Self {
        Self { ordinal, ..self.clone() }
    }

    /// Opens the event.
    pub(crate) fn open(self, seal: &PersonSeal) -> Result<AssignmentEvent, Unavailable> {
        let message = match self.message {
            Some(message) => Some(message),
            None => SealedText::EventMessage.open(seal, self.id, self.sealed_message)?,
        };
        Ok(AssignmentEvent {
            id: self.id.0,
            kind: self.kind,
            message,
            detail: self.detail,
            created_at: self.created_at.0,
        })
    }
}

connection_trait! {
    /// Connection that can append events.
    pub(crate) trait AppendEvents {
        /// Appends events that do not exist yet. `last` is the number of the last
        /// one in the assignment's row, which was locked when it was counted.
        async fn append(&mut self, events: &[EventRow], last: i32) -> Result<(), DbError> {
            let first = last.saturating_sub(i32::try_from(events.len()).unwrap_or(i32::MAX));
            let rows = (1..)
                .zip(events)
                .map(|(number, event)| event.with_ordinal(first.saturating_add(number)))
                .collect();
            self.insert_all(rows).await?;
            Ok(())
        }
    }
}
