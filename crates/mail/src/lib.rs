//! Sending mail: letters in two languages, and the relay that takes them.

mod settings;

mod templates;

mod smtp;

mod message;

pub use settings::{Host, InvalidAddress, InvalidHost, MailSettings, Security, SenderAddress};
pub use smtp::SmtpRelay;
pub use templates::EmailTemplates;
