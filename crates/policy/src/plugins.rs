//! Plugins: tools that administrators publish to members' clients.
//!
//! A plugin is described first, and then its package and icon are uploaded. Members
//! get plugins of their group and built-in ones. A download passes two calls: the
//! package for the member (`package_for`), then its bytes by hash (`package_bytes`),
//! which end if another package replaces it meanwhile.

mod draft;
mod ports;

use std::sync::Arc;

use bytes::Bytes;
use pia_kernel::{
    Clock, GroupId, GroupSelection, PluginId, SideEffects, Timestamp, Unavailable, UserId,
};
use serde::Serialize;

pub use draft::{PluginContent, PluginDraft};
#[cfg(any(test, feature = "mock"))]
pub use ports::MockPluginStore;
pub use ports::{PluginChangeOutcome, PluginStore, PluginUpdate};

use crate::uploads::{UnusableUpload, UploadReader};
use crate::violation::Violation;

/// Maximum number of groups in one request.
const MAX_GROUPS: usize = 10_000;

/// Package of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PluginPackage {
    /// SHA-256 of the file, as 64 lower-case hex digits.
    pub hash: String,
    /// Size in bytes.
    pub size: u64,
}

/// Published plugin. Its contents and state are serialized for the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishedPlugin {
    /// Id of the plugin.
    #[serde(skip)]
    pub id: PluginId,
    /// Contents that administrators describe.
    #[serde(flatten)]
    pub content: PluginContent,
    /// True if the plugin is part of the client.
    pub is_built_in: bool,
    /// False if clients must not run it.
    pub is_active: bool,
    /// Package; `None` until one is uploaded.
    pub package: Option<PluginPackage>,
    /// Path of the icon on this server; `None` without an icon.
    pub icon_url: Option<String>,
    /// Time of the last change, which is the version that an update expects.
    #[serde(skip)]
    pub updated_at: Timestamp,
}

/// Plugin in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginEntry {
    /// Plugin as it is published.
    pub plugin: PublishedPlugin,
    /// Number of groups that have it.
    pub group_count: u64,
}

/// Errors that prevent a plugin from being read, changed or delivered.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// Request is invalid.
    #[error("the request is invalid")]
    Invalid(Vec<Violation>),
    /// Uploaded file is unusable.
    #[error(transparent)]
    Unusable(#[from] UnusableUpload),
    /// No such plugin, package or icon.
    #[error("there is no such plugin")]
    Unknown,
    /// Plugin was changed since the caller read it.
    #[error("the plugin was changed in the meantime")]
    Stale,
    /// Plugin is part of the client.
    #[error("the plugin is part of the client")]
    BuiltIn,
    /// Signer of the package is not trusted.
    #[error("the signer {0} is not trusted")]
    Untrusted(String),
    /// One of the groups does not exist.
    #[error("There is no group with the id {0}.")]
    UnknownGroup(GroupId),
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Creates, changes, deletes, assigns and delivers plugins.
#[derive(Clone)]
pub struct Plugins {
    store: Arc<dyn PluginStore>,
    reader: Arc<dyn UploadReader>,
    clock: Arc<dyn Clock>,
}

impl Plugins {
    /// Creates the use case over a store.
    pub fn new(
        store: Arc<dyn PluginStore>,
        reader: Arc<dyn UploadReader>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, reader, clock }
    }

    /// Returns all plugins: built-in ones, then by name.
    pub async fn list(&self) -> Result<Vec<PluginEntry>, PluginError> {
        Ok(self.store.all().await?)
    }

    /// Returns a plugin.
    pub async fn find(&self, plugin: PluginId) -> Result<PublishedPlugin, PluginError> {
        self.store.find(plugin).await?.ok_or(PluginError::Unknown)
    }

    /// Returns the groups that a plugin is assigned to.
    pub async fn groups_of(&self, plugin: PluginId) -> Result<Vec<GroupId>, PluginError> {
        self.store.groups_of(plugin).await?.ok_or(PluginError::Unknown)
    }

    /// Returns the ids and names of the plugins that members of a group get: built-in ones, then
    /// by name.
    pub async fn names_of_group(
        &self,
        group: GroupId,
    ) -> Result<Vec<(PluginId, String)>, Unavailable> {
        self.store.names_of_group(group).await
    }

    /// Creates a plugin without groups, package and icon, active unless
    /// specified otherwise.
    pub async fn create(
        &self,
        by: UserId,
        draft: PluginDraft,
    ) -> Result<PublishedPlugin, PluginError> {
        let is_active = draft.is_active.unwrap_or(true);
        let content = draft.validate().map_err(PluginError::Invalid)?;
        let plugin = PublishedPlugin {
            id: PluginId::generate(),
            content,
            is_built_in: false,
            is_active,
            package: None,
            icon_url: None,
            updated_at: self.clock.now(),
        };
        let effects = self.effects(by, plugin.id, "Plugin.Created");
        self.store.create(plugin.clone(), effects).await?;

        Ok(plugin)
    }

    /// Replaces the contents of a plugin: an omitted field is cleared, except
    /// for its state. `expected` is the version that the caller read, if it
    /// matters.
    pub async fn replace(
        &self,
        by: UserId,
        plugin: PluginId,
        draft: PluginDraft,
        expected: Option<Timestamp>,
    ) -> Result<(), PluginError> {
        let is_active = draft.is_active;
        let content = draft.validate().map_err(PluginError::Invalid)?;
        let update = PluginUpdate { content, is_active, expected };
        let at = self.clock.now();
        let effects = self.effects(by, plugin, "Plugin.Updated");
        check_changed(self.store.replace(plugin, update, at, effects).await?)
    }

    /// Deletes a plugin and its files.
    pub async fn delete(&self, by: UserId, plugin: PluginId) -> Result<(), PluginError> {
        let at = self.clock.now();
        let effects = self.effects(by, plugin, "Plugin.Deleted");
        check_changed(self.store.delete(plugin, at, effects).await?)
    }

    /// Assigns a plugin to the selected groups.
    pub async fn assign(
        &self,
        by: UserId,
        plugin: PluginId,
        groups: GroupSelection,
    ) -> Result<(), PluginError> {
        if groups.count() > MAX_GROUPS {
            let message = format!("groupIds must have at most {MAX_GROUPS} entries.");
            let violation = Violation { field: "groupIds", code: "too_many", message };
            return Err(PluginError::Invalid(vec![violation]));
        }

        let effects = self.effects(by, plugin, "Plugin.GroupsUpdated");
        check_changed(self.store.assign(plugin, groups, effects).await?)
    }

    /// Replaces the plugin's package with a cabinet that a trusted signer
    /// signed.
    pub async fn upload_package(
        &self,
        by: UserId,
        plugin: PluginId,
        file: Bytes,
    ) -> Result<PluginPackage, PluginError> {
        self.find(plugin).await?;
        let signed = self.reader.package(file.clone()).await?;
        let package = PluginPackage { hash: signed.hash.clone(), size: signed.size };
        let signer = signed.signer.clone();
        let at = self.clock.now();
        let effects = self.effects(by, plugin, "Plugin.PackageUploaded");
        match self.store.store_package(plugin, (signed, file), at, effects).await? {
            PluginChangeOutcome::Untrusted => Err(PluginError::Untrusted(signer)),
            outcome => check_changed(outcome).map(|()| package),
        }
    }

    /// Stores an image as the plugin's icon; `None` removes it.
    pub async fn upload_icon(
        &self,
        by: UserId,
        plugin: PluginId,
        image: Option<Bytes>,
    ) -> Result<(), PluginError> {
        self.find(plugin).await?;
        let icon = match image {
            Some(image) => Some(self.reader.icon(image).await?),
            None => None,
        };
        let at = self.clock.now();
        let effects = self.effects(by, plugin, "Plugin.IconUpdated");
        check_changed(self.store.store_icon(plugin, icon, at, effects).await?)
    }

    /// Returns the package of an active plugin that members of a group get.
    pub async fn package_for(
        &self,
        group: GroupId,
        plugin: PluginId,
    ) -> Result<PluginPackage, PluginError> {
        self.store
            .of_group(group, plugin)
            .await?
            .filter(|it| it.is_active)
            .and_then(|it| it.package)
            .ok_or(PluginError::Unknown)
    }

    /// Returns the icon, as PNG, of a plugin that members of a group get.
    pub async fn icon_for(&self, group: GroupId, plugin: PluginId) -> Result<Vec<u8>, PluginError> {
        let has_icon =
            self.store.of_group(group, plugin).await?.is_some_and(|it| it.icon_url.is_some());
        if !has_icon {
            return Err(PluginError::Unknown);
        }
        self.store.icon(plugin).await?.ok_or(PluginError::Unknown)
    }

    /// Returns some bytes of the package with this hash, from an offset on;
    /// `None` at its end, or if the plugin has another package by now.
    pub async fn package_bytes(
        &self,
        plugin: PluginId,
        hash: &str,
        offset: u64,
    ) -> Result<Option<Vec<u8>>, Unavailable> {
        self.store.package_bytes(plugin, hash, offset).await
    }

    fn effects(&self, by: UserId, plugin: PluginId, action: &'static str) -> SideEffects {
        let at = self.clock.now();
        let object = format!("plugin:{plugin}");
        SideEffects::of_object(at, Some(by), object, action)
    }
}

fn check_changed(outcome: PluginChangeOutcome) -> Result<(), PluginError> {
    match outcome {
        PluginChangeOutcome::Done => Ok(()),
        PluginChangeOutcome::Unknown => Err(PluginError::Unknown),
        PluginChangeOutcome::Stale => Err(PluginError::Stale),
        PluginChangeOutcome::BuiltIn => Err(PluginError::BuiltIn),
        PluginChangeOutcome::Untrusted => Err(PluginError::Untrusted(String::new())),
        PluginChangeOutcome::UnknownGroup(group) => Err(PluginError::UnknownGroup(group)),
    }
}
