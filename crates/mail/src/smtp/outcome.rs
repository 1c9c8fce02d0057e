//! Meaning of a relay's replies for an email.

use std::error::Error as StdError;
use std::time::Duration;

use lettre::transport::smtp::Error;
use pia_outbox::RelayOutcome;

/// The most that is stored of what a relay said.
const MAX_REPLY_CHARS: usize = 200;

/// Step of the delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Connecting, TLS, and who we are.
    Entry,
    /// From whom the mail is.
    Sender,
    /// Recipient was rejected.
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
        let why = format!("{}: {}", step.name(), redacted_reply(err));
        Self(match step {
            Step::Entry | Step::Sender => RelayOutcome::Away(why),
            Step::Recipient | Step::Content if requires_authentication(err) => {
                RelayOutcome::Away(why)
            }
            Step::Recipient | Step::Content if err.is_permanent() => RelayOutcome::Refused(why),
            Step::Recipient | Step::Content => RelayOutcome::TryLater(why),
        })
    }

    /// Outcome of a relay that did not answer in time.
    pub(super) fn timeout(limit: Duration) -> Self {
        Self(RelayOutcome::Away(format!(
            "the relay did not answer within {} ms",
            limit.as_millis()
        )))
    }

    /// Outcome without mail settings.
    pub(super) fn not_configured() -> Self {
        Self(RelayOutcome::Away("no relay is set".to_owned()))
    }

    /// The mail cannot go to any relay.
    pub(super) fn of_mail(err: &dyn StdError) -> Self {
        Self(RelayOutcome::Refused(err.to_string()))
    }

    /// The mail's address has letters that the relay does not know.
    pub(super) fn unsupported_address() -> Self {
        Self(RelayOutcome::Refused("the relay takes only addresses of plain letters".to_owned()))
    }

    /// Outcome without root certificates.
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

/// Returns whether the relay only now reports that it requires a user name and
/// password.
fn requires_authentication(err: &Error) -> bool {
    let codes = ["530", "534", "535", "538"];
    err.status().is_some_and(|it| codes.contains(&&*it.to_string()))
}

/// Returns a relay's reply without possible addresses and links.
fn redacted_reply(err: &Error) -> String {
    let text = err.to_string();
    let names = |word: &str| word.contains(['@', '/', '=', '%', '<', '>']);
    let words = text.split(|it: char| it.is_whitespace() || it.is_control());
    let words = words.filter(|it| !it.is_empty());
    let words: Vec<_> = words.map(|it| if names(it) { "…" } else { it }).collect();
    words.join(" ").chars().take(MAX_REPLY_CHARS).collect()
}
