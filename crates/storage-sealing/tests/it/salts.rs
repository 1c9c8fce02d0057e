//! Contract tests of salts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{Timestamp, UserId};
use pia_sealing::{Salt, SaltStore};
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_sealing::SqlSalts;

pia_testkit::contract! {
    concurrent_calls_agree_on_one_salt,
    a_stored_salt_is_never_replaced,
    each_user_has_their_own_salt,
    a_salt_is_deleted_with_its_account,
    a_concurrent_deletion_fails_no_lookup,
}

async fn new_user(db: &Database) -> UserId {
    let user = UserId::generate();
    let email = format!("{user}@example.org");
    let row = (
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(&email),
        accounts::email_folded.eq(&email),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(Timestamp::UNIX_EPOCH)),
    );
    let insertion = diesel::insert_into(accounts::table).values(row);
    let inserted_rows: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);
    assert_eq!(inserted_rows.unwrap(), 1);
    user
}

async fn delete_user(db: &Database, user: UserId) {
    let deletion = diesel::delete(accounts::table.find(DbUid(user.0)));
    let deleted_rows: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| deletion.execute(conn).await?);
    assert_eq!(deleted_rows.unwrap(), 1);
}

async fn concurrent_calls_agree_on_one_salt(db: Database) {
    let user = new_user(&db).await;
    let salts = SqlSalts::new(db);

    let results = join_all((0..64).map(|it| salts.salt(user, Salt([it; 32])))).await;

    let returned_salts: Vec<Salt> = results.into_iter().map(|it| it.unwrap().unwrap()).collect();
    assert!(returned_salts.windows(2).all(|it| it[0] == it[1]));
    assert_eq!(salts.find(user).await.unwrap(), Some(returned_salts[0].clone()));
}

async fn a_stored_salt_is_never_replaced(db: Database) {
    let user = new_user(&db).await;
    let salts = SqlSalts::new(db);
    assert!(salts.find(user).await.unwrap().is_none());

    for fresh_byte in [1, 2] {
        let salt = salts.salt(user, Salt([fresh_byte; 32])).await.unwrap();
        assert_eq!(salt, Some(Salt([1; 32])));
    }
}

async fn each_user_has_their_own_salt(db: Database) {
    let ada = new_user(&db).await;
    let bob = new_user(&db).await;
    let salts = SqlSalts::new(db);

    salts.salt(ada, Salt([1; 32])).await.unwrap();
    salts.salt(bob, Salt([2; 32])).await.unwrap();

    assert_eq!(salts.find(ada).await.unwrap(), Some(Salt([1; 32])));
    assert_eq!(salts.find(bob).await.unwrap(), Some(Salt([2; 32])));
}

async fn a_salt_is_deleted_with_its_account(db: Database) {
    let user = new_user(&db).await;
    let salts = SqlSalts::new(db.clone());
    salts.salt(user, Salt([1; 32])).await.unwrap();

    delete_user(&db, user).await;

    assert!(salts.find(user).await.unwrap().is_none());
    assert!(salts.salt(user, Salt([1; 32])).await.unwrap().is_none());
    assert!(salts.salt(UserId::generate(), Salt([1; 32])).await.unwrap().is_none());
}

async fn a_concurrent_deletion_fails_no_lookup(db: Database) {
    for _ in 0..8 {
        let user = new_user(&db).await;
        let salts = SqlSalts::new(db.clone());

        let lookups = join_all((0..8).map(|it| salts.salt(user, Salt([it; 32]))));
        let (results, ()) = futures_util::join!(lookups, delete_user(&db, user));

        for result in results {
            assert!(result.is_ok(), "{result:?}");
        }
        assert!(salts.find(user).await.unwrap().is_none());
    }
}
