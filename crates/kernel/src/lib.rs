//! The vocabulary every domain shares: ids, time, secrets, what goes with a
//! change, and the one error that any port may answer with.

mod clock;
mod effects;
mod error;
mod id;
mod live;
mod page;
mod secret;
mod timestamp;

pub use clock::{Clock, SystemClock};
pub use effects::{AuditEntry, Effects};
pub use error::Unavailable;
pub use id::{SessionId, SignInId, UserId};
pub use live::Live;
pub use page::{Page, Part, Place};
pub use secret::Secret;
pub use timestamp::Timestamp;
