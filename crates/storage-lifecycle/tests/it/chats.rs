//! Contract tests of the export of chats.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::Role;
use pia_kernel::{PersonalData, UserId};
use pia_sealing::SealContext;
use pia_storage::schema::chats;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_lifecycle::SqlPersonalData;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::people::{AT, create_person, execute, sealer};

pia_testkit::contract! {
    chats_are_exported_unchanged,
    many_and_long_chats_are_exported_in_pages,
    an_undecryptable_chat_is_exported_without_its_document,
}

/// Stores a chat with this document; a deleted one without.
async fn store_chat(db: &Database, user: UserId, number: u128, document: Option<&str>) {
    let id = Uuid::from_u128(number);
    let context = SealContext { purpose: "chat", row: id.as_bytes() };
    let seal = sealer(db).seal_for(user).await.unwrap().unwrap();
    let body = document.map(|it| seal.seal(context, it.as_bytes()).unwrap());
    let row = diesel::insert_into(chats::table).values((
        chats::user_id.eq(DbUid(user.0)),
        chats::id.eq(DbUid(id)),
        chats::stamp.eq(DbInstant(AT)),
        chats::created_at.eq(DbInstant(AT)),
        chats::updated_at.eq(DbInstant(AT)),
        chats::deleted_at.eq(document.is_none().then_some(DbInstant(AT))),
        chats::encrypted.eq(false),
        chats::size.eq(i32::try_from(document.map_or(0, str::len)).unwrap()),
        chats::body.eq(body),
    ));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| row.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
}

/// Chats that were exported page after page.
struct ExportedChats {
    rows: Vec<String>,
    page_count: usize,
}

async fn export_chats(db: &Database, user: UserId) -> ExportedChats {
    let data = SqlPersonalData::new(db.clone(), sealer(db));
    let mut exported = ExportedChats { rows: Vec::new(), page_count: 0 };
    let mut after = None;
    loop {
        let page = data.page(user, "chats", after).await.unwrap();
        exported.rows.extend(page.rows);
        exported.page_count += 1;
        after = page.next;
        if after.is_none() {
            return exported;
        }
    }
}

async fn chats_are_exported_unchanged(db: Database) {
    let ada = create_person(&db, Role::User).await.user;
    let bob = create_person(&db, Role::User).await.user;
    store_chat(&db, ada, 2, Some(r#"{"n":1.0,"null":null}"#)).await;
    store_chat(&db, ada, 1, None).await;
    store_chat(&db, bob, 3, Some("{}")).await;

    let rows = export_chats(&db, ada).await.rows;

    let [live, deleted] = &rows[..] else { panic!("{rows:?}") };
    assert!(
        live.ends_with(r#""encrypted":false,"size":21,"body":{"n":1.0,"null":null}}"#),
        "{live}"
    );
    let deleted: Value = serde_json::from_str(deleted).unwrap();
    assert_eq!(deleted["deletedAt"], json!("1970-01-01T00:00:00Z"));
    assert_eq!(deleted.get("body"), None);
}

async fn many_and_long_chats_are_exported_in_pages(db: Database) {
    let ada = create_person(&db, Role::User).await.user;
    let long = format!("\"{}\"", "x".repeat(3 << 20));
    for number in 1..=3 {
        store_chat(&db, ada, number, Some(&long)).await;
    }
    for number in 4..=53 {
        store_chat(&db, ada, number, Some("{}")).await;
    }

    let exported = export_chats(&db, ada).await;

    assert_eq!(exported.rows.len(), 53);
    assert_eq!(exported.page_count, 4);
}

async fn an_undecryptable_chat_is_exported_without_its_document(db: Database) {
    let ada = create_person(&db, Role::User).await.user;
    store_chat(&db, ada, 1, Some("{}")).await;
    let seal = sealer(&db).seal_for(ada).await.unwrap().unwrap();
    let mut sealed_body = seal.seal(SealContext { purpose: "x", row: b"" }, b"{}").unwrap();
    // The first byte is the format, those behind it identify the master key.
    sealed_body[1] ^= 1;
    let hex = sealed_body.iter().fold(String::new(), |hex, it| format!("{hex}{it:02x}"));
    let literal = match db.provider() {
        pia_storage::DatabaseKind::Sqlite => format!("X'{hex}'"),
        pia_storage::DatabaseKind::Postgres => format!("'\\x{hex}'::bytea"),
    };
    execute(&db, &format!("UPDATE chats SET body = {literal}")).await;

    let rows = export_chats(&db, ada).await.rows;

    assert_eq!(rows.len(), 1);
    assert!(!rows[0].contains("body"), "{}", rows[0]);
}
