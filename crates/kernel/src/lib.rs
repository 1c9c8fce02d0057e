//! Vocabulary that all domains share: ids, time, secrets, the context of a
//! request, the side effects of a change, and the one error that any port may
//! return.
//!
//! Begin with `side_effects.rs` and `error.rs`, which nearly every port's method
//! mentions, then `timestamp.rs` and `page.rs`. The ports that belong to no single
//! domain are here too: `lifecycle.rs` (export and erasure), `audit_log.rs` and
//! `maintenance.rs`, all three implemented by `storage-lifecycle`.

mod audit_changes;
mod audit_log;
mod audit_report;
mod budget;
mod clock;
mod domain;
mod error;
mod group_selection;
mod id;
mod language;
mod lifecycle;
mod live_setting;
mod maintenance;
mod named_variants;
mod page;
mod random;
mod reauthentication;
mod recent_cache;
mod request_context;
mod secret;
mod side_effects;
mod storage_use;
mod text;
mod timestamp;

pub use audit_changes::{AuditChanges, serialize_digest};
pub use audit_log::{AuditFilter, AuditLog, AuditPerson, AuditRecord, AuditSide};
pub use audit_report::{ChainFault, ChainReport};
pub use budget::{BudgetPeriod, CreditLimits};
pub use clock::{Clock, SystemClock};
pub use domain::ascii_domain;
pub use error::Unavailable;
pub use group_selection::GroupSelection;
pub use id::{
    ApiKeyId, AppPasswordId, AssignmentId, CertificateId, ClientPolicyId, ConnectorId, DocumentId,
    FeedbackId, GroupId, InvitationId, KnowledgeBaseId, MailId, OperatorId, PasskeyId, PersonaId,
    PluginId, QuestionId, ScheduleId, ScimTokenId, SessionId, SignInId, UserId, WebhookDeliveryId,
};
pub use language::Language;
pub use lifecycle::{
    AccountErasure, Eraser, ErasureOutcome, ExportPage, Inventory, LeftOut, PersonalData,
    UnverifiedAccounts,
};
pub use live_setting::LiveSetting;
pub use maintenance::{MaintenanceKind, MaintenanceLog, MaintenanceRun};
pub use page::{Cursor, Page, PageRequest, SortCursor, SortValue, TimeOrder};
pub use random::random_bytes;
pub use reauthentication::ReauthenticationOutcome;
pub use recent_cache::{CacheRead, RecentCache};
pub use request_context::{RequestContext, Scoped};
pub use secret::Secret;
pub use side_effects::{AuditEntry, EffectWriter, Mail, QueuedEmail, Recipient, SideEffects};
pub use storage_use::StorageUse;
pub use text::{truncate, utf16_len};
pub use timestamp::Timestamp;
