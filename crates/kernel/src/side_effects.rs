//! Side effects that must happen together with a change, whichever domain makes
//! it.

use serde::Serialize;

use crate::{AuditChanges, Timestamp, UserId};

/// Things written in the transaction of the change they belong to.
///
/// They are plain data in a port's call, so domains that know nothing of one
/// another still leave no change without its audit entry. Where the request
/// came from is added as they are written: see [`RequestContext`](crate::RequestContext).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideEffects {
    /// Entries for the audit log.
    pub audit: Vec<AuditEntry>,
    /// Emails for the outbox, where email is set up.
    pub mail: Vec<Mail>,
}

impl SideEffects {
    /// Audit entry of a user's action on their own account.
    pub fn audit(at: Timestamp, user: UserId, action: &'static str) -> Self {
        Self::from(AuditEntry { actor: Some(user), ..AuditEntry::new(at, action) })
    }

    /// Audit entry of something that happened to a user by someone else, or by an unknown person.
    pub fn about(at: Timestamp, user: UserId, action: &'static str) -> Self {
        Self::from(AuditEntry { subject: Some(user), ..AuditEntry::new(at, action) })
    }

    /// Audit entry of something that `actor` did to an object that is no
    /// person: `group:…`. None stands for the command line.
    pub fn of_object(
        at: Timestamp,
        actor: Option<UserId>,
        object: String,
        action: &'static str,
    ) -> Self {
        let object = Some(object);
        Self::from(AuditEntry { actor, object, ..AuditEntry::new(at, action) })
    }

    /// Returns these effects with the members that a change changed.
    #[must_use]
    pub fn with_changes<T: Serialize>(&self, before: Option<&T>, after: Option<&T>) -> Self {
        let (mut effects, changes) = (self.clone(), AuditChanges::between(before, after));
        for entry in &mut effects.audit {
            entry.changes.clone_from(&changes);
        }
        effects
    }

    /// Adds an email.
    #[must_use]
    pub fn and_mail(mut self, mail: Mail) -> Self {
        self.mail.push(mail);
        self
    }

    /// Adds the side effects of another change that is made with it.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.audit.extend(other.audit);
        self.mail.extend(other.mail);
        self
    }
}

/// Line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Time of the event.
    pub at: Timestamp,
    /// Acting account; nothing if that is not known, or was the server itself.
    pub actor: Option<UserId>,
    /// Whom it happened to, if that is somebody else.
    pub subject: Option<UserId>,
    /// Object of the action, if that is no person: `group:…`. Never something
    /// by which a person is recognised.
    pub object: Option<String>,
    /// Action name, as auditors search for it: `session.reuse_detected`.
    pub action: &'static str,
    /// Changed members, without secrets and without what identifies a person.
    pub changes: Option<AuditChanges>,
}

impl AuditEntry {
    /// Creates an entry of an event without anybody on its sides.
    pub fn new(at: Timestamp, action: &'static str) -> Self {
        Self { at, actor: None, subject: None, object: None, action, changes: None }
    }
}

impl From<AuditEntry> for SideEffects {
    fn from(entry: AuditEntry) -> Self {
        Self { audit: vec![entry], mail: Vec::new() }
    }
}

/// A letter to somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Time at which it is written.
    pub at: Timestamp,
    /// Recipient of the email.
    pub to: Recipient,
    /// Content of the email.
    pub letter: QueuedEmail,
}

/// Recipient of an email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// User, at the address they have when it is rendered. The email is deleted with their
    /// account.
    User(UserId),
    /// Address that need not be a user's.
    Address(String),
}

/// Content of an email, in whichever language it is then rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedEmail {
    /// Name of the template: `password-reset`.
    pub name: &'static str,
    /// Values to fill in, by name.
    pub fields: Vec<(&'static str, String)>,
}

impl QueuedEmail {
    /// A letter with nothing to fill in yet.
    pub fn new(name: &'static str) -> Self {
        Self { name, fields: Vec::new() }
    }

    /// Adds a value to fill in.
    #[must_use]
    pub fn with(mut self, field: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((field, value.into()));
        self
    }

    /// Addresses the email to a user.
    pub fn to_user(self, at: Timestamp, user: UserId) -> Mail {
        Mail { at, to: Recipient::User(user), letter: self }
    }

    /// Addresses the email to an address.
    pub fn to_address(self, at: Timestamp, address: impl Into<String>) -> Mail {
        Mail { at, to: Recipient::Address(address.into()), letter: self }
    }
}
