//! Checkpoints: the signed end of the chain at one time.
//!
//! The signature covers position, link and time. Since a link depends on all entries
//! before it, a signed link vouches for all of them.

use diesel::prelude::*;
use pia_kernel::Timestamp;
use pia_sealing::{ServerSignature, ServerSigner};
use pia_storage::DbInstant;
use pia_storage::schema::audit_checkpoints;
use serde::{Deserialize, Serialize};

const MESSAGE: &str = "pia-audit-checkpoint-v1";

/// Signed end of the chain at one time. A copy stored elsewhere proves that the
/// entries up to its position are those of that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditCheckpoint {
    /// Position of the last entry, from 1 on.
    pub position: i64,
    /// Link of that entry: SHA-256 in hexadecimal.
    pub link: String,
    /// Time of the newest entry.
    pub at: Timestamp,
    /// Ed25519 key in hexadecimal.
    pub public_key: String,
    /// Signature in hexadecimal.
    pub signature: String,
}

/// Checkpoint in the database.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = audit_checkpoints)]
pub(super) struct CheckpointRow {
    pub(super) position: i64,
    pub(super) link: Vec<u8>,
    pub(super) at: DbInstant,
    pub(super) public_key: Vec<u8>,
    signature: Vec<u8>,
}

impl CheckpointRow {
    /// Signs the end of the chain.
    pub(super) fn sign(signer: &ServerSigner, position: i64, link: Vec<u8>, at: Timestamp) -> Self {
        let ServerSignature { public_key, signature } = signer.sign(&message(position, &link, at));
        Self { position, link, at: DbInstant(at), public_key, signature }
    }

    /// Returns whether the signature is one of these values under the row's
    /// key.
    pub(super) fn is_signed(&self) -> bool {
        let public_key = self.public_key.clone();
        let signature = self.signature.clone();
        let message = message(self.position, &self.link, self.at.0);
        ServerSignature { public_key, signature }.matches(&message)
    }
}

fn message(position: i64, link: &[u8], at: Timestamp) -> Vec<u8> {
    format!("{MESSAGE}\n{position}\n{}\n{}\n", to_hex(link), at.micros()).into_bytes()
}

/// Formats bytes in hexadecimal.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|it| [it >> 4, it & 15])
        .filter_map(|it| char::from_digit(it.into(), 16))
        .collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|it| it.to_digit(16)).collect();
    let digits = digits.filter(|it| it.len() % 2 == 0)?;
    digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |byte, it| byte * 16 + it)).ok())
        .collect()
}

impl From<CheckpointRow> for AuditCheckpoint {
    fn from(row: CheckpointRow) -> Self {
        Self {
            position: row.position,
            link: to_hex(&row.link),
            at: row.at.0,
            public_key: to_hex(&row.public_key),
            signature: to_hex(&row.signature),
        }
    }
}

impl AuditCheckpoint {
    /// Formats the checkpoint as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// Parses a checkpoint that [`Self::to_json`] formatted.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Returns the checkpoint as a row; `None` if a member is no hexadecimal
    /// number.
    pub(super) fn row(&self) -> Option<CheckpointRow> {
        Some(CheckpointRow {
            position: self.position,
            link: from_hex(&self.link)?,
            at: DbInstant(self.at),
            public_key: from_hex(&self.public_key)?,
            signature: from_hex(&self.signature)?,
        })
    }
}
