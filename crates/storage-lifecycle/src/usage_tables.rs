//! Tables of usage and its sums: their numbers stay, under a pseudonym.

use crate::inventory::{BOOKKEEPING, ErasurePolicy, InventoryTable, OWN_ID, SUMS};
use crate::sections::AI_USAGE;

const PRICES: &str = "what the operator charges everybody";
const PSEUDONYM: ErasurePolicy = ErasurePolicy::Anonymise(
    "what was used stays in the operator's sums, under a pseudonym that nobody knows",
);

pub(crate) const USAGE_TABLES: &[InventoryTable] = &[
    InventoryTable {
        name: "ai_usage",
        erasure: PSEUDONYM,
        export: Some(AI_USAGE),
        left_out: &[
            ("user_id", OWN_ID),
            ("input_rate", PRICES),
            ("output_rate", PRICES),
            ("cached_input_rate", PRICES),
            ("connector_rate", PRICES),
        ],
    },
    InventoryTable {
        name: "usage_by_user",
        erasure: PSEUDONYM,
        export: None,
        left_out: &[
            ("week", SUMS),
            ("user_id", OWN_ID),
            ("calls", SUMS),
            ("spent", SUMS),
            ("calls_0", SUMS),
            ("spent_0", SUMS),
            ("calls_1", SUMS),
            ("spent_1", SUMS),
            ("calls_2", SUMS),
            ("spent_2", SUMS),
            ("calls_3", SUMS),
            ("spent_3", SUMS),
            ("calls_4", SUMS),
            ("spent_4", SUMS),
            ("calls_5", SUMS),
            ("spent_5", SUMS),
            ("calls_6", SUMS),
            ("spent_6", SUMS),
        ],
    },
    InventoryTable {
        name: "usage_users",
        erasure: PSEUDONYM,
        export: None,
        left_out: &[("user_id", OWN_ID), ("last_day", SUMS)],
    },
    InventoryTable {
        name: "usage_by_hour",
        erasure: PSEUDONYM,
        export: None,
        left_out: &[
            ("hour", SUMS),
            ("user_id", OWN_ID),
            ("calls", SUMS),
            ("failed", SUMS),
            ("spent_micros", SUMS),
            ("duration_millis", SUMS),
        ],
    },
    InventoryTable {
        name: "usage_days",
        erasure: ErasurePolicy::NotPersonal("how many people used models, day by day"),
        export: None,
        left_out: &[("day", BOOKKEEPING), ("users", BOOKKEEPING)],
    },
    InventoryTable {
        name: "usage_by_group",
        erasure: ErasurePolicy::NotPersonal("how much groups used of which model, day by day"),
        export: None,
        left_out: &[
            ("day", BOOKKEEPING),
            ("group_id", BOOKKEEPING),
            ("provider", BOOKKEEPING),
            ("model", BOOKKEEPING),
            ("calls", BOOKKEEPING),
            ("failed", BOOKKEEPING),
            ("input_tokens", BOOKKEEPING),
            ("cached_input_tokens", BOOKKEEPING),
            ("output_tokens", BOOKKEEPING),
            ("spent_micros", BOOKKEEPING),
            ("timed_calls", BOOKKEEPING),
            ("duration_millis", BOOKKEEPING),
        ],
    },
];
