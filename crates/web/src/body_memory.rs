//! How much memory the bodies of all requests together may take.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ApiError;

const UNIT: usize = 1024;
/// What each request may hold without being counted: more than an ordinary
/// body, and little against what a connection costs anyway.
const FREE: usize = 16 * UNIT;

/// What callers who are not signed in may have of the room together: who has
/// no account must not be able to take it from those who have.
const OF_STRANGERS: usize = 8;

/// Room for the bodies of all requests.
#[derive(Clone)]
pub struct BodyMemory {
    room: Arc<Semaphore>,
    of_strangers: Arc<Semaphore>,
}

/// Whose body it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    SignedIn,
    Stranger,
}

/// The room that one body takes; given back when dropped.
pub(crate) struct Held {
    room: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
    bytes: usize,
}

impl BodyMemory {
    /// Room for so many bytes.
    pub fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).min(Semaphore::MAX_PERMITS);
        let of_strangers = units / OF_STRANGERS;
        Self {
            room: Arc::new(Semaphore::new(units - of_strangers)),
            of_strangers: Arc::new(Semaphore::new(of_strangers)),
        }
    }

    pub(crate) fn hold(&self, sender: Sender) -> Held {
        let room = match sender {
            Sender::SignedIn => &self.room,
            Sender::Stranger => &self.of_strangers,
        };
        Held { room: Arc::clone(room), permit: None, bytes: FREE }
    }
}

impl Held {
    /// Whether any room was taken.
    pub(crate) fn is_counted(&self) -> bool {
        self.permit.is_some()
    }

    /// Takes room until `bytes` fit.
    ///
    /// Room is taken as bytes arrive and not as they are announced: else a
    /// few who announce much and send nothing would keep all others out. Who
    /// finds none is refused at once, since waiting would hold what is there.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let more = (bytes - self.bytes).div_ceil(UNIT);
        let wanted = u32::try_from(more).map_err(|err| ApiError::internal(err.to_string()))?;
        let permit = Arc::clone(&self.room).try_acquire_many_owned(wanted);
        let permit =
            permit.map_err(|_none_left| ApiError::overloaded("no memory is left for bodies"))?;
        match &mut self.permit {
            Some(held) => held.merge(permit),
            None => self.permit = Some(permit),
        }
        self.bytes += more * UNIT;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Sender::{SignedIn, Stranger};
    use super::*;

    #[test]
    fn bodies_share_one_room_and_give_it_back() {
        let memory = BodyMemory::new(160 * UNIT);
        let (mut first, mut second) = (memory.hold(SignedIn), memory.hold(SignedIn));
        first.grow_to(FREE + 120 * UNIT).unwrap();

        assert!(second.grow_to(FREE + 30 * UNIT).is_err());
        drop(first);
        assert!(second.grow_to(FREE + 30 * UNIT).is_ok());
    }

    #[test]
    fn strangers_cannot_take_the_room_of_those_who_are_signed_in() {
        let memory = BodyMemory::new(160 * UNIT);
        let mut stranger = memory.hold(Stranger);
        stranger.grow_to(FREE + 20 * UNIT).unwrap();

        assert!(stranger.grow_to(FREE + 21 * UNIT).is_err());
        assert!(memory.hold(SignedIn).grow_to(FREE + 140 * UNIT).is_ok());
    }

    #[test]
    fn small_bodies_take_no_room() {
        let memory = BodyMemory::new(0);

        assert!(memory.hold(Stranger).grow_to(FREE).is_ok());
    }
}
