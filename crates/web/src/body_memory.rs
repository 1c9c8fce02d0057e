//! How much memory the bodies of all requests together may take.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ApiError;

const UNIT: usize = 1024;
/// What each request may hold without being counted: more than an ordinary
/// body, and little against what a connection costs anyway.
const FREE: usize = 16 * UNIT;

/// Room for the bodies of all requests.
#[derive(Clone)]
pub struct BodyMemory {
    room: Arc<Semaphore>,
}

/// The room that one body takes; given back when dropped.
pub(crate) struct Held {
    memory: BodyMemory,
    permit: Option<OwnedSemaphorePermit>,
    bytes: usize,
}

impl BodyMemory {
    /// Room for so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { room: Arc::new(Semaphore::new((bytes / UNIT).min(Semaphore::MAX_PERMITS))) }
    }

    pub(crate) fn hold(&self) -> Held {
        Held { memory: self.clone(), permit: None, bytes: FREE }
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
        let permit = Arc::clone(&self.memory.room).try_acquire_many_owned(wanted);
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
    use super::*;

    #[test]
    fn bodies_share_one_room_and_give_it_back() {
        let memory = BodyMemory::new(100 * UNIT);
        let (mut first, mut second) = (memory.hold(), memory.hold());
        first.grow_to(FREE + 80 * UNIT).unwrap();

        assert!(second.grow_to(FREE + 30 * UNIT).is_err());
        drop(first);
        assert!(second.grow_to(FREE + 30 * UNIT).is_ok());
    }

    #[test]
    fn small_bodies_take_no_room() {
        let memory = BodyMemory::new(0);

        assert!(memory.hold().grow_to(FREE).is_ok());
    }
}
