//! Contract tests of passkeys.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    FactorChange, NewPasskey, PasskeyChange, PasskeyCreationOutcome, PasskeyCredential,
    PasskeyEntry, PasskeyStore, PasskeyUse, PasskeyUseOutcome, SessionStartOutcome, SessionStore,
    TokenHash,
};
use pia_kernel::{PasskeyId, QueuedEmail, SessionId, SideEffects, Timestamp, UserId};
use pia_storage::schema::{mails, sessions};
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_storage_identity::{SqlPasskeys, SqlSessions};

use crate::people::{
    START, begin_as_of, count_audited, create_person, deactivate, epoch, fresh, new_session, only,
    remove,
};

pia_testkit::contract! {
    passkeys_are_listed_in_the_order_they_were_added,
    a_passkey_is_found_by_its_credential_id,
    one_of_concurrent_passkeys_of_one_credential_is_stored,
    concurrent_passkeys_respect_the_limit,
    a_change_ends_the_other_sessions_and_writes_its_effects,
    an_ended_session_changes_nothing,
    a_foreign_passkey_is_not_removed,
    one_of_concurrent_removals_succeeds,
    a_counter_only_increases,
    a_blocked_passkey_is_unblocked_by_its_owner,
    one_of_concurrent_uses_with_one_counter_is_recorded,
    a_passkey_without_a_counter_is_reusable,
    the_use_of_a_removed_passkey_is_not_recorded,
    a_removed_passkey_starts_no_session,
    passkeys_of_a_deactivated_account_are_not_found,
    passkeys_are_deleted_with_their_account,
}

/// Creates a user with a session, and a store of passkeys.
async fn create_ada(db: &Database) -> (UserId, SessionId, SqlPasskeys) {
    let user = create_person(db, "ada@example.org").await;
    (user, start_session(db, user, 1).await, SqlPasskeys::new(db.clone()))
}

async fn start_session(db: &Database, user: UserId, number: u8) -> SessionId {
    let new = new_session(user, TokenHash([number; 32]), START);
    let session = new.session;
    let sessions = SqlSessions::new(db.clone());
    sessions.begin(fresh(db, new).await, 10, SideEffects::default(), only(nothing)).await.unwrap();
    session
}

/// Stores a passkey of the user.
pub(crate) async fn add_to(db: &Database, user: UserId) {
    let session = start_session(db, user, 250).await;
    let store = SqlPasskeys::new(db.clone());
    let change = FactorChange { effects: SideEffects::default(), ..change(user, session, "added") };
    assert_eq!(store.add(change, passkey(1, 0), 10).await.unwrap(), PasskeyCreationOutcome::Stored);
}

fn nothing(_: UserId, _: Timestamp) -> SideEffects {
    SideEffects::default()
}

fn change(user: UserId, session: SessionId, action: &'static str) -> FactorChange {
    let email = QueuedEmail::new("passkey-added").with("name", "Key").to_user(START, user);
    let effects = SideEffects::audit(START, user, action).and_mail(email);
    let if_ended = |user, at| SideEffects::audit(at, user, "ended");
    FactorChange { user, session, at: START, effects, if_ended }
}

fn passkey(number: u8, counter: u32) -> NewPasskey {
    let key = format!("key {number}");
    let credential = PasskeyCredential { id: vec![number; 16], key, counter };
    NewPasskey { id: PasskeyId::generate(), name: format!("Key {number}"), credential }
}

async fn add(
    db: &Database,
    user: UserId,
    session: SessionId,
    new: &NewPasskey,
) -> PasskeyCreationOutcome {
    let change = change(user, session, "added");
    SqlPasskeys::new(db.clone()).add(change, new.clone(), 20).await.unwrap()
}

async fn remove_passkey(db: &Database, user: UserId, session: SessionId, id: PasskeyId) -> bool {
    SqlPasskeys::new(db.clone()).remove(change(user, session, "removed"), id).await.unwrap()
}

async fn record_use(db: &Database, user: UserId, id: PasskeyId, counter: u32) -> PasskeyUseOutcome {
    let effects = SideEffects::audit(START, user, "used");
    let if_rolled_back = SideEffects::about(START, user, "rolled back");
    let passkey_use = PasskeyUse { id, user, counter, at: START, effects, if_rolled_back };
    SqlPasskeys::new(db.clone()).record_use(passkey_use).await.unwrap()
}

fn count<T: PartialEq>(all: &[T], outcome: &T) -> usize {
    all.iter().filter(|it| *it == outcome).count()
}

async fn live(db: &Database, user: UserId) -> i64 {
    let sessions = sessions::table.filter(sessions::user_id.eq(DbUid(user.0))).count();
    let count: Result<i64, DbError> =
        on_conn!(db.reader(), |conn| sessions.get_result(conn).await?);
    count.unwrap()
}

async fn count_emails(db: &Database, user: UserId) -> i64 {
    let emails = mails::table.filter(mails::user_id.eq(DbUid(user.0))).count();
    let count: Result<i64, DbError> = on_conn!(db.reader(), |conn| emails.get_result(conn).await?);
    count.unwrap()
}

async fn passkeys_are_listed_in_the_order_they_were_added(db: Database) {
    let (user, session, passkeys) = create_ada(&db).await;
    let first_passkey = passkey(1, 0);
    let second_passkey = passkey(2, 5);
    let eve = create_person(&db, "eve@example.org").await;

    assert_eq!(add(&db, user, session, &first_passkey).await, PasskeyCreationOutcome::Stored);
    assert_eq!(add(&db, user, session, &second_passkey).await, PasskeyCreationOutcome::Stored);
    record_use(&db, user, second_passkey.id, 6).await;

    let entry = |it: &NewPasskey, used_at| PasskeyEntry {
        blocked_at: None,
        id: it.id,
        name: it.name.clone(),
        created_at: START,
        used_at,
        credential: it.credential.id.clone(),
    };
    let expected = [entry(&first_passkey, None), entry(&second_passkey, Some(START))];
    assert_eq!(passkeys.of_user(user).await.unwrap(), expected);
    assert_eq!(passkeys.of_user(eve).await.unwrap(), []);
}

async fn a_passkey_is_found_by_its_credential_id(db: Database) {
    let (user, session, passkeys) = create_ada(&db).await;
    let new_passkey = passkey(1, 0);
    add(&db, user, session, &new_passkey).await;

    let found_passkey = passkeys.find(&[1; 16]).await.unwrap().unwrap();
    let other_passkey = passkeys.find(&[1; 15]).await.unwrap();

    assert_eq!(found_passkey.id, new_passkey.id);
    assert_eq!(found_passkey.user, user);
    assert_eq!(found_passkey.name, "Key 1");
    assert_eq!(found_passkey.key, "key 1");
    assert_eq!(other_passkey, None);
}

async fn one_of_concurrent_passkeys_of_one_credential_is_stored(db: Database) {
    let mut people = Vec::new();
    for number in 0..16 {
        let user = create_person(&db, &format!("{number}@example.org")).await;
        people.push((user, start_session(&db, user, number).await));
    }
    let db = &db;

    let adding = people
        .iter()
        .map(|(user, session)| async { add(db, *user, *session, &passkey(1, 0)).await });
    let outcomes = join_all(adding).await;

    assert_eq!(count(&outcomes, &PasskeyCreationOutcome::Stored), 1);
    assert_eq!(count(&outcomes, &PasskeyCreationOutcome::Known), 15);
}

async fn concurrent_passkeys_respect_the_limit(db: Database) {
    let (user, session, passkeys) = create_ada(&db).await;
    let db = &db;

    let adding = (0..32).map(|it| async move { add(db, user, session, &passkey(it, 0)).await });
    let outcomes = join_all(adding).await;

    assert_eq!(count(&outcomes, &PasskeyCreationOutcome::Stored), 20);
    assert_eq!(count(&outcomes, &PasskeyCreationOutcome::Full), 12);
    assert_eq!(passkeys.of_user(user).await.unwrap().len(), 20);
}

async fn a_change_ends_the_other_sessions_and_writes_its_effects(db: Database) {
    let (user, first, _) = create_ada(&db).await;
    start_session(&db, user, 2).await;
    let new_passkey = passkey(1, 0);

    add(&db, user, first, &new_passkey).await;
    let after_adding = (live(&db, user).await, count_audited(&db, user, "ended").await);
    start_session(&db, user, 3).await;
    remove_passkey(&db, user, first, new_passkey.id).await;
    let after_removing = (live(&db, user).await, count_audited(&db, user, "ended").await);

    assert_eq!(after_adding, (1, 1));
    assert_eq!(after_removing, (1, 2));
    assert_eq!(count_audited(&db, user, "added").await, 1);
    assert_eq!(count_audited(&db, user, "removed").await, 1);
    assert_eq!(count_emails(&db, user).await, 2);
}

async fn an_ended_session_changes_nothing(db: Database) {
    let (user, first, passkeys) = create_ada(&db).await;
    let eve = create_person(&db, "eve@example.org").await;
    let eves = start_session(&db, eve, 2).await;
    let new_passkey = passkey(1, 0);
    add(&db, user, first, &new_passkey).await;

    for over in [SessionId::generate(), eves] {
        assert_eq!(add(&db, user, over, &passkey(2, 0)).await, PasskeyCreationOutcome::SessionOver);
        assert!(!remove_passkey(&db, user, over, new_passkey.id).await);
    }

    assert_eq!(passkeys.of_user(user).await.unwrap().len(), 1);
    assert_eq!(live(&db, user).await, 1);
    assert_eq!(count_emails(&db, user).await, 1);
}

async fn a_foreign_passkey_is_not_removed(db: Database) {
    let (user, session_of_ada, passkeys) = create_ada(&db).await;
    let eve = create_person(&db, "eve@example.org").await;
    let eves = start_session(&db, eve, 2).await;
    let new_passkey = passkey(1, 0);
    add(&db, user, session_of_ada, &new_passkey).await;

    assert!(!remove_passkey(&db, eve, eves, new_passkey.id).await);
    assert_eq!(record_use(&db, eve, new_passkey.id, 0).await, PasskeyUseOutcome::Gone);
    let stored_passkeys = passkeys.of_user(user).await.unwrap();
    assert_eq!(stored_passkeys.iter().map(|it| it.used_at).collect::<Vec<_>>(), [None]);
}

async fn one_of_concurrent_removals_succeeds(db: Database) {
    let (user, session, _) = create_ada(&db).await;
    let new_passkey = passkey(1, 0);
    add(&db, user, session, &new_passkey).await;
    let db = &db;
    let id = new_passkey.id;

    let outcomes = join_all((0..16).map(|_| remove_passkey(db, user, session, id))).await;

    assert_eq!(count(&outcomes, &true), 1);
    assert_eq!(count_audited(db, user, "removed").await, 1);
}

async fn a_counter_only_increases(db: Database) {
    let (user, session, _) = create_ada(&db).await;
    let new_passkey = passkey(1, 7);
    add(&db, user, session, &new_passkey).await;

    let mut outcomes = Vec::new();
    for counter in [8, 8, 9, 0, u32::MAX] {
        outcomes.push(record_use(&db, user, new_passkey.id, counter).await);
    }

    let expected = [
        PasskeyUseOutcome::Recorded,
        PasskeyUseOutcome::RolledBack,
        PasskeyUseOutcome::Blocked,
        PasskeyUseOutcome::Blocked,
        PasskeyUseOutcome::Blocked,
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(count_audited(&db, user, "used").await, 1);
    assert_eq!(count_audited(&db, user, "rolled back").await, 1);
}

async fn a_blocked_passkey_is_unblocked_by_its_owner(db: Database) {
    let (user, session, store) = create_ada(&db).await;
    let bob = create_person(&db, "bob@example.org").await;
    let new_passkey = passkey(1, 7);
    add(&db, user, session, &new_passkey).await;
    record_use(&db, user, new_passkey.id, 7).await;
    let effects = || SideEffects::audit(START, user, "unblocked");
    let change =
        |name: Option<&str>, unblock| PasskeyChange { name: name.map(str::to_owned), unblock };

    let foreign_change =
        store.change(bob, new_passkey.id, change(Some("Mine"), true), effects()).await;
    let own_change =
        store.change(user, new_passkey.id, change(Some("Work"), false), effects()).await;
    let still_blocked = store.of_user(user).await.unwrap();
    for _ in 0..2 {
        assert!(store.change(user, new_passkey.id, change(None, true), effects()).await.unwrap());
    }

    assert!(!foreign_change.unwrap());
    assert!(own_change.unwrap());
    assert_eq!(still_blocked[0].name, "Work");
    assert_eq!(still_blocked[0].blocked_at, Some(START));
    assert_eq!(store.of_user(user).await.unwrap()[0].blocked_at, None);
    assert_eq!(count_audited(&db, user, "unblocked").await, 1);
    assert_eq!(record_use(&db, user, new_passkey.id, 3).await, PasskeyUseOutcome::Recorded);
    assert_eq!(record_use(&db, user, new_passkey.id, 3).await, PasskeyUseOutcome::RolledBack);
}

async fn one_of_concurrent_uses_with_one_counter_is_recorded(db: Database) {
    let (user, session, _) = create_ada(&db).await;
    let new_passkey = passkey(1, 7);
    add(&db, user, session, &new_passkey).await;
    let db = &db;
    let id = new_passkey.id;

    let outcomes = join_all((0..32).map(|_| record_use(db, user, id, 8))).await;

    assert_eq!(count(&outcomes, &PasskeyUseOutcome::Recorded), 1);
    assert_eq!(count(&outcomes, &PasskeyUseOutcome::RolledBack), 1);
    assert_eq!(count(&outcomes, &PasskeyUseOutcome::Blocked), 30);
}

async fn a_passkey_without_a_counter_is_reusable(db: Database) {
    let (user, session, _) = create_ada(&db).await;
    let new_passkey = passkey(1, 0);
    add(&db, user, session, &new_passkey).await;

    for _ in 0..3 {
        assert_eq!(record_use(&db, user, new_passkey.id, 0).await, PasskeyUseOutcome::Recorded);
    }
    assert_eq!(record_use(&db, user, new_passkey.id, 1).await, PasskeyUseOutcome::Recorded);
    assert_eq!(record_use(&db, user, new_passkey.id, 0).await, PasskeyUseOutcome::RolledBack);
}

async fn the_use_of_a_removed_passkey_is_not_recorded(db: Database) {
    let (user, session, _) = create_ada(&db).await;
    let new_passkey = passkey(1, 0);
    add(&db, user, session, &new_passkey).await;
    remove_passkey(&db, user, session, new_passkey.id).await;

    assert_eq!(record_use(&db, user, new_passkey.id, 1).await, PasskeyUseOutcome::Gone);
    assert_eq!(count_audited(&db, user, "rolled back").await, 0);
}

async fn a_removed_passkey_starts_no_session(db: Database) {
    let (user, session, store) = create_ada(&db).await;
    let key = passkey(1, 0);
    assert_eq!(add(&db, user, session, &key).await, PasskeyCreationOutcome::Stored);
    let used_epoch = epoch(&db, user).await;

    assert!(store.remove(change(user, session, "removed"), key.id).await.unwrap());

    assert_eq!(begin_as_of(&db, user, used_epoch, 9).await, SessionStartOutcome::Stale);
    assert_eq!(begin_as_of(&db, user, epoch(&db, user).await, 9).await, SessionStartOutcome::Done);
}

async fn passkeys_of_a_deactivated_account_are_not_found(db: Database) {
    let (user, session, passkeys) = create_ada(&db).await;
    let new_passkey = passkey(1, 0);
    add(&db, user, session, &new_passkey).await;

    deactivate(&db, user).await;

    assert_eq!(passkeys.find(&[1; 16]).await.unwrap(), None);
    assert_eq!(record_use(&db, user, new_passkey.id, 1).await, PasskeyUseOutcome::Gone);
    assert_eq!(add(&db, user, session, &passkey(2, 0)).await, PasskeyCreationOutcome::SessionOver);
    assert!(!remove_passkey(&db, user, session, new_passkey.id).await);
}

async fn passkeys_are_deleted_with_their_account(db: Database) {
    let (user, session, passkeys) = create_ada(&db).await;
    add(&db, user, session, &passkey(1, 0)).await;

    remove(&db, user).await;

    assert_eq!(passkeys.of_user(user).await.unwrap(), []);
    assert_eq!(passkeys.find(&[1; 16]).await.unwrap(), None);
}
