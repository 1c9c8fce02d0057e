//! Rows of `plugins`.

use diesel::prelude::*;
use pia_kernel::PluginId;
use pia_policy::{PluginContent, PluginPackage, PublishedPlugin};
use pia_storage::schema::plugins;
use pia_storage::{DbInstant, DbUid};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = plugins)]
pub(crate) struct PluginRow {
    id: DbUid,
    #[diesel(embed)]
    content: PluginContentRow,
    icon_url: Option<String>,
    is_preloaded: bool,
    is_active: bool,
    cab_hash: Option<String>,
    cab_size: Option<i64>,
    updated_at: DbInstant,
}

/// Columns of a plugin's contents.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = plugins, treat_none_as_null = true)]
pub(crate) struct PluginContentRow {
    kind: String,
    name: String,
    description: Option<String>,
    config_json: String,
    version: String,
}

impl From<PluginContent> for PluginContentRow {
    fn from(content: PluginContent) -> Self {
        let PluginContent { kind, name, description, config_json, version } = content;
        Self { kind, name, description, config_json, version }
    }
}

impl From<PublishedPlugin> for PluginRow {
    fn from(plugin: PublishedPlugin) -> Self {
        let (hash, size) = plugin.package.map(|it| (it.hash, it.size)).unzip();
        Self {
            id: DbUid(plugin.id.0),
            content: plugin.content.into(),
            icon_url: plugin.icon_url,
            is_preloaded: plugin.is_built_in,
            is_active: plugin.is_active,
            cab_hash: hash,
            cab_size: size.map(u64::cast_signed),
            updated_at: DbInstant(plugin.updated_at),
        }
    }
}

impl From<PluginRow> for PublishedPlugin {
    fn from(row: PluginRow) -> Self {
        let PluginContentRow { kind, name, description, config_json, version } = row.content;
        let package = row.cab_hash.zip(row.cab_size);
        Self {
            id: PluginId(row.id.0),
            content: PluginContent { kind, name, description, config_json, version },
            is_built_in: row.is_preloaded,
            is_active: row.is_active,
            package: package.map(|(hash, size)| PluginPackage { hash, size: size.unsigned_abs() }),
            icon_url: row.icon_url,
            updated_at: row.updated_at.0,
        }
    }
}
