//! Sending mail: letters in two languages, and the relay that takes them.

mod settings;

mod letters;

mod smtp;

mod message;

pub use letters::PlainLetters;
pub use settings::{Host, MailSettings, NoAddress, NoHost, Security, SenderAddress};
pub use smtp::SmtpRelay;
