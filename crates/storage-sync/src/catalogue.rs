//! Reading of a group's catalogue, which `reading.rs` caches. Plugins and
//! policies that were deleted are left out; a persona that was removed or
//! deactivated is reported for thirty days, so that devices delete their copy.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Clock, SystemClock};
use pia_storage::schema::{
    client_policies, group_personas, group_plugins, managed_personas, plugins, user_groups,
};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_sync::{Catalogue, ManagedPersona, Plugin, Policy};
use uuid::Uuid;

/// Time for which a removed persona is reported.
const REMOVAL_REPORT_PERIOD: Duration = Duration::from_hours(30 * 24);

#[derive(Queryable, Selectable)]
#[diesel(table_name = plugins)]
struct PluginRow {
    id: DbUid,
    kind: String,
    name: String,
    description: Option<String>,
    icon_url: Option<String>,
    config_json: String,
    version: String,
    is_preloaded: bool,
    is_active: bool,
    cab_hash: Option<String>,
    cab_size: Option<i64>,
    updated_at: DbInstant,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = managed_personas)]
struct PersonaRow {
    id: DbUid,
    name: String,
    tagline: Option<String>,
    system_prompt: String,
    guardrails: Option<String>,
    output_format: Option<String>,
    expertise: Option<String>,
    archetype: Option<String>,
    model_type: Option<String>,
    emoji: Option<String>,
    accent_color: Option<String>,
    tool_scope: i32,
    reasoning_effort: Option<i32>,
    schema_version: i32,
    is_active: bool,
    created_at: DbInstant,
    updated_at: DbInstant,
    deleted_at: Option<DbInstant>,
}

/// Loads the catalogue of a group.
pub(crate) async fn catalogue_of(db: &Database, group: Uuid) -> Result<Catalogue, DbError> {
    let personas = personas_of(db, group).await?;
    let reported_since = SystemClock.now() - REMOVAL_REPORT_PERIOD;
    let is_recently_removed =
        |it: &&PersonaRow| !it.is_live() && it.changed_at().0 > reported_since;
    Ok(Catalogue {
        plugins: plugins_of(db, group).await?,
        recently_removed: personas.iter().filter(is_recently_removed).map(|it| it.id.0).collect(),
        personas: personas.into_iter().filter(PersonaRow::is_live).map(Into::into).collect(),
        policy: policy_of(db, group).await?,
    })
}

async fn plugins_of(db: &Database, group: Uuid) -> Result<Vec<Plugin>, DbError> {
    let granted = group_plugins::table
        .filter(group_plugins::group_id.eq(DbUid(group)))
        .select(group_plugins::plugin_id);
    let available = plugins::table
        .filter(plugins::deleted_at.is_null())
        .filter(plugins::is_preloaded.eq(true).or(plugins::id.eq_any(granted)))
        .order(plugins::id);
    let rows: Vec<PluginRow> =
        on_conn!(db.reader(), |conn| available.select(PluginRow::as_select()).load(conn).await?)?;
    Ok(rows.into_iter().map(Into::into).collect())
}

async fn personas_of(db: &Database, group: Uuid) -> Result<Vec<PersonaRow>, DbError> {
    let granted = group_personas::table
        .filter(group_personas::group_id.eq(DbUid(group)))
        .select(group_personas::persona_id);
    let available = managed_personas::table
        .filter(managed_personas::id.eq_any(granted))
        .order(managed_personas::id);
    Ok(on_conn!(db.reader(), |conn| available.select(PersonaRow::as_select()).load(conn).await?)?)
}

async fn policy_of(db: &Database, group: Uuid) -> Result<Policy, DbError> {
    let assigned = user_groups::table
        .find(DbUid(group))
        .inner_join(
            client_policies::table
                .on(user_groups::client_policy_id.eq(client_policies::id.nullable())),
        )
        .filter(client_policies::deleted_at.is_null())
        .select((client_policies::document, client_policies::updated_at));

    let row: Option<(String, DbInstant)> =
        on_conn!(db.reader(), |conn| assigned.first(conn).await.optional()?)?;
    Ok(row.map_or_else(Policy::default, |(document, updated_at)| Policy {
        document,
        updated_at: Some(updated_at.0),
    }))
}

impl PersonaRow {
    fn is_live(&self) -> bool {
        self.is_active && self.deleted_at.is_none()
    }

    /// Returns the time of the removal, if it is not live.
    fn changed_at(&self) -> DbInstant {
        self.deleted_at.unwrap_or(self.updated_at)
    }
}

impl From<PluginRow> for Plugin {
    fn from(row: PluginRow) -> Self {
        Self {
            id: row.id.0,
            kind: row.kind,
            name: row.name,
            description: row.description,
            icon_url: row.icon_url,
            config_json: row.config_json,
            version: row.version,
            is_preloaded: row.is_preloaded,
            is_active: row.is_active,
            cab_hash: row.cab_hash,
            cab_size: row.cab_size,
            updated_at: row.updated_at.0,
        }
    }
}

impl From<PersonaRow> for ManagedPersona {
    fn from(row: PersonaRow) -> Self {
        Self {
            id: row.id.0,
            name: row.name,
            tagline: row.tagline,
            system_prompt: row.system_prompt,
            guardrails: row.guardrails,
            output_format: row.output_format,
            expertise: row.expertise.and_then(|it| serde_json::from_str(&it).ok()),
            archetype: row.archetype,
            model_type: row.model_type,
            emoji: row.emoji,
            accent_color: row.accent_color,
            tool_scope: row.tool_scope,
            reasoning_effort: row.reasoning_effort,
            schema_version: row.schema_version,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
        }
    }
}
