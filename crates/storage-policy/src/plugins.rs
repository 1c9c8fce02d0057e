//! Plugins in SQL.
//!
//! A package is stored in pieces, so that a download holds one piece in memory. Macros
//! combine the steps of a write: `lock_plugin!` or `lock_custom_plugin!`, the change,
//! `publish!`.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use diesel::dsl::{count_star, exists};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{GroupId, GroupSelection, PluginId, SideEffects, Timestamp, Unavailable};
use pia_policy::{
    PluginChangeOutcome, PluginEntry, PluginStore, PluginUpdate, PublishedPlugin, SignedPackage,
};
use pia_storage::schema::{
    group_plugins, plugin_icons, plugin_packages, plugins, trusted_certificates, user_groups,
};
use pia_storage::{
    CatalogueVersion, Database, DbInstant, DbUid, WriteEffects, ids_without, in_tx, on_conn,
    selected_ids, with_ids,
};

use crate::plugin_row::{PluginContentRow, PluginRow};

/// Size of the pieces of a package, in bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// Plugins in SQL.
#[derive(Debug, Clone)]
pub struct SqlPlugins {
    db: Database,
}

/// Query of a plugin that is not deleted.
macro_rules! live_plugin {
    ($plugin:expr) => {
        plugins::table.find(DbUid($plugin.0)).filter(plugins::deleted_at.is_null())
    };
}

/// Locks the catalogue, and returns from the transaction if the plugin does not
/// exist. Evaluates to the plugin.
macro_rules! lock_plugin {
    ($conn:expr, $plugin:expr) => {{
        $conn.lock_catalogue().await?;
        let row =
            live_plugin!($plugin).select(PluginRow::as_select()).first($conn).await.optional()?;
        let Some(plugin) = row.map(PublishedPlugin::from) else {
            return Ok(PluginChangeOutcome::Unknown);
        };
        plugin
    }};
}

/// Locks as [`lock_plugin`] does, and returns also if the plugin is built in.
macro_rules! lock_custom_plugin {
    ($conn:expr, $plugin:expr) => {{
        let plugin = lock_plugin!($conn, $plugin);
        if plugin.is_built_in {
            return Ok(PluginChangeOutcome::BuiltIn);
        }
        plugin
    }};
}

/// Publishes a change with its side effects. Evaluates to the outcome.
macro_rules! publish {
    ($db:expr, $conn:expr, $before:expr, $effects:expr) => {{
        let row = live_plugin!($before.id)
            .select(PluginRow::as_select())
            .first($conn)
            .await
            .optional()?;
        let after = row.map(PublishedPlugin::from);
        let effects = $effects.with_changes(Some(&$before), after.as_ref());
        $conn.bump_catalogue().await?;
        $conn.write_effects($db, &effects).await?;
        Ok(PluginChangeOutcome::Done)
    }};
}

impl SqlPlugins {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

/// Returns the time of a change, later than that of the last one.
fn later(at: Timestamp, before: &PublishedPlugin) -> DbInstant {
    DbInstant(at.max(before.updated_at + Duration::from_micros(1)))
}

#[async_trait]
impl PluginStore for SqlPlugins {
    async fn all(&self) -> Result<Vec<PluginEntry>, Unavailable> {
        let all_plugins = plugins::table.filter(plugins::deleted_at.is_null()).order((
            plugins::is_preloaded.desc(),
            plugins::name,
            plugins::id,
        ));

        let group_counts = group_plugins::table
            .group_by(group_plugins::plugin_id)
            .select((group_plugins::plugin_id, count_star()));

        let (rows, counts): (Vec<PluginRow>, Vec<(DbUid, i64)>) =
            on_conn!(self.db.reader(), |conn| {
                let rows = all_plugins.select(PluginRow::as_select()).load(conn).await?;
                (rows, group_counts.load(conn).await?)
            })?;

        let count_by_plugin: HashMap<_, _> =
            counts.into_iter().map(|(id, count)| (id.0, count.unsigned_abs())).collect();
        let entries = rows.into_iter().map(|row| {
            let plugin = PublishedPlugin::from(row);
            let group_count = count_by_plugin.get(&plugin.id.0).copied().unwrap_or_default();
            PluginEntry { plugin, group_count }
        });

        Ok(entries.collect())
    }

    async fn find(&self, plugin: PluginId) -> Result<Option<PublishedPlugin>, Unavailable> {
        let row: Option<PluginRow> = on_conn!(self.db.reader(), |conn| {
            live_plugin!(plugin).select(PluginRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Into::into))
    }

    async fn of_group(
        &self,
        group: GroupId,
        plugin: PluginId,
    ) -> Result<Option<PublishedPlugin>, Unavailable> {
        let is_granted = exists(group_plugins::table.find((DbUid(group.0), DbUid(plugin.0))));
        let available_plugin =
            live_plugin!(plugin).filter(plugins::is_preloaded.eq(true).or(is_granted));
        let row: Option<PluginRow> = on_conn!(self.db.reader(), |conn| {
            available_plugin.select(PluginRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Into::into))
    }

    async fn groups_of(&self, plugin: PluginId) -> Result<Option<Vec<GroupId>>, Unavailable> {
        if self.find(plugin).await?.is_none() {
            return Ok(None);
        }
        let groups = group_plugins::table
            .filter(group_plugins::plugin_id.eq(DbUid(plugin.0)))
            .order(group_plugins::group_id)
            .select(group_plugins::group_id);
        let rows: Vec<DbUid> = on_conn!(self.db.reader(), |conn| groups.load(conn).await?)?;
        Ok(Some(rows.into_iter().map(|it| GroupId(it.0)).collect()))
    }

    async fn names_of_group(&self, group: GroupId) -> Result<Vec<(PluginId, String)>, Unavailable> {
        let assigned_ids = group_plugins::table
            .filter(group_plugins::group_id.eq(DbUid(group.0)))
            .select(group_plugins::plugin_id);
        let is_available = plugins::is_preloaded.eq(true).or(plugins::id.eq_any(assigned_ids));
        let available_plugins = plugins::table
            .filter(plugins::deleted_at.is_null())
            .filter(is_available)
            .order((plugins::is_preloaded.desc(), plugins::name, plugins::id))
            .select((plugins::id, plugins::name));
        let rows: Vec<(DbUid, String)> =
            on_conn!(self.db.reader(), |conn| available_plugins.load(conn).await?)?;
        Ok(rows.into_iter().map(|(id, name)| (PluginId(id.0), name)).collect())
    }

    async fn create(
        &self,
        plugin: PublishedPlugin,
        effects: SideEffects,
    ) -> Result<(), Unavailable> {
        let effects = effects.with_changes(None, Some(&plugin));
        let row = PluginRow::from(plugin);
        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            diesel::insert_into(plugins::table).values(&row).execute(conn).await?;
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await
        })
    }

    async fn replace(
        &self,
        plugin: PluginId,
        update: PluginUpdate,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable> {
        let PluginUpdate { content, is_active, expected } = update;
        let content = PluginContentRow::from(content);
        in_tx!(self.db, async |conn| {
            let before = lock_plugin!(conn, plugin);
            if expected.is_some_and(|it| it != before.updated_at) {
                return Ok(PluginChangeOutcome::Stale);
            }
            let state = is_active.map(|it| plugins::is_active.eq(it));
            let new_values = (&content, plugins::updated_at.eq(later(at, &before)), state);
            diesel::update(live_plugin!(plugin)).set(new_values).execute(conn).await?;
            publish!(&self.db, conn, before, effects)
        })
    }

    async fn delete(
        &self,
        plugin: PluginId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable> {
        let id = DbUid(plugin.0);
        in_tx!(self.db, async |conn| {
            let before = lock_custom_plugin!(conn, plugin);
            let pieces = plugin_packages::table.filter(plugin_packages::plugin_id.eq(id));
            diesel::delete(pieces).execute(conn).await?;
            diesel::delete(plugin_icons::table.find(id)).execute(conn).await?;
            let deletion = plugins::deleted_at.eq(later(at, &before));
            diesel::update(live_plugin!(plugin)).set(deletion).execute(conn).await?;
            publish!(&self.db, conn, before, effects)
        })
    }

    async fn assign(
        &self,
        plugin: PluginId,
        groups: GroupSelection,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable> {
        let assignments = group_plugins::table.filter(group_plugins::plugin_id.eq(DbUid(plugin.0)));
        in_tx!(self.db, async |conn| {
            lock_custom_plugin!(conn, plugin);
            let before: Vec<DbUid> = assignments.select(group_plugins::group_id).load(conn).await?;
            let ids = selected_ids(&groups, &before);
            let known_groups: Vec<DbUid> = user_groups::table
                .filter(user_groups::id.eq_any(&ids))
                .select(user_groups::id)
                .load(conn)
                .await?;
            if let Some(unknown) = ids_without(&ids, &known_groups).into_iter().next() {
                return Ok(PluginChangeOutcome::UnknownGroup(GroupId(unknown.0)));
            }

            let removed = ids_without(&before, &ids);
            let removed_assignments = assignments.filter(group_plugins::group_id.eq_any(&removed));
            diesel::delete(removed_assignments).execute(conn).await?;

            for id in ids_without(&ids, &before) {
                let assignment =
                    (group_plugins::group_id.eq(id), group_plugins::plugin_id.eq(DbUid(plugin.0)));
                diesel::insert_into(group_plugins::table).values(assignment).execute(conn).await?;
            }

            let effects = with_ids(&effects, "groups", &before, &ids);
            conn.bump_catalogue().await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(PluginChangeOutcome::Done)
        })
    }

    async fn store_package(
        &self,
        plugin: PluginId,
        (package, file): (SignedPackage, Bytes),
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable> {
        let SignedPackage { hash, size, signer } = package;
        let id = DbUid(plugin.0);
        in_tx!(self.db, async |conn| {
            let before = lock_custom_plugin!(conn, plugin);
            let trusted_count = trusted_certificates::table
                .filter(trusted_certificates::thumbprint.eq(&signer))
                .count()
                .get_result::<i64>(conn)
                .await?;
            if trusted_count == 0 {
                return Ok(PluginChangeOutcome::Untrusted);
            }

            let pieces = plugin_packages::table.filter(plugin_packages::plugin_id.eq(id));
            diesel::delete(pieces).execute(conn).await?;
            let mut first_byte = 0_i64;
            for piece in file.chunks(PIECE_BYTES) {
                let new_piece = (
                    plugin_packages::plugin_id.eq(id),
                    plugin_packages::hash.eq(&hash),
                    plugin_packages::first_byte.eq(first_byte),
                    plugin_packages::bytes.eq(piece),
                );
                diesel::insert_into(plugin_packages::table).values(new_piece).execute(conn).await?;
                first_byte += piece.len().cast_signed() as i64;
            }

            let new_values = (
                plugins::cab_hash.eq(&hash),
                plugins::cab_size.eq(size.cast_signed()),
                plugins::updated_at.eq(later(at, &before)),
            );
            diesel::update(live_plugin!(plugin)).set(new_values).execute(conn).await?;

            publish!(&self.db, conn, before, effects)
        })
    }

    async fn store_icon(
        &self,
        plugin: PluginId,
        icon: Option<Bytes>,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable> {
        let id = DbUid(plugin.0);
        let url = icon.is_some().then(|| format!("/api/plugins/{plugin}/icon"));
        in_tx!(self.db, async |conn| {
            let before = lock_custom_plugin!(conn, plugin);
            diesel::delete(plugin_icons::table.find(id)).execute(conn).await?;

            if let Some(png) = &icon {
                let new_icon = (plugin_icons::plugin_id.eq(id), plugin_icons::png.eq(png.as_ref()));
                diesel::insert_into(plugin_icons::table).values(new_icon).execute(conn).await?;
            }

            let new_values =
                (plugins::icon_url.eq(url.as_deref()), plugins::updated_at.eq(later(at, &before)));
            diesel::update(live_plugin!(plugin)).set(new_values).execute(conn).await?;

            publish!(&self.db, conn, before, effects)
        })
    }

    async fn icon(&self, plugin: PluginId) -> Result<Option<Vec<u8>>, Unavailable> {
        let icon = plugin_icons::table.find(DbUid(plugin.0)).select(plugin_icons::png);
        Ok(on_conn!(self.db.reader(), |conn| icon.first(conn).await.optional()?)?)
    }

    async fn package_bytes(
        &self,
        plugin: PluginId,
        hash: &str,
        offset: u64,
    ) -> Result<Option<Vec<u8>>, Unavailable> {
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        let pieces = plugin_packages::table
            .filter(plugin_packages::plugin_id.eq(DbUid(plugin.0)))
            .filter(plugin_packages::hash.eq(hash))
            .filter(plugin_packages::first_byte.le(offset))
            .order(plugin_packages::first_byte.desc())
            .select((plugin_packages::first_byte, plugin_packages::bytes));

        let piece: Option<(i64, Vec<u8>)> =
            on_conn!(self.db.reader(), |conn| pieces.first(conn).await.optional()?)?;
        let bytes_from_offset = piece.map(|(first_byte, mut bytes)| {
            let skipped_bytes = usize::try_from(offset - first_byte).unwrap_or(usize::MAX);
            bytes.split_off(skipped_bytes.min(bytes.len()))
        });

        Ok(bytes_from_offset.filter(|it| !it.is_empty()))
    }
}
