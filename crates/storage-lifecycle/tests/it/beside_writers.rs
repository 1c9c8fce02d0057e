//! Contract tests of erasure beside concurrent writers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use pia_identity::{Account, AccountCreationOutcome, AccountStore, NewAccount, Role};
use pia_kernel::{Eraser, ErasureOutcome, Secret, SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_chats::SqlChats;
use pia_storage_identity::SqlAccounts;
use pia_storage_lifecycle::SqlEraser;
use pia_storage_sync::SqlSyncStore;
use pia_sync::{
    ApplyOutcome, Changes, Channel, ChatId, ChatLimits, ChatStore, ChatWriteOutcome, Item, ItemKey,
    NewChat, PushSettings, SyncStore,
};
use uuid::Uuid;

use crate::people::{AT, create_person, erasure_of, sealer};

pia_testkit::contract! {
    a_deletion_neither_fails_concurrent_writers_nor_delays_registrations,
}

const WRITERS: u128 = 8;
/// Maximum wait of registrations, but for one in a hundred.
const MAX_WAIT: Duration = Duration::from_millis(200);
const LIMITS: ChatLimits = ChatLimits { chats: 1_000_000, storage: u64::MAX >> 1 };

fn at(number: u128) -> Timestamp {
    AT + Duration::from_millis(u64::try_from(number).unwrap())
}

/// Stores chats and items until the account is gone, and returns their number.
async fn write(db: &Database, user: UserId, writer: u128) -> u32 {
    let chats = SqlChats::new(db.clone(), sealer(db));
    let items = SqlSyncStore::new(db.clone(), sealer(db));
    let mut written = 0;
    for number in 1.. {
        let id = Uuid::from_u128(number * WRITERS + writer);
        let chat = NewChat {
            id: ChatId(id),
            created_at: at(number),
            updated_at: at(number),
            accessed_at: None,
            encrypted: false,
            text: vec![b'x'; 10_000],
        };
        let stored = chats.put(user, &chat, LIMITS, at(number)).await.unwrap();
        let key = ItemKey { channel: Channel::Memories, id };
        let body = format!(r#"{{"id":"{id}"}}"#);
        let item = Item { key, changed_at: at(number), encrypted: false, body };
        let changes = Changes {
            encrypted: false,
            items: vec![item],
            deletes: Vec::new(),
            seen_up_to: None,
            deleted_at: at(number),
            device: None,
            refused: Vec::new(),
            now: at(number),
        };
        let pushed = items.apply(user, changes, &PushSettings::default()).await.unwrap();
        match (stored, pushed) {
            (ChatWriteOutcome::Gone, ApplyOutcome::Gone) => return written,
            (_, ApplyOutcome::Gone) => {}
            (
                ChatWriteOutcome::Created { .. },
                ApplyOutcome::Done { .. } | ApplyOutcome::OverQuota(_),
            ) => {
                written += 2;
            }
            outcomes => panic!("{outcomes:?}"),
        }
    }
    written
}

/// Registers accounts until the end, and returns the wait of each.
async fn register(db: &Database, ended: &AtomicBool) -> Vec<Duration> {
    let accounts = SqlAccounts::new(db.clone());
    let mut waits = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        let user = UserId::generate();
        let account = Account::local(user, format!("{user}@example.com"), AT);
        let new = NewAccount::local(account, Secret::new("a hash".to_owned()));
        let began = Instant::now();
        let registered = accounts.register(new, Some(1_000_000), SideEffects::default()).await;
        waits.push(began.elapsed());
        assert_eq!(registered.unwrap(), AccountCreationOutcome::Stored);
    }
    waits
}

async fn a_deletion_neither_fails_concurrent_writers_nor_delays_registrations(db: Database) {
    let ended = AtomicBool::new(false);
    let leaving = async {
        for role in [Role::User, Role::User, Role::User, Role::OrgManager] {
            let leaver = create_person(&db, role).await;
            let writers = join_all((0..WRITERS).map(|it| write(&db, leaver.user, it)));
            let leave = async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                SqlEraser::new(db.clone()).erase(erasure_of(leaver)).await.unwrap()
            };
            let (written, erased) = join(writers, leave).await;
            assert_eq!(erased, ErasureOutcome::Erased);
            assert!(written.iter().sum::<u32>() > 0, "{written:?}");
        }
        ended.store(true, Ordering::Relaxed);
    };

    let (mut waits, ()) = join(register(&db, &ended), leaving).await;

    waits.sort_unstable();
    let count = waits.len();
    let p99 = waits[waits.len() * 99 / 100];
    assert!(p99 < MAX_WAIT, "{p99:?} of {count}");
}
