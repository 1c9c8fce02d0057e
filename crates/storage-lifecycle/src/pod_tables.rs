//! Tables of pods, which have no personal data.

use crate::inventory::{BOOKKEEPING, ErasurePolicy, InventoryTable};

/// Tables of pods.
pub(crate) const POD_TABLES: &[InventoryTable] = &[
    InventoryTable {
        name: "connectors",
        erasure: ErasurePolicy::NotPersonal("which pods may connect"),
        export: None,
        left_out: &[
            ("id", BOOKKEEPING),
            ("name", BOOKKEEPING),
            ("name_folded", BOOKKEEPING),
            ("operator_id", BOOKKEEPING),
            ("created_at", BOOKKEEPING),
            ("mcp_url", BOOKKEEPING),
            ("mcp_token", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "connector_groups",
        erasure: ErasurePolicy::NotPersonal("which groups may use a connector"),
        export: None,
        left_out: &[("connector_id", BOOKKEEPING), ("group_id", BOOKKEEPING)],
    },
    InventoryTable {
        name: "connector_tokens",
        erasure: ErasurePolicy::NotPersonal("with which tokens pods connect"),
        export: None,
        left_out: &[
            ("hash", BOOKKEEPING),
            ("connector_id", BOOKKEEPING),
            ("created_at", BOOKKEEPING),
            ("expires_at", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "connected_pods",
        erasure: ErasurePolicy::NotPersonal("which pods are connected, and what they offer"),
        export: None,
        left_out: &[
            ("id", BOOKKEEPING),
            ("connector_id", BOOKKEEPING),
            ("token_hash", BOOKKEEPING),
            ("host", BOOKKEEPING),
            ("connected_at", BOOKKEEPING),
            ("alive_until", BOOKKEEPING),
            ("calls", BOOKKEEPING),
            ("failures", BOOKKEEPING),
            ("milliseconds", BOOKKEEPING),
            ("description", BOOKKEEPING),
            ("is_draining", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "pod_calls",
        erasure: ErasurePolicy::NotPersonal("calls between instances, for as long as they take"),
        export: None,
        left_out: &[
            ("id", BOOKKEEPING),
            ("pod_id", BOOKKEEPING),
            ("expires_at", BOOKKEEPING),
            ("is_claimed", BOOKKEEPING),
            ("request", BOOKKEEPING),
            ("reply", BOOKKEEPING),
            ("progress", BOOKKEEPING),
        ],
    },
];
