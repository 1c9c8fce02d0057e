//! Stored chats over their adapter.

use std::sync::Arc;

use pia_kernel::Clock;
use pia_sealing::Sealer;
use pia_storage::Database;
use pia_storage_chats::SqlChats;
use pia_sync::Chats;

use pia_settings::LiveConfig;

pub(super) fn compose(
    config: &LiveConfig,
    (db, sealer): (&Database, &Sealer),
    clock: &Arc<dyn Clock>,
) -> Chats {
    let store = Arc::new(SqlChats::new(db.clone(), sealer.clone()));
    Chats::new(store, config.follow(|it| it.sync.chats), Arc::clone(clock))
}
