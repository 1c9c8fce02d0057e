//! Catalogue that operators publish to their users.
//!
//! `catalogue.rs` of `storage-sync` reads it from the tables that the
//! administration of policies, plugins and personas writes; a pull contains it
//! whenever its version differs from the device's.

use pia_kernel::Timestamp;
use uuid::Uuid;

/// Catalogue of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Plugins of the group.
    pub plugins: Vec<Plugin>,
    /// Personas of the group.
    pub personas: Vec<ManagedPersona>,
    /// Ids of personas that were removed or deactivated recently.
    pub recently_removed: Vec<Uuid>,
    /// Client policy of the operator.
    pub policy: Policy,
}

/// Plugin that is published to users.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as on the wire, where each is explained")]
pub struct Plugin {
    pub id: Uuid,
    pub kind: String,
    pub name: String,
    pub description: Option<String>,
    pub icon_url: Option<String>,
    pub config_json: String,
    pub version: String,
    pub is_preloaded: bool,
    pub is_active: bool,
    pub cab_hash: Option<String>,
    pub cab_size: Option<i64>,
    pub updated_at: Timestamp,
}

/// Persona published by the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as on the wire, where each is explained")]
pub struct ManagedPersona {
    pub id: Uuid,
    pub name: String,
    pub tagline: Option<String>,
    pub system_prompt: String,
    pub guardrails: Option<String>,
    pub output_format: Option<String>,
    pub expertise: Option<Vec<String>>,
    pub archetype: Option<String>,
    pub model_type: Option<String>,
    pub emoji: Option<String>,
    pub accent_color: Option<String>,
    pub tool_scope: i32,
    pub reasoning_effort: Option<i32>,
    pub schema_version: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Client policy: settings that operators impose on apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// JSON object; `{}` without a policy.
    pub document: String,
    /// Time of its last change; `None` without a policy.
    pub updated_at: Option<Timestamp>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { document: "{}".to_owned(), updated_at: None }
    }
}
