//! Report on the integrity of the audit log.
//!
//! Entries are numbered and linked by hashes, and signed checkpoints fix the links
//! up to a position. A `ChainFault` names a property that does not hold.
//! `verify` of `AuditLog` builds the report; the console and
//! `pia-server admin audit verify` present it.

use std::fmt;

use uuid::Uuid;

use crate::Timestamp;

/// Result of verifying the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// Number of entries that were verified.
    pub entries: u64,
    /// Number of entries that are not chained yet.
    pub waiting: u64,
    /// Position and time of the end of what retention deleted; `None` if the
    /// chain is complete from its beginning.
    pub deleted_until: Option<(i64, Timestamp)>,
    /// Position of the last entry; 0 if there is none.
    pub last: i64,
    /// Deviations from what was written, in order of their positions.
    pub faults: Vec<ChainFault>,
}

/// Deviation of the audit log from what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainFault {
    /// Entries between others are missing.
    Missing {
        /// Position of the first.
        first: i64,
        /// Position of the last.
        last: i64,
    },
    /// Entry was changed, or moved to another position.
    Changed {
        /// Position of the entry.
        position: i64,
        /// Id of the entry.
        id: Uuid,
    },
    /// Entries up to this one were rewritten: their links agree with one
    /// another, but not with the signed checkpoint.
    Rewritten {
        /// Position of the checkpoint.
        position: i64,
    },
    /// Checkpoint is not signed by its key.
    Forged {
        /// Position of the checkpoint.
        position: i64,
    },
    /// Checkpoint is signed by a key that is not derived from the master key
    /// or the one before it.
    OtherKey {
        /// Position of the checkpoint.
        position: i64,
        /// Public key in hexadecimal.
        public_key: String,
    },
    /// Entries were deleted before their retention ended.
    DeletedEarly {
        /// Position of the last of them.
        position: i64,
        /// Time of the newest of them.
        at: Timestamp,
    },
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { first, last } if first == last => {
                write!(f, "entry {first} is missing")
            }
            Self::Missing { first, last } => write!(f, "entries {first} to {last} are missing"),
            Self::Changed { position, id } => {
                write!(f, "entry {position} ({id}) was changed or moved")
            }
            Self::Rewritten { position } => {
                write!(f, "entries were rewritten: entry {position} differs from its checkpoint")
            }
            Self::Forged { position } => {
                write!(f, "the checkpoint of entry {position} has an invalid signature")
            }
            Self::OtherKey { position, public_key } => {
                write!(
                    f,
                    "the checkpoint of entry {position} is signed by another key, {public_key}"
                )
            }
            Self::DeletedEarly { position, at } => {
                write!(f, "entries up to {position} ({at}) were deleted before Audit:RetentionDays")
            }
        }
    }
}
