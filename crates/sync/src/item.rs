//! Synchronised items, as received and as stored.
//!
//! `ReceivedItem::into_item` is the only way from one to the other: it checks the
//! form, drops what an encrypted item must not contain in plaintext, and writes
//! the body that devices receive. `push.rs` calls it; rejections become conflicts
//! of the push.

use pia_kernel::{Timestamp, UserId};
use ring::digest;
use serde_json::{Map, Value};
use uuid::{Builder, Uuid};

use crate::blobs;
use crate::channel::{Channel, ItemId};
use crate::readable;

/// Maximum size of an item's text, in bytes: as much as an encrypted one.
pub const MAX_ITEM_BYTES: usize = 1_400_000;

/// Key of a user's item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    /// Channel of the item.
    pub channel: Channel,
    /// Id, assigned by the device that created it; nil for the item of a single channel,
    /// the plugin's for its preferences.
    pub id: Uuid,
}

/// Item as a device sent it: the known keys of its channel in their documented
/// spelling, and any others.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedItem {
    /// Channel of the item.
    pub channel: Channel,
    /// Fields of the item, as the device sent them.
    pub fields: Map<String, Value>,
}

/// Item that may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Key of the item.
    pub key: ItemKey,
    /// Time of the last change, by its device's clock.
    pub changed_at: Timestamp,
    /// True if the item is end-to-end encrypted but for its plaintext fields.
    pub encrypted: bool,
    /// Item as a JSON object, as devices receive it.
    pub body: String,
}

impl Item {
    /// Returns the size of its body, in bytes.
    pub fn size(&self) -> u32 {
        u32::try_from(self.body.len()).unwrap_or(u32::MAX)
    }
}

/// Reasons for rejecting an item while others of its push are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemRejection {
    /// Item lacks a field that an encrypted push must have.
    MissingBlobs,
    /// The encrypted parts are not base64, or have an impossible length.
    InvalidBlobs,
    /// Item is too long.
    TooLarge,
    /// Persona lacks a required field, or a field is too long.
    InvalidPersona,
    /// Item is managed by the operator and cannot be changed.
    Managed,
    /// Item has a value that some devices could never read.
    Unreadable,
    /// Item is nested deeper than devices read.
    TooDeep,
    /// Item is encrypted, but the account was reset and is not: the key is lost.
    AccountPlain,
}

impl ItemRejection {
    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingBlobs => "missing_blobs",
            Self::InvalidBlobs => "invalid_blobs",
            Self::TooLarge => "too_large",
            Self::InvalidPersona => "invalid_persona",
            Self::Managed => "managed_persona",
            Self::Unreadable => "unreadable",
            Self::TooDeep => "too_deep",
            Self::AccountPlain => "account_not_encrypted",
        }
    }
}

impl ReceivedItem {
    /// Returns its own id, or that of a single item; `None` if it has none.
    pub fn id(&self) -> Option<Uuid> {
        let key = match self.channel.rules().item_id {
            ItemId::Own => "id",
            ItemId::OfPlugin => "pluginId",
            ItemId::Single => return Some(Uuid::nil()),
        };
        self.fields.get(key)?.as_str()?.parse().ok()
    }

    /// Derives an id for an item without one: equal items of an account get the
    /// same, so that a replay creates no second item.
    pub fn derived_id(&self, user: UserId) -> Uuid {
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(user.0.as_bytes());
        hash.update(&self.channel.code().to_be_bytes());
        hash.update(Value::Object(self.fields.clone()).to_string().as_bytes());
        let bytes = hash.finish().as_ref().first_chunk().copied().unwrap_or_default();
        Builder::from_custom_bytes(bytes).into_uuid()
    }

    /// Returns the item to store. `id` is its own or a derived one, `encrypted_push` the
    /// promise of the push that all items are encrypted, and `default_changed_at` the
    /// time of its change if it names none.
    pub fn into_item(
        mut self,
        id: Uuid,
        encrypted_push: bool,
        default_changed_at: Timestamp,
    ) -> Result<Item, ItemRejection> {
        let rules = self.channel.rules();
        let encrypted = blobs::check(&self.fields)?;
        if encrypted {
            self.fields.retain(|key, _| {
                rules.plaintext_fields.contains(&key.as_str())
                    || blobs::BLOB_KEYS.contains(&key.as_str())
            });
        } else if encrypted_push && rules.may_be_encrypted {
            return Err(ItemRejection::MissingBlobs);
        } else {
            readable::check_depth(&self.fields)?;
            (rules.check)(&self.fields)?;
        }

        let changed_at = rules.timestamp_fields.iter().find_map(|it| time(self.fields.get(*it)?));

        if rules.item_id == ItemId::Own {
            self.fields.insert("id".to_owned(), id.to_string().into());
        }

        let body = Value::Object(self.fields).to_string();
        if body.len() > MAX_ITEM_BYTES {
            return Err(ItemRejection::TooLarge);
        }

        let key = ItemKey { channel: self.channel, id };

        Ok(Item { key, changed_at: changed_at.unwrap_or(default_changed_at), encrypted, body })
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    serde::Deserialize::deserialize(value).ok()
}

#[cfg(test)]
mod tests;
