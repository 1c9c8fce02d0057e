//! Tables of pods, which have no personal data.

use crate::inventory::{ErasurePolicy, InventoryTable, OURS};

/// Tables of pods.
pub(crate) const POD_TABLES: &[InventoryTable] = &[
    InventoryTable {
        name: "connectors",
        erasure: ErasurePolicy::NotPersonal("which pods may connect"),
        export: None,
        left_out: &[
            ("id", OURS),
            ("name", OURS),
            ("name_folded", OURS),
            ("operator_id", OURS),
            ("created_at", OURS),
            ("mcp_url", OURS),
            ("mcp_token", OURS),
        ],
    },
    InventoryTable {
        name: "connector_groups",
        erasure: ErasurePolicy::NotPersonal("which groups may use a connector"),
        export: None,
        left_out: &[("connector_id", OURS), ("group_id", OURS)],
    },
    InventoryTable {
        name: "connector_tokens",
        erasure: ErasurePolicy::NotPersonal("with which tokens pods connect"),
        export: None,
        left_out: &[
            ("hash", OURS),
            ("connector_id", OURS),
            ("created_at", OURS),
            ("expires_at", OURS),
        ],
    },
    InventoryTable {
        name: "connected_pods",
        erasure: ErasurePolicy::NotPersonal("which pods are connected, and what they offer"),
        export: None,
        left_out: &[
            ("id", OURS),
            ("connector_id", OURS),
            ("token_hash", OURS),
            ("host", OURS),
            ("connected_at", OURS),
            ("alive_until", OURS),
            ("calls", OURS),
            ("failures", OURS),
            ("milliseconds", OURS),
            ("description", OURS),
            ("is_draining", OURS),
        ],
    },
    InventoryTable {
        name: "pod_calls",
        erasure: ErasurePolicy::NotPersonal("calls between instances, for as long as they take"),
        export: None,
        left_out: &[
            ("id", OURS),
            ("pod_id", OURS),
            ("expires_at", OURS),
            ("is_claimed", OURS),
            ("request", OURS),
            ("reply", OURS),
        ],
    },
];
