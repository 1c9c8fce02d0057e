//! Time, address and program of an event.

use std::net::IpAddr;

use pia_outbox::OutgoingEmail;

use super::kind::Email;
use super::program::program;

/// Facts of the event that an email is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// Time to the minute, in UTC.
    pub(super) at: String,
    pub(super) address: Option<IpAddr>,
    pub(super) program: Option<String>,
}

impl Facts {
    pub(super) fn from_email(email: &OutgoingEmail, kind: &Email) -> Option<Self> {
        let exact_time = email.at.to_string();
        let minute = exact_time.get(..16).unwrap_or(&exact_time).replace('T', " ");
        let at = format!("{minute} UTC");
        let program = email.agent.as_deref().and_then(program);
        match kind {
            // The recipient need not know where the sender is.
            Email::Invitation(_) | Email::AnswerReported(_) => None,
            Email::AccountDeactivated => Some(Self { at, address: None, program: None }),
            _ => Some(Self { at, address: email.address, program }),
        }
    }

    /// Returns the facts that are known, each with its label.
    pub(super) fn labelled(
        &self,
        time_label: &'static str,
        address_label: &'static str,
        program_label: &'static str,
    ) -> Vec<(&'static str, String)> {
        let facts = [
            (time_label, Some(self.at.clone())),
            (address_label, self.address.map(|it| it.to_string())),
            (program_label, self.program.clone()),
        ];
        facts.into_iter().filter_map(|(label, fact)| Some((label, fact?))).collect()
    }
}
