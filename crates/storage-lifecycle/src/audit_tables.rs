//! Tables of the audit log.

use crate::export::{AUDIT_ENTRIES, AUDIT_IDENTITIES};
use crate::inventory::{ErasurePolicy, InventoryTable, OURS, SAME, YOU};

/// Tables of the audit log.
pub(crate) const AUDIT_TABLES: &[InventoryTable] = &[
    InventoryTable {
        name: "audit_entries",
        erasure: ErasurePolicy::Anonymise(
            "an entry keeps no more than salted commitments to who was on its sides",
        ),
        export: Some(AUDIT_ENTRIES),
        left_out: &[
            ("actor_commitment", OURS),
            ("subject_commitment", OURS),
            ("position", OURS),
            ("link", OURS),
        ],
    },
    InventoryTable {
        name: "audit_checkpoints",
        erasure: ErasurePolicy::NotPersonal("signatures of the audit log"),
        export: None,
        left_out: &[
            ("position", OURS),
            ("link", OURS),
            ("at", OURS),
            ("public_key", OURS),
            ("signature", OURS),
        ],
    },
    InventoryTable {
        name: "audit_identities",
        erasure: ErasurePolicy::Delete,
        export: Some(AUDIT_IDENTITIES),
        left_out: &[("entry_id", SAME), ("user_id", YOU)],
    },
];
