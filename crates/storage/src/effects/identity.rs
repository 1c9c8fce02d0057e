//! Identities in the audit log: sealed beside the entry, which stores only a
//! commitment to them.
//!
//! The commitment is the SHA-256 of a random salt and the identity; both are sealed. An
//! erasure deletes the sealed row: the commitment stays, is covered by the chain, and
//! reveals nothing without the salt.

use std::net::IpAddr;

use pia_kernel::{AuditEntry, RequestContext, Secret, UserId, random_bytes};
use pia_sealing::{SealContext, ServerSeal};
use ring::digest;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::DbError;

/// Length of the salt of a commitment: without it, identities could be guessed.
const SALT_LEN: usize = 32;

/// Side of an audit entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditPart {
    /// Role of the person who acted.
    Actor,
    /// Role of the person affected.
    Subject,
}

impl AuditPart {
    /// Returns the name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Subject => "subject",
        }
    }
}

/// Identity on one side of an audit entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditIdentity {
    /// Account; `None` if the person has none or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// Network address of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// User agent of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Identity in its stored form.
pub(super) struct SealedIdentity {
    pub(super) sealed: Vec<u8>,
    pub(super) commitment: Vec<u8>,
}

impl AuditIdentity {
    /// Returns the known identities on each side of an entry.
    pub(super) fn from_entry(
        entry: &AuditEntry,
        origin: &RequestContext,
    ) -> Vec<(AuditPart, Self)> {
        let actor = Self {
            user: entry.actor,
            address: origin.address,
            agent: origin.agent.as_deref().map(str::to_owned),
        };
        let subject = Self { user: entry.subject, ..Self::default() };
        [(AuditPart::Actor, actor), (AuditPart::Subject, subject)]
            .into_iter()
            .filter(|(_, it)| *it != Self::default())
            .collect()
    }

    /// Opens the identity stored beside an entry; `None` if it cannot be opened,
    /// or does not match the entry's commitment.
    pub fn open(
        seal: &ServerSeal,
        entry: Uuid,
        part: AuditPart,
        sealed: &[u8],
        commitment: &[u8],
    ) -> Option<Self> {
        let plain = seal.open(seal_context(&entry, part), sealed).ok()?;
        if digest::digest(&digest::SHA256, plain.expose()).as_ref() != commitment {
            return None;
        }
        let json = plain.expose().get(SALT_LEN..)?;
        serde_json::from_slice(json).ok()
    }

    pub(super) fn seal(
        &self,
        seal: &ServerSeal,
        entry: Uuid,
        part: AuditPart,
    ) -> Result<SealedIdentity, DbError> {
        let mut plain = random_bytes::<SALT_LEN>()?.to_vec();
        plain.extend(serde_json::to_vec(self).map_err(|_err| DbError::Unreadable("an identity"))?);
        let commitment = digest::digest(&digest::SHA256, &plain).as_ref().to_vec();
        let sealed = seal.seal(seal_context(&entry, part), &Secret::new(plain))?;
        Ok(SealedIdentity { sealed, commitment })
    }
}

fn seal_context(entry: &Uuid, part: AuditPart) -> SealContext<'_> {
    let purpose = match part {
        AuditPart::Actor => "audit-actor",
        AuditPart::Subject => "audit-subject",
    };
    SealContext { purpose, row: entry.as_bytes() }
}
