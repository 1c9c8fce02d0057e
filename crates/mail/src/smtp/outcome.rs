//! Meaning of a relay's replies for an email.
//!
//! The step decides first: a failure before the recipient's address concerns
//! every email (`Away`), a later one this email alone, for ever (`Refused`)
//! or for now (`TryLater`).

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use lettre::transport::smtp::Error;
use pia_outbox::RelayOutcome;

/// Maximum length of a relay's reply that is recorded.
const MAX_REPLY_CHARS: usize = 200;
const UNREACHABLE: &str = "the relay cannot be reached";
const NOT_LISTENING: &str = "the mail server refuses connections";

/// Step of the delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Connection, TLS, greeting and authentication.
    Entry,
    /// Sender's address.
    Sender,
    /// Recipient's address.
    Recipient,
    /// Content of the email.
    Content,
}

/// Reason why an email was not accepted, without anything that identifies a
/// person.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure(RelayOutcome);

impl Failure {
    pub(super) fn outcome(self) -> RelayOutcome {
        self.0
    }

    /// Returns the outcome of a step: the relay's reply, or the lack of one.
    pub(super) fn of_step(step: Step, err: &Error) -> Self {
        let is_unreachable = step == Step::Entry && has_no_connection(err);
        let meaning = if is_unreachable { UNREACHABLE } else { step.name() };
        let reason = if step == Step::Entry && is_connection_refused(err) {
            NOT_LISTENING.to_owned()
        } else {
            format!("{meaning}: {}", redacted_reply(err))
        };
        Self(match step {
            Step::Entry | Step::Sender => RelayOutcome::Away(reason),
            Step::Recipient | Step::Content if requires_authentication(err) => {
                RelayOutcome::Away(reason)
            }
            Step::Recipient | Step::Content if err.is_permanent() => RelayOutcome::Refused(reason),
            Step::Recipient | Step::Content => RelayOutcome::TryLater(reason),
        })
    }

    /// Returns the outcome if the relay did not reply in time.
    pub(super) fn timeout(limit: Duration) -> Self {
        Self(RelayOutcome::Away(format!(
            "the relay did not answer within {} ms",
            limit.as_millis()
        )))
    }

    /// Returns the outcome if no relay is configured.
    pub(super) fn not_configured() -> Self {
        Self(RelayOutcome::Away("no relay is set".to_owned()))
    }

    /// Returns the outcome of an email that no relay can deliver.
    pub(super) fn of_mail(err: &dyn StdError) -> Self {
        Self(RelayOutcome::Refused(err.to_string()))
    }

    /// Returns the outcome of an address whose characters the relay does not
    /// support.
    pub(super) fn unsupported_address() -> Self {
        Self(RelayOutcome::Refused("the relay takes only addresses of plain letters".to_owned()))
    }

    /// Returns the outcome if certificates cannot be loaded.
    pub(super) fn certificates(err: &dyn StdError) -> Self {
        Self(RelayOutcome::Away(format!("certificates cannot be read: {err}")))
    }
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Entry => "the relay does not let us in",
            Self::Sender => "the relay does not take mail from us",
            Self::Recipient => "the relay does not take mail to this address",
            Self::Content => "the relay does not take this mail",
        }
    }
}

/// Returns whether nothing listens at the relay's address.
fn is_connection_refused(err: &Error) -> bool {
    let source = err.source().and_then(|it| it.downcast_ref::<io::Error>());
    source.is_some_and(|it| it.kind() == io::ErrorKind::ConnectionRefused)
}

/// Returns whether there is no connection: the relay's name cannot be resolved, or
/// nothing listens there. A connection that is lost, or that TLS rejects, was one.
fn has_no_connection(err: &Error) -> bool {
    let source = err.source().and_then(|it| it.downcast_ref::<io::Error>());
    source.is_some_and(|it| {
        !matches!(
            it.kind(),
            io::ErrorKind::InvalidData
                | io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
        )
    })
}

/// Returns whether the relay only now reports that it requires a user name and
/// password.
fn requires_authentication(err: &Error) -> bool {
    let codes = ["530", "534", "535", "538"];
    err.status().is_some_and(|it| codes.contains(&&*it.to_string()))
}

/// Returns a relay's reply without possible addresses and links.
fn redacted_reply(err: &Error) -> String {
    let text = err.to_string();
    let is_redacted = |word: &str| word.contains(['@', '/', '=', '%', '<', '>']);
    let words: Vec<_> = text
        .split(|it: char| it.is_whitespace() || it.is_control())
        .filter(|it| !it.is_empty())
        .map(|it| if is_redacted(it) { "…" } else { it })
        .collect();
    words.join(" ").chars().take(MAX_REPLY_CHARS).collect()
}
