//! Managed personas in SQL.
//!
//! The steps of an assignment to groups are in `persona_assignment.rs`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    GroupId, GroupSelection, PersonaId, PluginId, SideEffects, Timestamp, Unavailable,
};
use pia_policy::{
    PersonaAssignmentOutcome, PersonaBindingOutcome, PersonaChangeOutcome, PersonaEntry,
    PersonaQuotas, PersonaStore, PersonaUpdate, PublishedPersona,
};
use pia_storage::schema::{group_personas, managed_personas, persona_plugins, plugins};
use pia_storage::{
    CatalogueVersion, Database, DbInstant, DbUid, WriteEffects, ids_without, in_tx, on_conn,
    selected_ids, with_ids,
};

use crate::persona_assignment::{AssignPersona, GroupQuota};
use crate::persona_row::{ContentRow, PersonaRow};

/// Numbers of rows by persona.
type Counts = Vec<(DbUid, i64)>;

/// Managed personas in SQL.
#[derive(Debug, Clone)]
pub struct SqlManagedPersonas {
    db: Database,
}

/// Query of a persona that is not deleted.
macro_rules! live_persona {
    ($persona:expr) => {
        managed_personas::table
            .find(DbUid($persona.0))
            .filter(managed_personas::deleted_at.is_null())
    };
}

impl SqlManagedPersonas {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl PersonaStore for SqlManagedPersonas {
    async fn all(&self) -> Result<Vec<PersonaEntry>, Unavailable> {
        let personas = managed_personas::table
            .filter(managed_personas::deleted_at.is_null())
            .order((managed_personas::name, managed_personas::id));
        let groups = group_personas::table
            .group_by(group_personas::persona_id)
            .select((group_personas::persona_id, count_star()));
        let plugins = persona_plugins::table
            .group_by(persona_plugins::persona_id)
            .select((persona_plugins::persona_id, count_star()));

        let (rows, group_counts, plugin_counts): (Vec<PersonaRow>, Counts, Counts) =
            on_conn!(self.db.reader(), |conn| {
                let rows = personas.select(PersonaRow::as_select()).load(conn).await?;
                (rows, groups.load(conn).await?, plugins.load(conn).await?)
            })?;

        let group_counts = by_persona(group_counts);
        let plugin_counts = by_persona(plugin_counts);
        let entries = rows.into_iter().map(|row| {
            let persona: PublishedPersona = row.into();
            let group_count = group_counts.get(&persona.id).copied().unwrap_or(0);
            let plugin_count = plugin_counts.get(&persona.id).copied().unwrap_or(0);
            PersonaEntry { persona, group_count, plugin_count }
        });

        Ok(entries.collect())
    }

    async fn find(&self, persona: PersonaId) -> Result<Option<PublishedPersona>, Unavailable> {
        let row: Option<PersonaRow> = on_conn!(self.db.reader(), |conn| {
            live_persona!(persona).select(PersonaRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Into::into))
    }

    async fn groups_of(&self, persona: PersonaId) -> Result<Option<Vec<GroupId>>, Unavailable> {
        if self.find(persona).await?.is_none() {
            return Ok(None);
        }
        let groups = group_personas::table
            .filter(group_personas::persona_id.eq(DbUid(persona.0)))
            .order(group_personas::group_id)
            .select(group_personas::group_id);
        let rows: Vec<DbUid> = on_conn!(self.db.reader(), |conn| groups.load(conn).await?)?;
        Ok(Some(rows.into_iter().map(|it| GroupId(it.0)).collect()))
    }

    async fn names_of_group(
        &self,
        group: GroupId,
    ) -> Result<Vec<(PersonaId, String)>, Unavailable> {
        let assigned_ids = group_personas::table
            .filter(group_personas::group_id.eq(DbUid(group.0)))
            .select(group_personas::persona_id);
        let personas = managed_personas::table
            .filter(managed_personas::deleted_at.is_null())
            .filter(managed_personas::id.eq_any(assigned_ids))
            .order((managed_personas::name, managed_personas::id))
            .select((managed_personas::id, managed_personas::name));
        let rows: Vec<(DbUid, String)> =
            on_conn!(self.db.reader(), |conn| personas.load(conn).await?)?;
        Ok(rows.into_iter().map(|(id, name)| (PersonaId(id.0), name)).collect())
    }

    async fn plugins_of(&self, persona: PersonaId) -> Result<Option<Vec<PluginId>>, Unavailable> {
        if self.find(persona).await?.is_none() {
            return Ok(None);
        }
        let bound = persona_plugins::table
            .filter(persona_plugins::persona_id.eq(DbUid(persona.0)))
            .order(persona_plugins::plugin_id)
            .select(persona_plugins::plugin_id);
        let rows: Vec<DbUid> = on_conn!(self.db.reader(), |conn| bound.load(conn).await?)?;
        Ok(Some(rows.into_iter().map(|it| PluginId(it.0)).collect()))
    }

    async fn of_group(
        &self,
        group: GroupId,
        persona: PersonaId,
    ) -> Result<Option<PublishedPersona>, Unavailable> {
        let assignment = group_personas::table.find((DbUid(group.0), DbUid(persona.0)));
        let active_persona = live_persona!(persona)
            .filter(managed_personas::is_active.eq(true))
            .filter(diesel::dsl::exists(assignment));
        let row: Option<PersonaRow> = on_conn!(self.db.reader(), |conn| {
            active_persona.select(PersonaRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Into::into))
    }

    async fn create(
        &self,
        persona: PublishedPersona,
        effects: SideEffects,
    ) -> Result<(), Unavailable> {
        let effects = effects.with_changes(None, Some(&persona));
        let row = PersonaRow::try_from(persona)?;
        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            diesel::insert_into(managed_personas::table).values(&row).execute(conn).await?;
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await
        })
    }

    async fn replace(
        &self,
        persona: PersonaId,
        update: PersonaUpdate,
        effects: SideEffects,
    ) -> Result<PersonaChangeOutcome, Unavailable> {
        let PersonaUpdate { content, is_active, at, expected } = update;
        let content = ContentRow::try_from(content)?;
        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            let row = live_persona!(persona)
                .select(PersonaRow::as_select())
                .first(conn)
                .await
                .optional()?;
            let Some(before) = row.map(PublishedPersona::from) else {
                return Ok(PersonaChangeOutcome::Unknown);
            };
            if expected.is_some_and(|it| it != before.updated_at) {
                return Ok(PersonaChangeOutcome::Stale);
            }

            let updated_at = DbInstant(at.max(before.updated_at + Duration::from_micros(1)));
            let state = is_active.map(|it| managed_personas::is_active.eq(it));
            let new_values = (&content, managed_personas::updated_at.eq(updated_at), state);
            diesel::update(live_persona!(persona)).set(new_values).execute(conn).await?;
            let after: PersonaRow =
                live_persona!(persona).select(PersonaRow::as_select()).first(conn).await?;
            let effects = effects.with_changes(Some(&before), Some(&after.into()));
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(PersonaChangeOutcome::Done)
        })
    }

    async fn delete(
        &self,
        persona: PersonaId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let deletion = managed_personas::deleted_at.eq(DbInstant(at));
        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            let row = live_persona!(persona)
                .select(PersonaRow::as_select())
                .first(conn)
                .await
                .optional()?;
            let Some(before) = row.map(PublishedPersona::from) else { return Ok(false) };

            diesel::update(live_persona!(persona)).set(deletion).execute(conn).await?;
            let effects = effects.with_changes(Some(&before), None);
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(true)
        })
    }

    async fn assign(
        &self,
        persona: PersonaId,
        groups: GroupSelection,
        defaults: PersonaQuotas,
        effects: SideEffects,
    ) -> Result<PersonaAssignmentOutcome, Unavailable> {
        let assigned_groups = group_personas::table
            .filter(group_personas::persona_id.eq(DbUid(persona.0)))
            .select(group_personas::group_id);

        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            let row = live_persona!(persona).select(managed_personas::id);
            if row.first::<DbUid>(conn).await.optional()?.is_none() {
                return Ok(PersonaAssignmentOutcome::Unknown);
            }

            let before: Vec<DbUid> = assigned_groups.load(conn).await?;
            let ids = selected_ids(&groups, &before);
            let known_groups = conn.group_quotas(&ids).await?;
            let known_ids: Vec<_> = known_groups.iter().map(|it| it.id).collect();
            if let Some(unknown_group) = ids_without(&ids, &known_ids).into_iter().next() {
                return Ok(PersonaAssignmentOutcome::UnknownGroup(GroupId(unknown_group.0)));
            }

            let new_ids: HashSet<_> = ids_without(&ids, &before).into_iter().collect();
            let new_groups: Vec<GroupQuota> =
                known_groups.into_iter().filter(|it| new_ids.contains(&it.id)).collect();
            let refusal = conn.exceeded_personas(persona, &new_groups, defaults.personas).await?;
            if let Some(refusal) = refusal {
                return Ok(refusal);
            }

            let base_limit = defaults.knowledge_bases;
            if let Some(refusal) = conn.exceeded_bases_of(persona, &ids, base_limit).await? {
                return Ok(refusal);
            }

            conn.replace_assignments(persona, &ids, &before).await?;
            let effects = with_ids(&effects, "groups", &before, &ids);
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(PersonaAssignmentOutcome::Done)
        })
    }

    async fn bind(
        &self,
        persona: PersonaId,
        plugins: &[PluginId],
        effects: SideEffects,
    ) -> Result<PersonaBindingOutcome, Unavailable> {
        let ids: Vec<DbUid> = plugins.iter().map(|it| DbUid(it.0)).collect();
        let bindings =
            persona_plugins::table.filter(persona_plugins::persona_id.eq(DbUid(persona.0)));
        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            let row = live_persona!(persona).select(managed_personas::id);
            if row.first::<DbUid>(conn).await.optional()?.is_none() {
                return Ok(PersonaBindingOutcome::Unknown);
            }

            let known_plugins: Vec<DbUid> = plugins::table
                .filter(plugins::id.eq_any(&ids))
                .filter(plugins::deleted_at.is_null())
                .select(plugins::id)
                .load(conn)
                .await?;
            if let Some(unknown) = ids.iter().find(|it| !known_plugins.contains(it)) {
                return Ok(PersonaBindingOutcome::UnknownPlugin(PluginId(unknown.0)));
            }

            let before: Vec<DbUid> = bindings.select(persona_plugins::plugin_id).load(conn).await?;
            diesel::delete(bindings).execute(conn).await?;

            for id in &ids {
                let binding = (
                    persona_plugins::persona_id.eq(DbUid(persona.0)),
                    persona_plugins::plugin_id.eq(id),
                );
                diesel::insert_into(persona_plugins::table).values(binding).execute(conn).await?;
            }

            let effects = with_ids(&effects, "plugins", &before, &ids);
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(PersonaBindingOutcome::Done)
        })
    }
}

fn by_persona(counts: Counts) -> HashMap<PersonaId, u64> {
    counts.into_iter().map(|(id, count)| (PersonaId(id.0), count.unsigned_abs())).collect()
}
