//! Tables of the audit log.

use crate::export::{AUDIT_ENTRIES, AUDIT_IDENTITIES};
use crate::inventory::{BOOKKEEPING, ELSEWHERE, ErasurePolicy, InventoryTable, OWN_ID};

/// Tables of the audit log.
pub(crate) const AUDIT_TABLES: &[InventoryTable] = &[
    InventoryTable {
        name: "audit_entries",
        erasure: ErasurePolicy::Anonymise(
            "an entry keeps no more than salted commitments to who was on its sides",
        ),
        export: Some(AUDIT_ENTRIES),
        left_out: &[
            ("actor_commitment", BOOKKEEPING),
            ("subject_commitment", BOOKKEEPING),
            ("position", BOOKKEEPING),
            ("link", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "audit_checkpoints",
        erasure: ErasurePolicy::NotPersonal("signatures of the audit log"),
        export: None,
        left_out: &[
            ("position", BOOKKEEPING),
            ("link", BOOKKEEPING),
            ("at", BOOKKEEPING),
            ("public_key", BOOKKEEPING),
            ("signature", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "audit_identities",
        erasure: ErasurePolicy::Delete,
        export: Some(AUDIT_IDENTITIES),
        left_out: &[("entry_id", ELSEWHERE), ("user_id", OWN_ID)],
    },
];
