//! Tables of the catalogue and of groups.

use crate::inventory::{ErasurePolicy, InventoryTable, OURS, YOU};

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
        ("id", OURS),
        ("name", OURS),
        ("is_default", OURS),
        ("created_at", OURS),
        ("client_policy_id", OURS),
        ("name_folded", OURS),
        ("external_id", OURS),
    ],
};

const GROUP_SETTINGS: InventoryTable = catalogue_table(
    "group_settings",
    &[
        ("group_id", OURS),
        ("knowledge_bases", OURS),
        ("knowledge_documents", OURS),
        ("knowledge_storage_bytes", OURS),
        ("monthly_embedding_tokens", OURS),
        ("managed_personas", OURS),
        ("credits_hourly", OURS),
        ("credits_daily", OURS),
        ("credits_weekly", OURS),
        ("credits_group_daily", OURS),
        ("credits_group_weekly", OURS),
        ("credits_pool", OURS),
        ("mode_entries", OURS),
        ("persona_entries", OURS),
        ("models", OURS),
        ("user_storage_bytes", OURS),
    ],
);

const PLUGINS: InventoryTable = catalogue_table(
    "plugins",
    &[
        ("id", OURS),
        ("kind", OURS),
        ("name", OURS),
        ("description", OURS),
        ("icon_url", OURS),
        ("config_json", OURS),
        ("version", OURS),
        ("is_preloaded", OURS),
        ("is_active", OURS),
        ("cab_hash", OURS),
        ("cab_size", OURS),
        ("updated_at", OURS),
        ("deleted_at", OURS),
    ],
);

const GROUP_PLUGINS: InventoryTable =
    catalogue_table("group_plugins", &[("group_id", OURS), ("plugin_id", OURS)]);

const MANAGED_PERSONAS: InventoryTable = catalogue_table(
    "managed_personas",
    &[
        ("id", OURS),
        ("name", OURS),
        ("tagline", OURS),
        ("system_prompt", OURS),
        ("guardrails", OURS),
        ("output_format", OURS),
        ("expertise", OURS),
        ("archetype", OURS),
        ("model_type", OURS),
        ("emoji", OURS),
        ("accent_color", OURS),
        ("tool_scope", OURS),
        ("reasoning_effort", OURS),
        ("schema_version", OURS),
        ("is_active", OURS),
        ("created_at", OURS),
        ("updated_at", OURS),
        ("deleted_at", OURS),
    ],
);

const GROUP_PERSONAS: InventoryTable =
    catalogue_table("group_personas", &[("group_id", OURS), ("persona_id", OURS)]);

const PERSONA_PLUGINS: InventoryTable =
    catalogue_table("persona_plugins", &[("persona_id", OURS), ("plugin_id", OURS)]);

const CLIENT_POLICIES: InventoryTable = catalogue_table(
    "client_policies",
    &[
        ("id", OURS),
        ("name", OURS),
        ("description", OURS),
        ("document", OURS),
        ("updated_at", OURS),
        ("deleted_at", OURS),
        ("name_folded", OURS),
    ],
);

const CLIENT_POLICY_VERSIONS: InventoryTable = InventoryTable {
    name: "client_policy_versions",
    erasure: ErasurePolicy::Anonymise("versions of policies stay, without who wrote them"),
    export: None,
    left_out: &[
        ("policy_id", OURS),
        ("number", OURS),
        ("name", OURS),
        ("description", OURS),
        ("document", OURS),
        ("written_at", OURS),
        ("written_by", YOU),
    ],
};

const SETTING_OVERRIDES: InventoryTable = InventoryTable {
    name: "setting_overrides",
    erasure: ErasurePolicy::Anonymise("changed settings stay, without who changed them"),
    export: None,
    left_out: &[("key", OURS), ("value", OURS), ("updated_at", OURS), ("updated_by", YOU)],
};

const SCIM_TOKENS: InventoryTable = InventoryTable {
    name: "scim_tokens",
    erasure: ErasurePolicy::Anonymise("tokens of the server stay, without who created them"),
    export: None,
    left_out: &[
        ("id", OURS),
        ("name", OURS),
        ("hash", OURS),
        ("scopes", OURS),
        ("created_by", YOU),
        ("created_at", OURS),
        ("expires_at", OURS),
        ("used_at", OURS),
    ],
};

const PLUGIN_PACKAGES: InventoryTable = catalogue_table(
    "plugin_packages",
    &[("plugin_id", OURS), ("hash", OURS), ("first_byte", OURS), ("bytes", OURS)],
);

const PLUGIN_ICONS: InventoryTable =
    catalogue_table("plugin_icons", &[("plugin_id", OURS), ("png", OURS)]);

const TRUSTED_CERTIFICATES: InventoryTable = catalogue_table(
    "trusted_certificates",
    &[("id", OURS), ("name", OURS), ("thumbprint", OURS), ("der", OURS), ("updated_at", OURS)],
);
