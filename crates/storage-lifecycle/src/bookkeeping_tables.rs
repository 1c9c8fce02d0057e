//! Tables of the server itself in the inventory.

use crate::inventory::{BOOKKEEPING, ErasurePolicy, InventoryTable};

/// Tables with which the server coordinates its instances and its keys.
pub(crate) const BOOKKEEPING_TABLES: &[InventoryTable] = &[
    InventoryTable {
        name: "catalogue",
        erasure: ErasurePolicy::NotPersonal("how often the operator changed what people are given"),
        export: None,
        left_out: &[("id", BOOKKEEPING), ("version", BOOKKEEPING)],
    },
    InventoryTable {
        name: "silences",
        erasure: ErasurePolicy::NotPersonal("when nobody was given anything"),
        export: None,
        left_out: &[("began_at", BOOKKEEPING), ("ended_at", BOOKKEEPING)],
    },
    InventoryTable {
        name: "locks",
        erasure: ErasurePolicy::NotPersonal("who is served first"),
        export: None,
        left_out: &[("name", BOOKKEEPING), ("turn", BOOKKEEPING)],
    },
    InventoryTable {
        name: "maintenance_runs",
        erasure: ErasurePolicy::NotPersonal("when the server last deleted what had expired"),
        export: None,
        left_out: &[
            ("name", BOOKKEEPING),
            ("last_started_at", BOOKKEEPING),
            ("last_finished_at", BOOKKEEPING),
            ("last_error", BOOKKEEPING),
            ("instance", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "master_key",
        erasure: ErasurePolicy::NotPersonal("which key the server seals with"),
        export: None,
        left_out: &[("id", BOOKKEEPING), ("key_id", BOOKKEEPING)],
    },
];
