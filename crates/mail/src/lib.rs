//! Emails: templates in two languages, and delivery to a relay by SMTP.

mod settings;

mod templates;

mod smtp;

mod message;

pub use settings::{Host, InvalidAddress, InvalidHost, MailSettings, Security, SenderAddress};
pub use smtp::SmtpRelay;
pub use templates::EmailTemplates;
