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
mod silence;
mod support;

mod chats;

pub use channel::{Channel, Merge, Rules};
pub use chats::{
    ChatFault, ChatId, ChatLimits, ChatPage, ChatStore, ChatWritten, Chats, ChatsPart,
    ChatsVersion, DeleteChatError, GetChatError, KeptChat, ListedChats, NewChat, PutChat,
    PutChatError, StoredChat, Unless, UnreadableChat, Upload, UploadError, UploadStatus, Uploaded,
    Verdict,
};
pub use conflict::{Conflict, Resolution};
pub use item::{Item, Key, MOST_BYTES, Refusal, Sent};
pub use limits::Limits;
pub use plan::{Kept, Plan, Planner, Strategy, Write};
pub use ports::{
    Applied, Catalogue, Changes, ChatHolding, Head, Holding, ManagedPersona, Page, PendingDevice,
    PendingDevices, Plugin, Policy, Room, Row, SyncEvent, SyncHoldings, SyncReader, SyncStore,
};
pub use pull::{Ask, MOST_ROWS, Offered, PullError, Pulled, Pulling, Standing};
pub use push::{Assigned, MOST_IN_A_PUSH, Push, PushError, PushSettings, Pushed, Pushing};
pub use silence::{Silence, Silences};
pub use support::{Count, Support, SupportError, SyncStatus};
