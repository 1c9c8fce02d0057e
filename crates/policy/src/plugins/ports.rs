//! Store of plugins; implemented in `storage-policy`.

use async_trait::async_trait;
use bytes::Bytes;
use pia_kernel::{GroupId, GroupSelection, PluginId, SideEffects, Timestamp, Unavailable};

use super::{PluginContent, PluginEntry, PublishedPlugin};
use crate::uploads::SignedPackage;

/// Store of plugins.
///
/// Every accepted write gives the catalogue its next version. Of two updates
/// that expect the same version one is stored, and times of changes grow.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PluginStore: Send + Sync {
    /// Loads all plugins: built-in ones, then by name.
    async fn all(&self) -> Result<Vec<PluginEntry>, Unavailable>;

    /// Loads a plugin.
    async fn find(&self, plugin: PluginId) -> Result<Option<PublishedPlugin>, Unavailable>;

    /// Loads a plugin that members of a group get.
    async fn of_group(
        &self,
        group: GroupId,
        plugin: PluginId,
    ) -> Result<Option<PublishedPlugin>, Unavailable>;

    /// Loads the ids of a plugin's groups; `None` if there is no such plugin.
    async fn groups_of(&self, plugin: PluginId) -> Result<Option<Vec<GroupId>>, Unavailable>;

    /// Loads the ids and names of the plugins that members of a group get: built-in ones, then
    /// by name.
    async fn names_of_group(&self, group: GroupId) -> Result<Vec<(PluginId, String)>, Unavailable>;

    /// Stores a plugin without groups.
    async fn create(
        &self,
        plugin: PublishedPlugin,
        effects: SideEffects,
    ) -> Result<(), Unavailable>;

    /// Replaces the contents of a plugin.
    async fn replace(
        &self,
        plugin: PluginId,
        update: PluginUpdate,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable>;

    /// Deletes a plugin and its files.
    async fn delete(
        &self,
        plugin: PluginId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable>;

    /// Assigns a plugin to the selected groups. Of concurrent changes none is lost.
    async fn assign(
        &self,
        plugin: PluginId,
        groups: GroupSelection,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable>;

    /// Replaces the plugin's package, if the signer of the new package is
    /// trusted.
    async fn store_package(
        &self,
        plugin: PluginId,
        package: (SignedPackage, Bytes),
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable>;

    /// Replaces the plugin's icon with a PNG image, or removes it.
    async fn store_icon(
        &self,
        plugin: PluginId,
        icon: Option<Bytes>,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<PluginChangeOutcome, Unavailable>;

    /// Loads a plugin's icon.
    async fn icon(&self, plugin: PluginId) -> Result<Option<Vec<u8>>, Unavailable>;

    /// Loads some bytes of the package with this hash, from an offset on;
    /// `None` at its end, or if the package was replaced.
    async fn package_bytes(
        &self,
        plugin: PluginId,
        hash: &str,
        offset: u64,
    ) -> Result<Option<Vec<u8>>, Unavailable>;
}

/// New contents of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginUpdate {
    /// Contents that replace the stored ones.
    pub content: PluginContent,
    /// New state; `None` leaves it unchanged.
    pub is_active: Option<bool>,
    /// Time of the last change that the administrator loaded; `None` accepts any.
    pub expected: Option<Timestamp>,
}

/// Outcome of changing a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginChangeOutcome {
    /// Plugin was changed.
    Done,
    /// No such plugin.
    Unknown,
    /// Plugin was changed since the administrator read it.
    Stale,
    /// Plugin is part of the client, and this cannot be changed.
    BuiltIn,
    /// Signer of the package is not trusted.
    Untrusted,
    /// One of the groups does not exist.
    UnknownGroup(GroupId),
}
