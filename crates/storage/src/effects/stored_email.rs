//! Email as stored in the outbox.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pia_kernel::{Language, Mail, MailId, RequestContext, Secret, Timestamp};
use pia_sealing::{SealContext, ServerSeal, UnsealError};
use serde::{Deserialize, Serialize};

use crate::error::DbError;

/// Email as stored in the outbox, sealed: it may contain links that give access
/// to an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEmail {
    /// Recipient's address.
    pub to: String,
    /// Name of the template in `mail`.
    #[serde(rename = "letter")]
    pub template: String,
    /// Values to fill in.
    pub fields: BTreeMap<String, String>,
    /// Language of the text; the operator's default if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Time when it was written.
    pub at: Timestamp,
    /// Network address of the request that caused it; `None` without a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// User agent of that request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl StoredEmail {
    pub(super) fn new(to: String, Mail { at, email, .. }: &Mail, origin: &RequestContext) -> Self {
        let fields =
            email.fields.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).collect();
        Self {
            to,
            template: email.name.to_owned(),
            fields,
            language: origin.language,
            at: *at,
            address: origin.address,
            agent: origin.agent.as_deref().map(str::to_owned),
        }
    }

    pub(super) fn seal(&self, seal: &ServerSeal, id: MailId) -> Result<Vec<u8>, DbError> {
        let json = serde_json::to_vec(self).map_err(|_err| DbError::Unreadable("an email"))?;
        Ok(seal.seal(seal_context(&id), &Secret::new(json))?)
    }

    /// Opens the email stored under this id.
    pub fn open(seal: &ServerSeal, id: MailId, sealed: &[u8]) -> Result<Self, UnsealError> {
        let json = seal.open(seal_context(&id), sealed)?;
        serde_json::from_slice(json.expose()).map_err(|_err| UnsealError::Malformed)
    }
}

fn seal_context(id: &MailId) -> SealContext<'_> {
    SealContext { purpose: "mail", row: id.0.as_bytes() }
}
