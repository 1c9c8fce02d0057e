//! Tables of the catalogue and of groups.
//!
//! Most have no personal data. A few name an administrator in one column, which an
//! erasure clears.

use crate::inventory::{BOOKKEEPING, ErasurePolicy, InventoryTable, OWN_ID};

/// Tables of the catalogue and of groups.
pub(crate) const CATALOGUE_TABLES: &[InventoryTable] = &[
    USER_GROUPS,
    GROUP_SETTINGS,
    PLUGINS,
    SETTING_OVERRIDES,
    SCIM_TOKENS,
    GROUP_PLUGINS,
    PLUGIN_PACKAGES,
    PLUGIN_ICONS,
    TRUSTED_CERTIFICATES,
    MANAGED_PERSONAS,
    GROUP_PERSONAS,
    PERSONA_PLUGINS,
    CLIENT_POLICIES,
    CLIENT_POLICY_VERSIONS,
];

/// Returns a table of the catalogue.
const fn catalogue_table(
    name: &'static str,
    left_out: &'static [(&'static str, &'static str)],
) -> InventoryTable {
    InventoryTable {
        name,
        erasure: ErasurePolicy::NotPersonal("what the operator gives people"),
        export: None,
        left_out,
    }
}

const USER_GROUPS: InventoryTable = InventoryTable {
    name: "user_groups",
    erasure: ErasurePolicy::NotPersonal(
        "the groups of the server; which one is yours is told with the account",
    ),
    export: None,
    left_out: &[
        ("id", BOOKKEEPING),
        ("name", BOOKKEEPING),
        ("is_default", BOOKKEEPING),
        ("created_at", BOOKKEEPING),
        ("client_policy_id", BOOKKEEPING),
        ("name_folded", BOOKKEEPING),
        ("external_id", BOOKKEEPING),
    ],
};

const GROUP_SETTINGS: InventoryTable = catalogue_table(
    "group_settings",
    &[
        ("group_id", BOOKKEEPING),
        ("knowledge_bases", BOOKKEEPING),
        ("knowledge_documents", BOOKKEEPING),
        ("knowledge_storage_bytes", BOOKKEEPING),
        ("monthly_embedding_tokens", BOOKKEEPING),
        ("managed_personas", BOOKKEEPING),
        ("credits_hourly", BOOKKEEPING),
        ("credits_daily", BOOKKEEPING),
        ("credits_weekly", BOOKKEEPING),
        ("credits_group_daily", BOOKKEEPING),
        ("credits_group_weekly", BOOKKEEPING),
        ("credits_pool", BOOKKEEPING),
        ("mode_entries", BOOKKEEPING),
        ("persona_entries", BOOKKEEPING),
        ("models", BOOKKEEPING),
        ("user_storage_bytes", BOOKKEEPING),
    ],
);

const PLUGINS: InventoryTable = catalogue_table(
    "plugins",
    &[
        ("id", BOOKKEEPING),
        ("kind", BOOKKEEPING),
        ("name", BOOKKEEPING),
        ("description", BOOKKEEPING),
        ("icon_url", BOOKKEEPING),
        ("config_json", BOOKKEEPING),
        ("version", BOOKKEEPING),
        ("is_preloaded", BOOKKEEPING),
        ("is_active", BOOKKEEPING),
        ("cab_hash", BOOKKEEPING),
        ("cab_size", BOOKKEEPING),
        ("updated_at", BOOKKEEPING),
        ("deleted_at", BOOKKEEPING),
    ],
);

const GROUP_PLUGINS: InventoryTable =
    catalogue_table("group_plugins", &[("group_id", BOOKKEEPING), ("plugin_id", BOOKKEEPING)]);

const MANAGED_PERSONAS: InventoryTable = catalogue_table(
    "managed_personas",
    &[
        ("id", BOOKKEEPING),
        ("name", BOOKKEEPING),
        ("tagline", BOOKKEEPING),
        ("system_prompt", BOOKKEEPING),
        ("guardrails", BOOKKEEPING),
        ("output_format", BOOKKEEPING),
        ("expertise", BOOKKEEPING),
        ("archetype", BOOKKEEPING),
        ("model_type", BOOKKEEPING),
        ("emoji", BOOKKEEPING),
        ("accent_color", BOOKKEEPING),
        ("tool_scope", BOOKKEEPING),
        ("reasoning_effort", BOOKKEEPING),
        ("schema_version", BOOKKEEPING),
        ("is_active", BOOKKEEPING),
        ("created_at", BOOKKEEPING),
        ("updated_at", BOOKKEEPING),
        ("deleted_at", BOOKKEEPING),
    ],
);

const GROUP_PERSONAS: InventoryTable =
    catalogue_table("group_personas", &[("group_id", BOOKKEEPING), ("persona_id", BOOKKEEPING)]);

const PERSONA_PLUGINS: InventoryTable =
    catalogue_table("persona_plugins", &[("persona_id", BOOKKEEPING), ("plugin_id", BOOKKEEPING)]);

const CLIENT_POLICIES: InventoryTable = catalogue_table(
    "client_policies",
    &[
        ("id", BOOKKEEPING),
        ("name", BOOKKEEPING),
        ("description", BOOKKEEPING),
        ("document", BOOKKEEPING),
        ("updated_at", BOOKKEEPING),
        ("deleted_at", BOOKKEEPING),
        ("name_folded", BOOKKEEPING),
    ],
);

const CLIENT_POLICY_VERSIONS: InventoryTable = InventoryTable {
    name: "client_policy_versions",
    erasure: ErasurePolicy::Anonymise("versions of policies stay, without who wrote them"),
    export: None,
    left_out: &[
        ("policy_id", BOOKKEEPING),
        ("number", BOOKKEEPING),
        ("name", BOOKKEEPING),
        ("description", BOOKKEEPING),
        ("document", BOOKKEEPING),
        ("written_at", BOOKKEEPING),
        ("written_by", OWN_ID),
    ],
};

const SETTING_OVERRIDES: InventoryTable = InventoryTable {
    name: "setting_overrides",
    erasure: ErasurePolicy::Anonymise("changed settings stay, without who changed them"),
    export: None,
    left_out: &[
        ("key", BOOKKEEPING),
        ("value", BOOKKEEPING),
        ("updated_at", BOOKKEEPING),
        ("updated_by", OWN_ID),
        ("sealed", BOOKKEEPING),
    ],
};

const SCIM_TOKENS: InventoryTable = InventoryTable {
    name: "scim_tokens",
    erasure: ErasurePolicy::Anonymise("tokens of the server stay, without who created them"),
    export: None,
    left_out: &[
        ("id", BOOKKEEPING),
        ("name", BOOKKEEPING),
        ("hash", BOOKKEEPING),
        ("scopes", BOOKKEEPING),
        ("created_by", OWN_ID),
        ("created_at", BOOKKEEPING),
        ("expires_at", BOOKKEEPING),
        ("used_at", BOOKKEEPING),
    ],
};

const PLUGIN_PACKAGES: InventoryTable = catalogue_table(
    "plugin_packages",
    &[
        ("plugin_id", BOOKKEEPING),
        ("hash", BOOKKEEPING),
        ("first_byte", BOOKKEEPING),
        ("bytes", BOOKKEEPING),
    ],
);

const PLUGIN_ICONS: InventoryTable =
    catalogue_table("plugin_icons", &[("plugin_id", BOOKKEEPING), ("png", BOOKKEEPING)]);

const TRUSTED_CERTIFICATES: InventoryTable = catalogue_table(
    "trusted_certificates",
    &[
        ("id", BOOKKEEPING),
        ("name", BOOKKEEPING),
        ("thumbprint", BOOKKEEPING),
        ("der", BOOKKEEPING),
        ("updated_at", BOOKKEEPING),
    ],
);
