//! Response to a pull.
//!
//! `Pulled` of `sync` has the items as stored JSON, which passes through unchanged.
//! The catalogue (plugins, personas, policy) is absent if the device has its
//! version.

use std::cell::RefCell;
use std::collections::HashMap;

use bytes::Bytes;
use pia_kernel::Timestamp;
use pia_sync::{
    CatalogueSnapshot, Channel, ManagedPersona, PendingDevice, Plugin, Policy, Pulled, Row,
};
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{items, push_request};

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyncPullResponse {
    /// Value for `since` in the next pull.
    #[schema(value_type = String, format = DateTime)]
    server_timestamp: Timestamp,
    /// True if more changes are available at once.
    has_more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<items::SyncSettings>)]
    settings: Option<Box<RawValue>>,
    #[schema(value_type = push_request::TemplateChanges)]
    templates: Changes,
    #[schema(value_type = push_request::PersonaChanges)]
    personas: Changes,
    #[schema(value_type = push_request::ProviderChanges)]
    providers: Changes,
    #[schema(value_type = push_request::SessionChanges)]
    sessions: Additions,
    #[schema(value_type = push_request::MemoryChanges)]
    memories: Changes,
    #[schema(value_type = push_request::TodoChanges)]
    todos: Changes,
    #[schema(value_type = push_request::KanbanColumnChanges)]
    kanban_columns: Changes,
    #[schema(value_type = push_request::ScheduledJobChanges)]
    scheduled_jobs: Changes,
    #[schema(value_type = push_request::ResearchSessionChanges)]
    research_sessions: Changes,
    /// All plugins of the group; absent if `catalogVersion` is current.
    plugins: PluginChanges,
    /// All that there are; absent if `catalogVersion` was the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_personas: Option<SyncManagedPersonaSnapshot>,
    /// Absent if `catalogVersion` was the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_policy: Option<SyncClientPolicySnapshot>,
    /// Catalogue version; compared for equality only.
    catalog_version: i64,
    /// Devices that wait for approval; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pending_devices: Vec<SyncPendingDevice>,
}

#[derive(Debug, Default, Serialize)]
struct Changes {
    upserted: Bodies,
    deleted: Vec<Uuid>,
}

#[derive(Debug, Default, Serialize)]
struct Additions {
    added: Bodies,
    deleted: Vec<Uuid>,
}

/// Stored items. Each is dropped once it is written, so that they are not all
/// in memory twice; a second serialisation would write nothing.
#[derive(Debug, Default)]
struct Bodies(RefCell<Vec<Bytes>>);

impl Bodies {
    /// Returns the only item of a channel with a single one.
    fn only(self) -> Option<Box<RawValue>> {
        json(&self.0.into_inner().pop()?).map(ToOwned::to_owned)
    }
}

impl Serialize for Bodies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for body in self.0.take() {
            if let Some(body) = json(&body) {
                list.serialize_element(body)?;
            }
        }
        list.end()
    }
}

/// Returns a stored body as JSON, which was validated when it was stored.
fn json(body: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice(body)
        .inspect_err(|err| tracing::error!(error = %err, "stored item is not valid JSON"))
        .ok()
}

#[derive(Debug, Default, Serialize, ToSchema)]
struct PluginChanges {
    upserted: Vec<SyncPlugin>,
    deleted: Vec<Uuid>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncPlugin {
    id: Uuid,
    /// `mcp_server`, `builtin_tool_pack` or `rest_api`.
    kind: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<String>,
    /// JSON object as text.
    config_json: String,
    version: String,
    is_preloaded: bool,
    is_active: bool,
    /// Choice of the user; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_enabled: Option<bool>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// SHA-256 in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    cab_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cab_size: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncManagedPersonaSnapshot {
    personas: Vec<SyncManagedPersona>,
    recently_removed: Vec<Uuid>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncManagedPersona {
    id: Uuid,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tagline: Option<String>,
    system_prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    guardrails: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_format: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expertise: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    archetype: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    emoji: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accent_color: Option<String>,
    tool_scope: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<i32>,
    schema_version: i32,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    is_managed: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncClientPolicySnapshot {
    /// JSON object as text; `{}` without a policy.
    document: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    updated_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncPendingDevice {
    /// Id assigned by the server, not the one that the device chose.
    id: Uuid,
    name: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Pulled> for SyncPullResponse {
    fn from(pulled: Pulled) -> Self {
        let Pulled { page, watermark, has_more, catalogue_version, catalogue, pending } = pulled;
        let changes = ChangesByChannel::from_rows(page.rows);
        let CatalogueParts { plugins, managed_personas, client_policy } =
            catalogue.map(CatalogueParts::from_snapshot).unwrap_or_default();

        Self {
            server_timestamp: watermark,
            has_more,
            settings: changes.settings.upserted.only(),
            templates: changes.templates,
            personas: changes.personas,
            providers: changes.providers,
            sessions: Additions {
                added: changes.sessions.upserted,
                deleted: changes.sessions.deleted,
            },
            memories: changes.memories,
            todos: changes.todos,
            kanban_columns: changes.kanban_columns,
            scheduled_jobs: changes.scheduled_jobs,
            research_sessions: changes.research_sessions,
            plugins: PluginChanges { upserted: plugins, deleted: Vec::new() },
            managed_personas,
            client_policy,
            catalog_version: catalogue_version,
            pending_devices: pending.into_iter().map(Into::into).collect(),
        }
    }
}

/// Changes by channel.
#[derive(Default)]
struct ChangesByChannel {
    settings: Changes,
    templates: Changes,
    personas: Changes,
    providers: Changes,
    sessions: Changes,
    memories: Changes,
    todos: Changes,
    kanban_columns: Changes,
    scheduled_jobs: Changes,
    research_sessions: Changes,
}

impl ChangesByChannel {
    fn from_rows(rows: Vec<Row>) -> Self {
        let mut by_channel = Self::default();
        for Row { key, body, .. } in rows {
            let Some(changes) = by_channel.changes_of(key.channel) else { continue };
            match body {
                Some(body) => changes.upserted.0.get_mut().push(body),
                None => changes.deleted.push(key.id),
            }
        }
        by_channel
    }

    /// Returns the changes of a channel; `None` for one that is not pulled.
    fn changes_of(&mut self, channel: Channel) -> Option<&mut Changes> {
        Some(match channel {
            Channel::Settings => &mut self.settings,
            Channel::Templates => &mut self.templates,
            Channel::Personas => &mut self.personas,
            Channel::Providers => &mut self.providers,
            Channel::Sessions => &mut self.sessions,
            Channel::Memories => &mut self.memories,
            Channel::Todos => &mut self.todos,
            Channel::KanbanColumns => &mut self.kanban_columns,
            Channel::ScheduledJobs => &mut self.scheduled_jobs,
            Channel::ResearchSessions => &mut self.research_sessions,
            Channel::PluginPreferences => return None,
        })
    }
}

/// Catalogue in a response; empty if it has not changed.
#[derive(Default)]
struct CatalogueParts {
    plugins: Vec<SyncPlugin>,
    managed_personas: Option<SyncManagedPersonaSnapshot>,
    client_policy: Option<SyncClientPolicySnapshot>,
}

impl CatalogueParts {
    fn from_snapshot(snapshot: CatalogueSnapshot) -> Self {
        let CatalogueSnapshot { catalogue, plugin_preferences: preferences } = snapshot;
        let Policy { document, updated_at } = catalogue.policy;
        Self {
            plugins: catalogue
                .plugins
                .into_iter()
                .map(|it| sync_plugin(it, &preferences))
                .collect(),
            managed_personas: Some(SyncManagedPersonaSnapshot {
                personas: catalogue.personas.into_iter().map(Into::into).collect(),
                recently_removed: catalogue.recently_removed,
            }),
            client_policy: Some(SyncClientPolicySnapshot { document, updated_at }),
        }
    }
}

/// Returns a plugin of the catalogue with the choice of the user.
fn sync_plugin(plugin: Plugin, preferences: &HashMap<Uuid, bool>) -> SyncPlugin {
    SyncPlugin {
        user_enabled: preferences.get(&plugin.id).copied(),
        id: plugin.id,
        kind: plugin.kind,
        name: plugin.name,
        description: plugin.description,
        icon_url: plugin.icon_url,
        config_json: plugin.config_json,
        version: plugin.version,
        is_preloaded: plugin.is_preloaded,
        is_active: plugin.is_active,
        updated_at: plugin.updated_at,
        cab_hash: plugin.cab_hash,
        cab_size: plugin.cab_size,
    }
}

impl From<ManagedPersona> for SyncManagedPersona {
    fn from(persona: ManagedPersona) -> Self {
        Self {
            id: persona.id,
            name: persona.name,
            tagline: persona.tagline,
            system_prompt: persona.system_prompt,
            guardrails: persona.guardrails,
            output_format: persona.output_format,
            expertise: persona.expertise,
            archetype: persona.archetype,
            model_type: persona.model_type,
            emoji: persona.emoji,
            accent_color: persona.accent_color,
            tool_scope: persona.tool_scope,
            reasoning_effort: persona.reasoning_effort,
            schema_version: persona.schema_version,
            created_at: persona.created_at,
            updated_at: persona.updated_at,
            is_managed: true,
        }
    }
}

impl From<PendingDevice> for SyncPendingDevice {
    fn from(device: PendingDevice) -> Self {
        let PendingDevice { id, name, created_at } = device;
        Self { id, name, created_at }
    }
}
