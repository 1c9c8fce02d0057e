//! Emails: templates in two languages, and delivery to a relay by SMTP.
//!
//! The crate implements two ports of `outbox`: `EmailTemplates` renders an
//! email (`templates.rs`), `SmtpRelay` delivers it (`smtp.rs`), as the
//! message that `message.rs` builds. A new email needs a variant in
//! `templates/kind.rs` and its texts in `english.rs` and `german.rs`.

mod settings;

mod templates;

mod smtp;

mod message;

pub use settings::{Host, InvalidAddress, InvalidHost, MailSettings, Security, SenderAddress};
pub use smtp::SmtpRelay;
pub use templates::EmailTemplates;
