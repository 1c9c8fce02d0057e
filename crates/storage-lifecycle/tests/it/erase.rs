//! Contract tests of erasure.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::Role;
use pia_kernel::{
    AuditEntry, Eraser, ErasureOutcome, MailId, RequestContext, SessionId, SideEffects, Timestamp,
    UnverifiedAccounts, UserId,
};
use pia_storage::schema::{
    accounts, ai_usage, audit_entries, audit_identities, mails, sign_ins, usage_by_hour,
    usage_by_user, usage_users,
};
use pia_storage::{
    AuditIdentity, AuditPart, Database, DbError, DbInstant, DbUid, StoredEmail, WriteEffects,
    in_tx, on_conn,
};
use pia_storage_lifecycle::SqlEraser;
use pia_testkit::databases::seal;

use crate::people::{AT, Person, address, create_person, erasure_of, execute};

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
    only_unclaimed_accounts_are_erased_and_anonymously,
    any_number_of_unclaimed_accounts_is_erased,
    concurrently_verified_accounts_are_not_erased,
}

async fn accounts_left(db: &Database) -> Vec<DbUid> {
    let ids = accounts::table.order(accounts::id).select(accounts::id);
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| ids.load(conn).await?);
    result.unwrap()
}

async fn count(db: &Database, sql: &str) -> i64 {
    use diesel::sql_types::BigInt;
    let query = diesel::select(diesel::dsl::sql::<BigInt>(sql));
    let result: Result<i64, DbError> = on_conn!(db.reader(), |conn| query.get_result(conn).await?);
    result.unwrap()
}

async fn write(db: &Database, effects: SideEffects) {
    let origin = RequestContext {
        address: Some("192.0.2.7".parse().unwrap()),
        agent: Some("an agent".into()),
        request: Some("request-1".into()),
        language: None,
    };
    let writing = async {
        in_tx!(db, async |conn| -> Result<(), DbError> { conn.write_effects(db, &effects).await })
    };
    origin.scope(writing).await.unwrap();
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

    let emails: Vec<(DbUid, Option<DbUid>, Option<Vec<u8>>)> = async {
        let row = mails::table.select((mails::id, mails::user_id, mails::sealed));
        on_conn!(db.reader(), |conn| row.load(conn).await?)
    }
    .await
    .unwrap();
    let [(id, None, Some(sealed))] = &emails[..] else { panic!("one email without a user") };
    let email = StoredEmail::open(&seal(), MailId(id.0), sealed).unwrap();
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

    let erasures = join_all(admins.into_iter().map(|it| eraser.erase(erasure_of(it)))).await;

    let mut erasures: Vec<_> = erasures.into_iter().map(|it| it.unwrap()).collect();
    erasures.sort_by_key(|it| *it == ErasureOutcome::LastAdmin);
    assert_eq!(erasures.iter().filter(|it| **it == ErasureOutcome::Erased).count(), 5);
    assert_eq!(erasures.last(), Some(&ErasureOutcome::LastAdmin));
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

/// Entry of the audit log, without the columns that the test does not read.
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

    let (entries, identities): (Vec<EntryRow>, Vec<IdentityRow>) = async {
        use audit_entries::{action, actor_commitment, id, request};
        let entries =
            audit_entries::table.order(id).select((id, action, request, actor_commitment));
        let identities = audit_identities::table.select((
            audit_identities::entry_id,
            audit_identities::user_id,
            audit_identities::sealed,
        ));
        on_conn!(db.reader(), |conn| (entries.load(conn).await?, identities.load(conn).await?))
    }
    .await
    .unwrap();
    let actions: Vec<_> = entries.iter().map(|it| &*it.action).collect();
    assert_eq!(actions, ["hers", "about_her", "his", "account.deleted"]);
    let has_actor: Vec<_> = entries.iter().map(|it| it.actor_commitment.is_some()).collect();
    assert_eq!(has_actor, [true, true, true, false]);
    assert_eq!(entries[3].request.as_deref(), Some("request-2"));

    let [identity] = &identities[..] else { panic!("his alone") };
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
    for (user, calls) in [(ada.user, 2), (bob.user, 1)] {
        let row = diesel::insert_into(usage_by_user::table).values((
            usage_by_user::week.eq(2950),
            usage_by_user::user_id.eq(DbUid(user.0)),
            usage_by_user::calls_3.eq(calls),
        ));
        let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| row.execute(conn).await?);
        done.unwrap();
        let row = diesel::insert_into(usage_users::table).values((
            usage_users::user_id.eq(DbUid(user.0)),
            usage_users::last_day.eq(i32::try_from(calls).unwrap()),
        ));
        let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| row.execute(conn).await?);
        done.unwrap();
    }
    for user in [ada.user, ada.user, bob.user] {
        let row = diesel::insert_into(ai_usage::table).values((
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
        let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| row.execute(conn).await?);
        done.unwrap();
    }

    SqlEraser::new(db.clone()).erase(erasure_of(ada)).await.unwrap();

    let users = ai_usage::table.order(ai_usage::id).select(ai_usage::user_id);
    let loaded_users: Result<Vec<DbUid>, DbError> =
        on_conn!(db.reader(), |conn| users.load(conn).await?);
    let user_ids = loaded_users.unwrap();
    let sums = usage_by_user::table
        .order(usage_by_user::calls_3.desc())
        .select((usage_by_user::user_id, usage_by_user::calls_3));
    let loaded_sums: Result<Vec<(DbUid, i64)>, DbError> =
        on_conn!(db.reader(), |conn| sums.load(conn).await?);
    assert_eq!(loaded_sums.unwrap(), [(user_ids[0], 2), (DbUid(bob.user.0), 1)]);
    let last_days = usage_users::table.order(usage_users::last_day.desc());
    let last_days: Result<Vec<(DbUid, i32)>, DbError> =
        on_conn!(db.reader(), |conn| last_days.load(conn).await?);
    assert_eq!(last_days.unwrap(), [(user_ids[0], 2), (DbUid(bob.user.0), 1)]);
    assert_eq!(user_ids[0], user_ids[1]);
    assert_eq!(user_ids[2], DbUid(bob.user.0));
    assert!(![DbUid(ada.user.0), DbUid(bob.user.0)].contains(&user_ids[0]));
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
        let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| row.execute(conn).await?);
        done.unwrap();
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

const DAY: Duration = Duration::from_hours(24);
fn now() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000)
}

fn unverified_accounts() -> UnverifiedAccounts {
    let effects = |at| {
        let action = "account.expired";
        let entry = AuditEntry::new(at, action);
        SideEffects { audit: vec![entry], mail: Vec::new() }
    };
    UnverifiedAccounts { made: now() - 365 * DAY..now() - 7 * DAY, at: now(), effects }
}

/// Creates an unverified account of this age that was never used.
async fn create_newcomer(db: &Database, days: u32) -> UserId {
    let user = UserId::generate();
    let at = now() - DAY * days;
    let account = diesel::insert_into(accounts::table).values((
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(address(user)),
        accounts::email_folded.eq(address(user)),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(at)),
    ));
    let made: Result<usize, DbError> = on_conn!(db.writer(), |conn| account.execute(conn).await?);
    assert_eq!(made.unwrap(), 1);
    user
}

/// Updates a user's row.
async fn set(db: &Database, user: UserId, change: &str) {
    let address = address(user);
    execute(db, &format!("UPDATE accounts SET {change} WHERE email = '{address}'")).await;
}

async fn record_sign_in(db: &Database, user: UserId, outcome: &str) {
    let row = (
        sign_ins::id.eq(DbUid(SessionId::generate().0)),
        sign_ins::at.eq(DbInstant(now() - 8 * DAY)),
        sign_ins::user_id.eq(DbUid(user.0)),
        sign_ins::outcome.eq(outcome),
        sign_ins::method.eq("password"),
    );
    let insert = diesel::insert_into(sign_ins::table).values(row);
    let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| insert.execute(conn).await?);
    assert_eq!(done.unwrap(), 1);
}

async fn only_unclaimed_accounts_are_erased_and_anonymously(db: Database) {
    let unclaimed = create_newcomer(&db, 8).await;
    let unclaimed_with_failed_sign_in = create_newcomer(&db, 300).await;
    record_sign_in(&db, unclaimed_with_failed_sign_in, "wrong_password").await;
    write(&db, SideEffects::audit(now(), unclaimed, "account.registered")).await;
    let young = create_newcomer(&db, 6).await;
    let old = create_newcomer(&db, 366).await;
    let used = create_newcomer(&db, 8).await;
    record_sign_in(&db, used, "signed_in").await;
    let mut remaining = vec![young, old, used];
    for change in
        ["email_verified_at = created_at", "deactivated_at = created_at", "role = 'admin'"]
    {
        let user = create_newcomer(&db, 8).await;
        set(&db, user, change).await;
        remaining.push(user);
    }

    let eraser = SqlEraser::new(db.clone());
    let erased_count = eraser.erase_unverified(unverified_accounts()).await.unwrap();
    let repeated_count = eraser.erase_unverified(unverified_accounts()).await.unwrap();

    remaining.sort();
    assert_eq!(erased_count, 2);
    assert_eq!(repeated_count, 0);
    assert_eq!(
        accounts_left(&db).await,
        remaining.iter().map(|it| DbUid(it.0)).collect::<Vec<_>>()
    );
    assert_eq!(count(&db, "(SELECT COUNT(*) FROM mails)").await, 0);
    assert_eq!(
        count(&db, "(SELECT COUNT(*) FROM audit_identities WHERE user_id IS NOT NULL)").await,
        0
    );
    let expired = "(SELECT COUNT(*) FROM audit_entries WHERE action = 'account.expired')";
    assert_eq!(count(&db, expired).await, 2);
}

async fn any_number_of_unclaimed_accounts_is_erased(db: Database) {
    for _ in 0..120 {
        create_newcomer(&db, 8).await;
    }

    let erased_count =
        SqlEraser::new(db.clone()).erase_unverified(unverified_accounts()).await.unwrap();

    assert_eq!(erased_count, 120);
    assert_eq!(accounts_left(&db).await.len(), 0);
}

async fn concurrently_verified_accounts_are_not_erased(db: Database) {
    let mut newcomers = Vec::new();
    for _ in 0..12 {
        newcomers.push(create_newcomer(&db, 8).await);
    }
    let eraser = SqlEraser::new(db.clone());
    let db = &db;

    let (erased_count, verifications) = futures_util::join!(
        eraser.erase_unverified(unverified_accounts()),
        join_all(newcomers.iter().map(|it| verify_address(db, *it))),
    );

    let verified = verifications.into_iter().filter(|it| *it).count();
    assert_eq!(accounts_left(db).await.len(), verified);
    assert_eq!(erased_count.unwrap(), 12 - verified as u64);
}

/// Verifies the address. Returns whether the account exists.
async fn verify_address(db: &Database, user: UserId) -> bool {
    let verify = diesel::update(accounts::table.find(DbUid(user.0)))
        .set(accounts::email_verified_at.eq(DbInstant(now())));
    let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| verify.execute(conn).await?);
    done.unwrap() == 1
}
