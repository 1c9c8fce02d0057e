//! Side effects that are written together with a change.
//!
//! A use case builds them and passes them to a port's method, which writes them in
//! the transaction of the change (`storage/src/effects`):
//! `SideEffects::audit(now, user, "session.started").and_mail(…)`.

use async_trait::async_trait;
use serde::Serialize;

use crate::{AuditChanges, Timestamp, Unavailable, UserId};

/// Effects that are written in the transaction of the change they belong to.
///
/// They are plain data in a port's call, so independent domains leave no change
/// without its audit entry. The context of the request is added as they are
/// written: see [`RequestContext`](crate::RequestContext).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideEffects {
    /// Entries for the audit log.
    pub audit: Vec<AuditEntry>,
    /// Emails for the outbox, if email is configured.
    pub mail: Vec<Mail>,
}

impl SideEffects {
    /// Creates the audit entry of a user's action on their own account.
    pub fn audit(at: Timestamp, user: UserId, action: &'static str) -> Self {
        Self::from(AuditEntry { actor: Some(user), ..AuditEntry::new(at, action) })
    }

    /// Creates the audit entry of an action on a user by someone else, or by an
    /// unknown actor.
    pub fn about(at: Timestamp, user: UserId, action: &'static str) -> Self {
        Self::from(AuditEntry { subject: Some(user), ..AuditEntry::new(at, action) })
    }

    /// Creates the audit entry of an action of `actor` on an object that is not
    /// a user: `group:…`. `None` stands for the command line.
    pub fn of_object(
        at: Timestamp,
        actor: Option<UserId>,
        object: String,
        action: &'static str,
    ) -> Self {
        let object = Some(object);
        Self::from(AuditEntry { actor, object, ..AuditEntry::new(at, action) })
    }

    /// Returns these effects with the fields that a change affects.
    #[must_use]
    pub fn with_changes<T: Serialize>(&self, before: Option<&T>, after: Option<&T>) -> Self {
        let mut effects = self.clone();
        let changes = AuditChanges::between(before, after);
        for entry in &mut effects.audit {
            entry.changes.clone_from(&changes);
        }
        effects
    }

    /// Adds an email, which is queued with the change.
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

/// Writer of side effects that accompany no change of data.
#[async_trait]
pub trait EffectWriter: Send + Sync {
    /// Writes all side effects, or none.
    async fn write(&self, effects: &SideEffects) -> Result<(), Unavailable>;
}

/// Entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Time of the event.
    pub at: Timestamp,
    /// Acting account; `None` if unknown, or if it was the server itself.
    pub actor: Option<UserId>,
    /// Affected account, if not the actor.
    pub subject: Option<UserId>,
    /// Object of the action, unless it is a user: `group:…`. Never anything
    /// that identifies a person.
    pub object: Option<String>,
    /// Action name, as auditors search for it: `session.reuse_detected`.
    pub action: &'static str,
    /// Changed fields, without secrets and personal data.
    pub changes: Option<AuditChanges>,
}

impl AuditEntry {
    /// Creates an entry of an event without actor and subject.
    pub fn new(at: Timestamp, action: &'static str) -> Self {
        Self { at, actor: None, subject: None, object: None, action, changes: None }
    }
}

impl From<AuditEntry> for SideEffects {
    fn from(entry: AuditEntry) -> Self {
        Self { audit: vec![entry], mail: Vec::new() }
    }
}

/// Email to a recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Time when it was queued.
    pub at: Timestamp,
    /// Recipient of the email.
    pub to: Recipient,
    /// Content of the email.
    pub email: QueuedEmail,
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

/// Content of an email, independent of its language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedEmail {
    /// Name of the template: `password-reset`.
    pub name: &'static str,
    /// Values of the template's fields, by name.
    pub fields: Vec<(&'static str, String)>,
}

impl QueuedEmail {
    /// Creates an email without field values.
    pub fn new(name: &'static str) -> Self {
        Self { name, fields: Vec::new() }
    }

    /// Adds the value of a field.
    #[must_use]
    pub fn with(mut self, field: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((field, value.into()));
        self
    }

    /// Addresses the email to a user.
    pub fn to_user(self, at: Timestamp, user: UserId) -> Mail {
        Mail { at, to: Recipient::User(user), email: self }
    }

    /// Addresses the email to an address.
    pub fn to_address(self, at: Timestamp, address: impl Into<String>) -> Mail {
        Mail { at, to: Recipient::Address(address.into()), email: self }
    }
}
