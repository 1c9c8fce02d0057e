//! The vocabulary every domain shares: ids, time, secrets, where a request
//! comes from, what goes with a change, and the one error that any port may
//! answer with.

mod audit_log;
mod clock;
mod domain;
mod effects;
mod error;
mod id;
mod language;
mod lifecycle;
mod live;
mod origin;
mod page;
mod reauthentication;
mod secret;
mod storage_use;
mod text;
mod timestamp;

pub use audit_log::{AuditLog, AuditPerson, AuditRecord, AuditSide};
pub use clock::{Clock, SystemClock};
pub use domain::ascii_domain;
pub use effects::{AuditEntry, Effects, Letter, Mail, Recipient};
pub use error::Unavailable;
pub use id::{
    ApiKeyId, AppPasswordId, GroupId, InvitationId, MailId, PasskeyId, SessionId, SignInId, UserId,
};
pub use language::Language;
pub use lifecycle::{
    Departure, Eraser, Erasure, ExportPage, Inventory, LeftOut, PersonalData, Unclaimed,
};
pub use live::Live;
pub use origin::{Origin, Scoped};
pub use page::{Page, Part, Place};
pub use reauthentication::Reauthentication;
pub use secret::Secret;
pub use storage_use::StorageUse;
pub use text::{characters, shortened};
pub use timestamp::Timestamp;
