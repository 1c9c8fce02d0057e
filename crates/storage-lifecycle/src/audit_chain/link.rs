//! Links of the chain: hashes over an entry and the entry before it.
//!
//! A link is the SHA-256 of a tag, the link before, the position, and the digest of the
//! entry's own columns. The form is fixed: a change would invalidate all stored links.

use diesel::prelude::*;
use pia_storage::schema::audit_entries;
use pia_storage::{DbInstant, DbUid};
use ring::digest::{Context, Digest, SHA256};

const ENTRY: &[u8] = b"pia-audit-entry-v1";
const LINK: &[u8] = b"pia-audit-link-v1";

/// Link before the first entry.
pub(super) const ORIGIN: [u8; 32] = [0; 32];

/// Columns of an entry that its link covers, and those that the sequencer added.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = audit_entries)]
pub(super) struct ChainRow {
    pub(super) id: DbUid,
    pub(super) at: DbInstant,
    action: String,
    object: Option<String>,
    request: Option<String>,
    changes: Option<String>,
    actor_commitment: Option<Vec<u8>>,
    subject_commitment: Option<Vec<u8>>,
    pub(super) position: Option<i64>,
    pub(super) link: Option<Vec<u8>>,
}

impl ChainRow {
    /// Returns the entry's link at a position, behind the link of the entry
    /// before it. The identities on the entry's sides are covered by the
    /// commitments, which stay when an account is erased.
    pub(super) fn link(&self, before: &[u8], position: i64) -> Vec<u8> {
        let mut hash = Context::new(&SHA256);
        hash.update(LINK);
        hash.update(before);
        hash.update(&position.to_be_bytes());
        hash.update(self.digest().as_ref());
        hash.finish().as_ref().to_vec()
    }

    fn digest(&self) -> Digest {
        let mut hash = Context::new(&SHA256);
        hash.update(ENTRY);
        hash.update(self.id.0.as_bytes());
        hash.update(&self.at.0.micros().to_be_bytes());
        for text in [Some(&self.action), self.object.as_ref(), self.request.as_ref()] {
            add(&mut hash, text.map(String::as_bytes));
        }
        add(&mut hash, self.changes.as_deref().map(str::as_bytes));
        add(&mut hash, self.actor_commitment.as_deref());
        add(&mut hash, self.subject_commitment.as_deref());
        hash.finish()
    }
}

/// Adds a column with its length, so that no two entries have the same bytes.
fn add(hash: &mut Context, column: Option<&[u8]>) {
    let Some(column) = column else { return hash.update(&[0]) };
    hash.update(&[1]);
    hash.update(&(column.len() as u64).to_be_bytes());
    hash.update(column);
}

#[cfg(test)]
pub(super) mod tests {
    use pia_kernel::Timestamp;
    use uuid::Uuid;

    use super::*;

    /// Creates an entry that is not chained yet.
    pub(in super::super) fn entry(id: u128) -> ChainRow {
        ChainRow {
            id: DbUid(Uuid::from_u128(id)),
            at: DbInstant(Timestamp::UNIX_EPOCH),
            action: "Group.Created".to_owned(),
            object: None,
            request: None,
            changes: None,
            actor_commitment: None,
            subject_commitment: None,
            position: None,
            link: None,
        }
    }

    /// Chains an entry at a position behind the one before.
    pub(in super::super) fn chain_row(row: ChainRow, before: &[u8], position: i64) -> ChainRow {
        let link = Some(row.link(before, position));
        ChainRow { position: Some(position), link, ..row }
    }

    #[test]
    fn a_link_covers_every_column_the_position_and_the_previous_link() {
        let row = || entry(1);
        let link = row().link(&ORIGIN, 1);
        let at = DbInstant(Timestamp::from_micros(1));

        let text = |text: &str| Some(text.to_owned());
        for other in [
            entry(2),
            ChainRow { at, ..row() },
            ChainRow { action: "Group.Renamed".to_owned(), ..row() },
            ChainRow { object: text(""), ..row() },
            ChainRow { request: text(""), ..row() },
            ChainRow { changes: text(""), ..row() },
            ChainRow { actor_commitment: Some(vec![]), ..row() },
            ChainRow { subject_commitment: Some(vec![]), ..row() },
        ] {
            assert_ne!(other.link(&ORIGIN, 1), link, "{other:?}");
        }
        assert_ne!(row().link(&ORIGIN, 2), link);
        assert_ne!(row().link(&[1; 32], 1), link);
        let row_with =
            |object, request| ChainRow { object: text(object), request: text(request), ..row() };
        assert_ne!(row_with("ab", "c").link(&ORIGIN, 1), row_with("a", "bc").link(&ORIGIN, 1));
    }
}
