//! Contract tests of the log of sign-in attempts.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    FailedSignIn, SessionStartOutcome, SessionStore, SignInEntry, SignInLog, SignInMethod,
    SignInOutcome, TokenHash,
};
use pia_kernel::{Cursor, PageRequest, SessionId, SideEffects, Timestamp, UserId};
use pia_storage::schema::{audit_entries, audit_identities, sign_ins};
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_storage_identity::{SqlSessions, SqlSignIns};

use crate::people::{HOUR, START, create_person, device, new_session, nothing, remove};

pia_testkit::contract! {
    a_sign_in_is_stored_longer_than_its_session,
    a_refused_session_start_records_no_sign_in,
    a_failure_is_stored_for_its_account,
    a_failure_without_an_account_is_not_stored,
    every_failure_is_audited,
    a_failure_that_cannot_be_audited_is_not_stored,
    attempts_are_listed_in_pages_newest_first,
    old_attempts_are_swept,
    attempts_are_deleted_with_their_account,
}

fn failure(user: Option<UserId>, at: Timestamp) -> FailedSignIn {
    let outcome = SignInOutcome::WrongPassword;
    let method = SignInMethod::Password;
    FailedSignIn { user, at, outcome, method, device: device() }
}

fn audit(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::about(at, user, "failed")
}

async fn begin(db: &Database, user: UserId) -> Option<SessionId> {
    let new = new_session(user, TokenHash([1; 32]), START);
    let session = new.session;
    let sessions = SqlSessions::new(db.clone());
    let started = sessions.begin(new, 10, SideEffects::default(), nothing()).await;
    (started.unwrap() == SessionStartOutcome::Done).then_some(session)
}

async fn list(db: &Database, user: UserId) -> Vec<SignInEntry> {
    let page = PageRequest { after: None, limit: 100 };
    SqlSignIns::new(db.clone()).page(user, page).await.unwrap()
}

fn only(mut entries: Vec<SignInEntry>) -> SignInEntry {
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

/// Returns the number of recorded attempts of all accounts.
async fn count_recorded(db: &Database) -> i64 {
    let all = sign_ins::table.count();
    let result: Result<i64, DbError> = on_conn!(db.reader(), |conn| all.get_result(conn).await?);
    result.unwrap()
}

/// Returns the subject of each entry of a failure, in order.
async fn audited_subjects(db: &Database) -> Vec<Option<DbUid>> {
    let failures = audit_entries::table
        .inner_join(audit_identities::table)
        .filter(audit_entries::action.eq("failed"))
        .order(audit_entries::id)
        .select(audit_identities::user_id);
    let result: Result<Vec<Option<DbUid>>, DbError> =
        on_conn!(db.reader(), |conn| failures.load(conn).await?);
    result.unwrap()
}

async fn a_sign_in_is_stored_longer_than_its_session(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let session = begin(&db, user).await;

    SqlSessions::new(db.clone()).sweep(START + HOUR).await.unwrap();

    let entry = only(list(&db, user).await);
    assert_eq!(entry.at, START);
    assert_eq!(entry.session, session);
    assert_eq!(entry.device, device());
    assert_eq!(entry.outcome, "signed_in");
    assert_eq!(entry.method, "password");
}

async fn a_refused_session_start_records_no_sign_in(db: Database) {
    let started = begin(&db, UserId::generate()).await;

    assert_eq!(started, None);
    assert_eq!(count_recorded(&db).await, 0);
}

async fn a_failure_is_stored_for_its_account(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;

    SqlSignIns::new(db.clone()).record_failure(failure(Some(ada), START), audit).await.unwrap();

    let entry = only(list(&db, ada).await);
    assert_eq!(entry.at, START);
    assert_eq!(entry.session, None);
    assert_eq!(entry.device, device());
    assert_eq!(entry.outcome, "wrong_password");
    assert_eq!(entry.method, "password");
    assert_eq!(list(&db, bob).await, []);
}

async fn a_failure_without_an_account_is_not_stored(db: Database) {
    let log = SqlSignIns::new(db.clone());

    log.record_failure(failure(None, START), audit).await.unwrap();
    log.record_failure(failure(Some(UserId::generate()), START), audit).await.unwrap();

    assert_eq!(count_recorded(&db).await, 0);
}

async fn every_failure_is_audited(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let missing_user = UserId::generate();
    let log = SqlSignIns::new(db.clone());

    for user in [Some(ada), None, Some(missing_user)] {
        log.record_failure(failure(user, START), audit).await.unwrap();
    }

    let about = audited_subjects(&db).await;
    let hers: Vec<_> = about.iter().map(|it| *it == Some(DbUid(ada.0))).collect();
    assert_eq!(hers, [true, false, false]);
    assert!(about.iter().all(Option::is_some), "{about:?}");
    assert!(!about.contains(&Some(DbUid(missing_user.0))), "who is gone is named no more");
}

async fn a_failure_that_cannot_be_audited_is_not_stored(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let statement = diesel::sql_query("DROP TABLE audit_identities");
    let drop_result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| statement.execute(conn).await?);

    let record_result =
        SqlSignIns::new(db.clone()).record_failure(failure(Some(ada), START), audit).await;

    assert!(drop_result.is_ok() && record_result.is_err(), "{drop_result:?} {record_result:?}");
    assert_eq!(count_recorded(&db).await, 0);
}

async fn attempts_are_listed_in_pages_newest_first(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let log = SqlSignIns::new(db.clone());
    // Three at a time, so that the time alone does not sort them.
    for second in [2, 0, 1, 1, 2, 0, 0, 1, 2] {
        log.record_failure(failure(Some(user), START + Duration::from_secs(second)), audit)
            .await
            .unwrap();
    }

    let mut entries = Vec::new();
    let mut after = None;
    for size in [4, 4, 1] {
        let page = log.page(user, PageRequest { after, limit: 4 }).await.unwrap();
        assert_eq!(page.len(), size);
        after = page.last().map(|it| Cursor { at: it.at, id: it.id.0 });
        entries.extend(page);
    }

    let places: Vec<_> = entries.iter().map(|it| (it.at, it.id)).collect();
    assert!(places.is_sorted_by(|one, next| one > next), "{places:?}");
}

async fn old_attempts_are_swept(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let log = SqlSignIns::new(db.clone());
    for second in 0..5 {
        log.record_failure(failure(Some(user), START + Duration::from_secs(second)), audit)
            .await
            .unwrap();
    }

    let swept = log.sweep(START + Duration::from_secs(3)).await.unwrap();

    let remaining_times: Vec<_> = list(&db, user).await.into_iter().map(|it| it.at).collect();
    assert_eq!(swept, 3);
    assert_eq!(remaining_times, [START + Duration::from_secs(4), START + Duration::from_secs(3)]);
}

async fn attempts_are_deleted_with_their_account(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    begin(&db, user).await;
    SqlSignIns::new(db.clone()).record_failure(failure(Some(user), START), audit).await.unwrap();

    remove(&db, user).await;

    assert_eq!(count_recorded(&db).await, 0);
}
