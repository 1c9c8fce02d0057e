//! People's salts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{Timestamp, UserId};
use pia_sealing::{Salt, SaltStore};
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_sealing::SqlSalts;

pia_testkit::contract! {
    of_many_salts_at_once_one_is_stored_and_reported_to_all,
    a_salt_stays_whatever_is_offered_later,
    people_have_salts_of_their_own,
    a_salt_goes_with_its_account_and_nobody_without_one_has_any,
    salts_requested_beside_a_deletion_are_granted_or_not_and_nothing_fails,
}

async fn person(db: &Database) -> UserId {
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
    let insert = diesel::insert_into(accounts::table).values(row);
    let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| insert.execute(conn).await?);
    assert_eq!(done.unwrap(), 1);
    user
}

async fn remove(db: &Database, user: UserId) {
    let delete = diesel::delete(accounts::table.find(DbUid(user.0)));
    let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| delete.execute(conn).await?);
    assert_eq!(done.unwrap(), 1);
}

async fn of_many_salts_at_once_one_is_stored_and_reported_to_all(db: Database) {
    let (user, salts) = (person(&db).await, SqlSalts::new(db));

    let reported = join_all((0..64).map(|it| salts.salt(user, Salt([it; 32])))).await;

    let reported: Vec<Salt> = reported.into_iter().map(|it| it.unwrap().unwrap()).collect();
    assert!(reported.windows(2).all(|it| it[0] == it[1]));
    assert_eq!(salts.find(user).await.unwrap(), Some(reported[0].clone()));
}

async fn a_salt_stays_whatever_is_offered_later(db: Database) {
    let (user, salts) = (person(&db).await, SqlSalts::new(db));
    let before = salts.find(user).await.unwrap();

    let first = salts.salt(user, Salt([1; 32])).await.unwrap();
    let second = salts.salt(user, Salt([2; 32])).await.unwrap();

    assert!(before.is_none());
    assert!(first == Some(Salt([1; 32])) && second == first);
}

async fn people_have_salts_of_their_own(db: Database) {
    let (one, other) = (person(&db).await, person(&db).await);
    let salts = SqlSalts::new(db);

    salts.salt(one, Salt([1; 32])).await.unwrap();
    salts.salt(other, Salt([2; 32])).await.unwrap();

    assert!(salts.find(one).await.unwrap() == Some(Salt([1; 32])));
    assert!(salts.find(other).await.unwrap() == Some(Salt([2; 32])));
}

async fn a_salt_goes_with_its_account_and_nobody_without_one_has_any(db: Database) {
    let (user, salts) = (person(&db).await, SqlSalts::new(db.clone()));
    salts.salt(user, Salt([1; 32])).await.unwrap();

    remove(&db, user).await;

    assert!(salts.find(user).await.unwrap().is_none());
    assert!(salts.salt(user, Salt([1; 32])).await.unwrap().is_none());
    assert!(salts.salt(UserId::generate(), Salt([1; 32])).await.unwrap().is_none());
}

async fn salts_requested_beside_a_deletion_are_granted_or_not_and_nothing_fails(db: Database) {
    for _ in 0..8 {
        let (user, salts) = (person(&db).await, SqlSalts::new(db.clone()));

        let requested = join_all((0..8).map(|it| salts.salt(user, Salt([it; 32]))));
        let (reported, ()) = futures_util::join!(requested, remove(&db, user));

        assert!(reported.iter().all(Result::is_ok), "{:?}", reported.iter().find(|it| it.is_err()));
        assert!(salts.find(user).await.unwrap().is_none());
    }
}
