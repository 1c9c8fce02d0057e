//! Synchronisation of devices through the server, and stored chats.
//!
//! A push passes `push.rs` (validation of each item, by `item.rs`), then the
//! store's transaction (`SyncStore::apply`), which calls `plan.rs` for the
//! outcome and `quotas.rs` for the limits. A pull passes `pull.rs`, which reads
//! through `SyncReader`. Both treat every kind of item by its rules in
//! `channel.rs`: begin there, then read `plan.rs`. Chats (`chats.rs`) are larger,
//! have their own rules, and share only stamps and storage with the items.

mod channel;

mod blobs;
mod item;
mod personas;
mod readable;

mod conflict;
mod limits;
mod plan;
mod ports;
mod quotas;

mod pull;
mod push;
mod stamp_gap;
mod support;

mod chats;

pub use channel::{Channel, ChannelRules, ItemId, LimitRule, Merge, ReadOnly};
pub use chats::{
    ChatDecision, ChatId, ChatLimits, ChatListOutcome, ChatListRequest, ChatPage, ChatPutOutcome,
    ChatStore, ChatViolation, ChatWriteOutcome, Chats, ChatsVersion, DeleteChatError, GetChatError,
    IfNoneMatch, NewChat, ParseChatError, PutChatError, StoredChat, StoredChatState, Upload,
    UploadError, UploadStatus, Uploaded,
};
pub use conflict::{Conflict, Resolution};
pub use item::{Item, ItemKey, ItemRejection, MAX_ITEM_BYTES, ReceivedItem};
pub use limits::ItemLimits;
pub use plan::{ConflictStrategy, ItemWrite, PushPlan, PushPlanner, StoredItem, WriteRestrictions};
pub use ports::{
    ApplyOutcome, Catalogue, Changes, ChatInfo, Head, ItemInfo, ItemPage, ManagedPersona,
    PageLimit, PendingDevice, PendingDevices, Plugin, Policy, Row, StoredCounts, SyncAdminStore,
    SyncEvent, SyncReader, SyncStore,
};
pub use pull::{
    CatalogueSnapshot, MAX_PAGE_ROWS, PullError, PullRequest, PullService, PullState, Pulled,
};
pub use push::{
    Assigned, MAX_CHANGES_PER_PUSH, Push, PushError, PushService, PushSettings, Pushed,
};
pub use quotas::{ItemGrowth, QuotaExceeded};
pub use stamp_gap::{StampGap, StampGaps};
pub use support::{ItemCounts, Support, SupportError, SyncStatus};
