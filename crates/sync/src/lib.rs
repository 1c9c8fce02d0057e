//! Synchronisation of devices through the server, and stored chats.

mod channel;

mod blobs;
mod item;
mod personas;
mod readable;

mod conflict;
mod limits;
mod plan;
mod ports;

mod pull;
mod push;
mod stamp_gap;
mod support;

mod chats;

pub use channel::{Channel, Merge, Rules};
pub use chats::{
    ChatId, ChatLimits, ChatPage, ChatStore, ChatViolation, ChatWritten, Chats, ChatsPart,
    ChatsVersion, DeleteChatError, GetChatError, KeptChat, ListedChats, NewChat, PutChat,
    PutChatError, StoredChat, Unless, UnreadableChat, Upload, UploadError, UploadStatus, Uploaded,
    Verdict,
};
pub use conflict::{Conflict, Resolution};
pub use item::{Item, Key, MAX_ITEM_BYTES, Refusal, Sent};
pub use limits::Limits;
pub use plan::{Plan, Planner, StoredItem, Strategy, Write};
pub use ports::{
    Applied, Catalogue, Changes, ChatHolding, Head, ItemInfo, ItemPage, ManagedPersona, PageLimit,
    PendingDevice, PendingDevices, Plugin, Policy, Row, SyncEvent, SyncHoldings, SyncReader,
    SyncStore,
};
pub use pull::{
    CatalogueSnapshot, MAX_PAGE_ROWS, PullError, PullRequest, PullState, Pulled, Pulling,
};
pub use push::{Assigned, MAX_CHANGES_PER_PUSH, Push, PushError, PushSettings, Pushed, Pushing};
pub use stamp_gap::{Silences, StampGap};
pub use support::{Count, Support, SupportError, SyncStatus};
