//! Stored chats over their adapter.

use std::sync::Arc;

use pia_storage_chats::SqlChats;
use pia_sync::Chats;

use super::infrastructure::Infrastructure;

pub(super) fn compose(base: &Infrastructure<'_>) -> Chats {
    let store = Arc::new(SqlChats::new(base.db.clone(), base.sealer.clone()));
    Chats::new(store, base.config.follow(|it| it.sync.chats), base.clock())
}
