//! What devices keep in step through the server, and chats as stored things.

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
    ChatViolation, ChatId, ChatLimits, ChatPage, ChatStore, ChatWritten, Chats, ChatsPart,
    ChatsVersion, DeleteChatError, GetChatError, KeptChat, ListedChats, NewChat, PutChat,
    PutChatError, StoredChat, Unless, UnreadableChat, Upload, UploadError, UploadStatus, Uploaded,
    Verdict,
};
pub use conflict::{Conflict, Resolution};
pub use item::{Item, Key, MAX_ITEM_BYTES, Refusal, Sent};
pub use limits::Limits;
pub use plan::{StoredItem, Plan, Planner, Strategy, Write};
pub use ports::{
    Applied, Catalogue, Changes, ChatHolding, Head, ItemInfo, ManagedPersona, ItemPage, PendingDevice,
    PendingDevices, Plugin, Policy, PageLimit, Row, SyncEvent, SyncHoldings, SyncReader, SyncStore,
};
pub use pull::{PullRequest, MAX_PAGE_ROWS, CatalogueSnapshot, PullError, Pulled, Pulling, PullState};
pub use push::{Assigned, MAX_CHANGES_PER_PUSH, Push, PushError, PushSettings, Pushed, Pushing};
pub use stamp_gap::{StampGap, Silences};
pub use support::{Count, Support, SupportError, SyncStatus};
