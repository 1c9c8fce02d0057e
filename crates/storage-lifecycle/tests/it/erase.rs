//! Contract tests of erasure.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::Role;
use pia_kernel::{Eraser, ErasureOutcome, MailId, RequestContext, SessionId, SideEffects, UserId};
use pia_storage::schema::{
    accounts, ai_usage, audit_entries, audit_identities, mails, usage_by_hour, usage_by_user,
    usage_users,
};
use pia_storage::{
    AuditIdentity, AuditPart, Database, DbError, DbInstant, DbUid, StoredEmail, on_conn,
};
use pia_storage_lifecycle::SqlEraser;
use pia_testkit::databases::seal;

use crate::people::{
    AT, Person, accounts_left, address, count, create_person, erasure_of, execute, write,
};

pia_testkit::contract! {
    only_the_account_to_be_erased_is_erased,
    an_ended_session_or_a_deactivated_account_erases_nothing,
    the_last_administrator_stays,
    one_of_concurrently_leaving_administrators_stays,
    concurrent_erasures_of_an_account_succeed_once,
    the_audit_log_names_no_erased_user_and_can_be_verified,
    usage_stays_under_a_pseudonym,
    usage_by_hour_stays_under_a_pseudonym,
    windows_of_the_account_are_deleted_and_those_of_its_group_stay,
    deleted_data_is_truncated_from_the_log_later_if_necessary,
}

/// Email in the outbox.
#[derive(Queryable)]
struct EmailRow {
    id: DbUid,
    user: Option<DbUid>,
    sealed: Option<Vec<u8>>,
}

/// Entry of the audit log, without the columns that the tests do not read.
#[derive(Queryable)]
struct EntryRow {
    id: DbUid,
    action: String,
    request: Option<String>,
    actor_commitment: Option<Vec<u8>>,
}

/// Sealed identity that belongs to an entry.
#[derive(Queryable)]
struct IdentityRow {
    entry: DbUid,
    user: Option<DbUid>,
    sealed: Option<Vec<u8>>,
}

async fn load_emails(db: &Database) -> Vec<EmailRow> {
    let emails = mails::table.select((mails::id, mails::user_id, mails::sealed));
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| emails.load(conn).await?);
    result.unwrap()
}

/// Loads the audit log, the oldest entry first.
async fn load_entries(db: &Database) -> Vec<EntryRow> {
    use audit_entries::{action, actor_commitment, id, request};
    let entries = audit_entries::table.order(id).select((id, action, request, actor_commitment));
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| entries.load(conn).await?);
    result.unwrap()
}

async fn load_identities(db: &Database) -> Vec<IdentityRow> {
    use audit_identities::{entry_id, sealed, user_id};
    let identities = audit_identities::table.select((entry_id, user_id, sealed));
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| identities.load(conn).await?);
    result.unwrap()
}

/// Stores the sums of a user's calls, the last of which was on day `last_day`.
async fn insert_usage_sums(db: &Database, user: UserId, calls: i64, last_day: i32) {
    let sums = diesel::insert_into(usage_by_user::table).values((
        usage_by_user::week.eq(2950),
        usage_by_user::user_id.eq(DbUid(user.0)),
        usage_by_user::calls_3.eq(calls),
    ));
    let usage_user = diesel::insert_into(usage_users::table)
        .values((usage_users::user_id.eq(DbUid(user.0)), usage_users::last_day.eq(last_day)));
    let result: Result<(), DbError> = on_conn!(db.writer(), |conn| {
        sums.execute(conn).await?;
        usage_user.execute(conn).await?;
    });
    result.unwrap();
}

/// Records a call of a user's.
async fn insert_usage(db: &Database, user: UserId) {
    let usage = diesel::insert_into(ai_usage::table).values((
        ai_usage::id.eq(DbUid(UserId::generate().0)),
        ai_usage::at.eq(DbInstant(AT)),
        ai_usage::user_id.eq(DbUid(user.0)),
        ai_usage::mode.eq("Assistant"),
        ai_usage::provider.eq("OpenAI"),
        ai_usage::model.eq("m"),
        ai_usage::input_tokens.eq(7),
        ai_usage::cached_input_tokens.eq(0),
        ai_usage::output_tokens.eq(0),
        ai_usage::estimated.eq(false),
        ai_usage::outcome.eq("completed"),
    ));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| usage.execute(conn).await?);
    result.unwrap();
}

/// Loads the users of the recorded calls, the oldest call first.
async fn load_usage_users(db: &Database) -> Vec<DbUid> {
    let users = ai_usage::table.order(ai_usage::id).select(ai_usage::user_id);
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| users.load(conn).await?);
    result.unwrap()
}

/// Loads each user's number of calls, the highest first.
async fn load_call_sums(db: &Database) -> Vec<(DbUid, i64)> {
    let sums = usage_by_user::table
        .order(usage_by_user::calls_3.desc())
        .select((usage_by_user::user_id, usage_by_user::calls_3));
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| sums.load(conn).await?);
    result.unwrap()
}

/// Loads each user's day of the last call, the latest first.
async fn load_last_days(db: &Database) -> Vec<(DbUid, i32)> {
    let last_days = usage_users::table.order(usage_users::last_day.desc());
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| last_days.load(conn).await?);
    result.unwrap()
}

async fn only_the_account_to_be_erased_is_erased(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let bob = create_person(&db, Role::User).await;
    let eraser = SqlEraser::new(db.clone());

    let outcome = eraser.erase(erasure_of(ada)).await.unwrap();
    let repetition = eraser.erase(erasure_of(ada)).await.unwrap();

    assert_eq!(outcome, ErasureOutcome::Erased);
    assert_eq!(repetition, ErasureOutcome::Gone);
    assert_eq!(accounts_left(&db).await, [DbUid(bob.user.0)]);
    assert_eq!(count(&db, "(SELECT COUNT(*) FROM sessions)").await, 1);

    let emails = load_emails(&db).await;
    let [email_row] = &emails[..] else { panic!("not one email") };
    assert_eq!(email_row.user, None);
    let sealed = email_row.sealed.as_deref().unwrap();
    let email = StoredEmail::open(&seal(), MailId(email_row.id.0), sealed).unwrap();
    assert_eq!(&*email.to, &*address(ada.user));
    assert_eq!(&*email.template, "account-deleted");
}

async fn an_ended_session_or_a_deactivated_account_erases_nothing(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let bob = create_person(&db, Role::User).await;
    let eraser = SqlEraser::new(db.clone());
    let erase = async |person| eraser.erase(erasure_of(person)).await.unwrap();

    let in_unknown_session = erase(Person { session: SessionId::generate(), ..ada }).await;
    let in_foreign_session = erase(Person { session: bob.session, ..ada }).await;
    let of_unknown_user = erase(Person { user: UserId::generate(), ..ada }).await;
    execute(&db, "UPDATE accounts SET deactivated_at = created_at").await;
    let of_deactivated_user = erase(ada).await;

    assert_eq!(in_unknown_session, ErasureOutcome::SessionOver);
    assert_eq!(in_foreign_session, ErasureOutcome::SessionOver);
    assert_eq!(of_unknown_user, ErasureOutcome::Gone);
    assert_eq!(of_deactivated_user, ErasureOutcome::SessionOver);
    assert_eq!(accounts_left(&db).await.len(), 2);
    assert_eq!(count(&db, "(SELECT COUNT(*) FROM audit_entries)").await, 0);
}

async fn the_last_administrator_stays(db: Database) {
    let ada = create_person(&db, Role::Admin).await;
    let bob = create_person(&db, Role::Admin).await;
    let _user = create_person(&db, Role::OrgManager).await;
    let eraser = SqlEraser::new(db.clone());

    let outcome_of_ada = eraser.erase(erasure_of(ada)).await.unwrap();
    let outcome_of_bob = eraser.erase(erasure_of(bob)).await.unwrap();

    assert_eq!(outcome_of_ada, ErasureOutcome::Erased);
    assert_eq!(outcome_of_bob, ErasureOutcome::LastAdmin);
    assert_eq!(accounts_left(&db).await.len(), 2);
}

async fn one_of_concurrently_leaving_administrators_stays(db: Database) {
    let eraser = SqlEraser::new(db.clone());
    let mut admins = Vec::new();
    for _ in 0..6 {
        admins.push(create_person(&db, Role::Admin).await);
    }

    let results = join_all(admins.into_iter().map(|it| eraser.erase(erasure_of(it)))).await;

    let outcomes: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let count_of = |outcome: ErasureOutcome| outcomes.iter().filter(|it| **it == outcome).count();
    assert_eq!(count_of(ErasureOutcome::Erased), 5);
    assert_eq!(count_of(ErasureOutcome::LastAdmin), 1);
    assert_eq!(accounts_left(&db).await.len(), 1);
}

async fn concurrent_erasures_of_an_account_succeed_once(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let eraser = SqlEraser::new(db.clone());

    let results = join_all((0..8).map(|_| eraser.erase(erasure_of(ada)))).await;

    let outcomes: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let count_of = |outcome: ErasureOutcome| outcomes.iter().filter(|it| **it == outcome).count();
    assert_eq!(count_of(ErasureOutcome::Erased), 1);
    assert_eq!(count_of(ErasureOutcome::Gone), 7);
    assert_eq!(count(&db, "(SELECT COUNT(*) FROM audit_entries)").await, 1);
    assert_eq!(count(&db, "(SELECT COUNT(*) FROM mails)").await, 1);
}

async fn the_audit_log_names_no_erased_user_and_can_be_verified(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let bob = create_person(&db, Role::User).await;
    write(&db, SideEffects::audit(AT, ada.user, "hers")).await;
    write(&db, SideEffects::about(AT, ada.user, "about_her")).await;
    write(&db, SideEffects::audit(AT, bob.user, "his")).await;
    let eraser = SqlEraser::new(db.clone());
    let request_context = RequestContext {
        address: Some("192.0.2.9".parse().unwrap()),
        request: Some("request-2".into()),
        ..RequestContext::default()
    };

    request_context.scope(eraser.erase(erasure_of(ada))).await.unwrap();

    let entries = load_entries(&db).await;
    let identities = load_identities(&db).await;
    let actions: Vec<_> = entries.iter().map(|it| &*it.action).collect();
    assert_eq!(actions, ["hers", "about_her", "his", "account.deleted"]);
    let has_actor: Vec<_> = entries.iter().map(|it| it.actor_commitment.is_some()).collect();
    assert_eq!(has_actor, [true, true, true, false]);
    assert_eq!(entries[3].request.as_deref(), Some("request-2"));

    let [identity] = &identities[..] else { panic!("not one identity") };
    let entry_of_bob = &entries[2];
    assert_eq!(identity.entry, entry_of_bob.id);
    assert_eq!(identity.user, Some(DbUid(bob.user.0)));
    let sealed = identity.sealed.as_deref().unwrap();
    let commitment = entry_of_bob.actor_commitment.as_deref().unwrap();
    let actor =
        AuditIdentity::open(&seal(), identity.entry.0, AuditPart::Actor, sealed, commitment)
            .unwrap();
    assert_eq!(actor.user, Some(bob.user));
    assert_eq!(actor.agent.as_deref(), Some("an agent"));
}

async fn usage_stays_under_a_pseudonym(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let bob = create_person(&db, Role::User).await;
    insert_usage_sums(&db, ada.user, 2, 20_002).await;
    insert_usage_sums(&db, bob.user, 1, 20_001).await;
    for user in [ada.user, ada.user, bob.user] {
        insert_usage(&db, user).await;
    }

    SqlEraser::new(db.clone()).erase(erasure_of(ada)).await.unwrap();

    let ada_id = DbUid(ada.user.0);
    let bob_id = DbUid(bob.user.0);
    let users = load_usage_users(&db).await;
    let pseudonym = users[0];
    assert_ne!(pseudonym, ada_id);
    assert_ne!(pseudonym, bob_id);
    assert_eq!(users, [pseudonym, pseudonym, bob_id]);
    assert_eq!(load_call_sums(&db).await, [(pseudonym, 2), (bob_id, 1)]);
    assert_eq!(load_last_days(&db).await, [(pseudonym, 20_002), (bob_id, 20_001)]);
}

async fn usage_by_hour_stays_under_a_pseudonym(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let bob = create_person(&db, Role::User).await;
    for (user, calls) in [(ada.user, 2_i64), (bob.user, 1)] {
        let row = diesel::insert_into(usage_by_hour::table).values((
            usage_by_hour::hour.eq(498_192),
            usage_by_hour::user_id.eq(DbUid(user.0)),
            usage_by_hour::calls.eq(calls),
            usage_by_hour::failed.eq(0),
            usage_by_hour::spent_micros.eq(0),
            usage_by_hour::duration_millis.eq(0),
        ));
        let result: Result<usize, DbError> =
            on_conn!(db.writer(), |conn| row.execute(conn).await?);
        result.unwrap();
    }

    SqlEraser::new(db.clone()).erase(erasure_of(ada)).await.unwrap();

    let sums = usage_by_hour::table
        .order(usage_by_hour::calls.desc())
        .select((usage_by_hour::user_id, usage_by_hour::calls));
    let loaded_sums: Result<Vec<(DbUid, i64)>, DbError> =
        on_conn!(db.reader(), |conn| sums.load(conn).await?);
    let sums = loaded_sums.unwrap();
    assert_eq!(sums.iter().map(|it| it.1).collect::<Vec<_>>(), [2, 1]);
    assert!(![DbUid(ada.user.0), DbUid(bob.user.0)].contains(&sums[0].0));
    assert_eq!(sums[1].0, DbUid(bob.user.0));
}

async fn windows_of_the_account_are_deleted_and_those_of_its_group_stay(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let bob = create_person(&db, Role::User).await;
    // One window and an open reservation in it for each of them, and the same
    // for the group.
    execute(
        &db,
        "INSERT INTO credit_windows (key, kind, owner_id, user_id, group_id)
             SELECT email || ':hourly', 'hourly', id, id, NULL FROM accounts
             UNION ALL SELECT 'group', 'pool', id, NULL, id FROM user_groups WHERE is_default;
         INSERT INTO credit_reservations (id, window_key, instance_id, amount, opened_at)
             SELECT a.id, w.key, a.id, 1, a.created_at FROM accounts a, credit_windows w
             WHERE w.user_id = a.id OR w.user_id IS NULL",
    )
    .await;

    SqlEraser::new(db.clone()).erase(erasure_of(ada)).await.unwrap();

    let named = |table, column| format!("(SELECT COUNT(*) FROM {table} WHERE {column} = 'group')");
    assert_eq!(count(&db, "(SELECT COUNT(*) FROM credit_windows)").await, 2);
    assert_eq!(count(&db, "(SELECT COUNT(*) FROM credit_reservations)").await, 3);
    assert_eq!(count(&db, &named("credit_windows", "key")).await, 1);
    assert_eq!(count(&db, &named("credit_reservations", "window_key")).await, 2);
    assert_eq!(accounts_left(&db).await, [DbUid(bob.user.0)]);
}

async fn deleted_data_is_truncated_from_the_log_later_if_necessary(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let eraser = SqlEraser::new(db.clone());
    let erasure: Result<ErasureOutcome, DbError> = async {
        // A concurrent reader has an older snapshot.
        on_conn!(db.reader(), |conn| {
            diesel_async::AsyncConnection::transaction(conn, async |conn| {
                accounts::table.count().get_result::<i64>(conn).await?;
                Ok::<_, DbError>(eraser.erase(erasure_of(ada)).await.unwrap())
            })
            .await
        })?
    }
    .await;

    let is_truncated = eraser.settle().await.unwrap();

    assert_eq!(erasure.unwrap(), ErasureOutcome::Erased);
    assert!(is_truncated);
    assert!(eraser.settle().await.unwrap());
}
