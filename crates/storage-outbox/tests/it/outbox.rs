//! Contract tests of the outbox.

use std::collections::BTreeSet;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{LiveSetting, QueuedEmail, RequestContext, Secret, SideEffects, Timestamp};
use pia_outbox::{ClaimResult, ClaimToken, ClaimedEmail, Outbox};
use pia_sealing::{MasterKeys, ServerSeal};
use pia_storage::schema::mails;
use pia_storage::{Database, DbError, DbInstant, WriteEffects, in_tx, on_conn};
use pia_storage_outbox::SqlOutbox;

pia_testkit::contract! {
    a_claimed_email_is_the_queued_one,
    concurrent_claims_get_different_emails,
    emails_are_claimed_in_the_order_they_are_due,
    an_expired_claim_frees_the_email,
    a_sent_email_is_deleted,
    a_retried_email_waits_until_it_is_due,
    a_lost_claim_changes_nothing,
    only_the_reason_of_a_failed_email_is_stored,
    an_email_of_another_key_is_locked,
    a_tampered_email_is_ruined,
    old_failed_and_unsent_emails_are_deleted,
}

const START: Timestamp = Timestamp::UNIX_EPOCH;
const CLAIM: Duration = Duration::from_mins(5);

async fn queue(db: &Database, link: &str, at: Timestamp) {
    let email = QueuedEmail::new("invitation").with("link", link).to_address(at, "ada@example.org");
    let effects = SideEffects { audit: vec![], mail: vec![email] };
    let writing = async {
        in_tx!(db, async |conn| -> Result<(), DbError> { conn.write_effects(db, &effects).await })
    };
    let origin = RequestContext {
        address: Some("192.0.2.7".parse().unwrap()),
        agent: Some("an agent".into()),
        ..RequestContext::default()
    };
    origin.scope(writing).await.unwrap();
}

async fn claim(outbox: &SqlOutbox, now: Timestamp) -> Option<ClaimedEmail> {
    match outbox.claim(now, now + CLAIM).await.unwrap() {
        Some(ClaimResult::Mail(mail)) => Some(*mail),
        Some(result) => panic!("{result:?}"),
        None => None,
    }
}

#[derive(Debug, PartialEq, Queryable)]
struct StoredRow {
    tries: i32,
    sealed: Option<Vec<u8>>,
    failed_at: Option<DbInstant>,
    failure: Option<String>,
}

/// Returns the row of the only email.
async fn stored_row(db: &Database) -> Option<StoredRow> {
    let query =
        mails::table.select((mails::tries, mails::sealed, mails::failed_at, mails::failure));
    let row: Result<Option<StoredRow>, DbError> =
        on_conn!(db.reader(), |conn| query.first(conn).await.optional()?);
    row.unwrap()
}

async fn a_claimed_email_is_the_queued_one(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    queue(&db, "https://pia.example/1", START).await;

    let mail = claim(&outbox, START).await.unwrap();

    assert_eq!(mail.claim.tries, 1);
    assert_eq!(mail.claim.queued_at, START);
    assert_eq!(&*mail.email.to, "ada@example.org");
    assert_eq!(&*mail.email.name, "invitation");
    assert_eq!(mail.email.fields["link"], "https://pia.example/1");
    assert_eq!(mail.email.address, Some("192.0.2.7".parse().unwrap()));
    assert_eq!(mail.email.agent.as_deref(), Some("an agent"));
    assert!(!format!("{mail:?}").contains("pia.example"));
}

async fn concurrent_claims_get_different_emails(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    for it in 0..20 {
        queue(&db, &it.to_string(), START).await;
    }

    let claims = join_all((0..32).map(|_| claim(&outbox, START))).await;

    let links: Vec<_> =
        claims.into_iter().flatten().map(|it| it.email.fields["link"].clone()).collect();
    let different: BTreeSet<_> = links.iter().collect();
    assert_eq!(links.len(), 20);
    assert_eq!(different.len(), 20);
    assert_eq!(outbox.waiting().await.unwrap(), 20);
}

async fn emails_are_claimed_in_the_order_they_are_due(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    for seconds in [3, 1, 2, 9] {
        queue(&db, &seconds.to_string(), START + Duration::from_secs(seconds)).await;
    }

    let mut links = Vec::new();
    while let Some(mail) = claim(&outbox, START + Duration::from_secs(5)).await {
        links.push(mail.email.fields["link"].clone());
    }

    assert_eq!(links, ["1", "2", "3"]);
}

async fn an_expired_claim_frees_the_email(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    queue(&db, "x", START).await;
    claim(&outbox, START).await.unwrap();
    let just_before = Timestamp::from_micros((START + CLAIM).micros() - 1);

    let early = claim(&outbox, just_before).await;
    let late = claim(&outbox, START + CLAIM).await;

    assert!(early.is_none());
    assert_eq!(late.unwrap().claim.tries, 2);
}

async fn a_sent_email_is_deleted(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    queue(&db, "x", START).await;
    let mail = claim(&outbox, START).await.unwrap();

    outbox.sent(mail.claim).await.unwrap();
    outbox.sent(mail.claim).await.unwrap();

    assert_eq!(stored_row(&db).await, None);
    assert_eq!(outbox.waiting().await.unwrap(), 0);
}

async fn a_retried_email_waits_until_it_is_due(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    queue(&db, "x", START).await;
    let mail = claim(&outbox, START).await.unwrap();
    let later = START + Duration::from_mins(1);

    outbox.retry(mail.claim, later, "451").await.unwrap();

    let early = claim(&outbox, START + Duration::from_secs(59)).await;
    assert!(early.is_none());
    assert_eq!(stored_row(&db).await.unwrap().failure.as_deref(), Some("451"));
    assert_eq!(claim(&outbox, later).await.unwrap().claim.tries, 2);
}

async fn a_lost_claim_changes_nothing(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    queue(&db, "x", START).await;
    let first = claim(&outbox, START).await.unwrap();
    let second = claim(&outbox, START + CLAIM).await.unwrap();

    outbox.retry(first.claim, START, "late").await.unwrap();
    outbox.give_up(first.claim, START, "late").await.unwrap();

    let row = stored_row(&db).await.unwrap();
    assert_eq!(row.tries, 2);
    assert_eq!(row.failed_at, None);
    assert_eq!(row.failure, None);
    assert!(row.sealed.is_some());
    assert!(claim(&outbox, START + CLAIM).await.is_none(), "the second claim holds");
    outbox.give_up(second.claim, START, "550").await.unwrap();
    outbox.retry(second.claim, START, "late").await.unwrap();
    assert!(stored_row(&db).await.unwrap().failed_at.is_some(), "it stays abandoned");
}

async fn only_the_reason_of_a_failed_email_is_stored(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    queue(&db, "x", START).await;
    let mail = claim(&outbox, START).await.unwrap();

    outbox.give_up(mail.claim, START, "550").await.unwrap();

    let expected = StoredRow {
        tries: 1,
        sealed: None,
        failed_at: Some(DbInstant(START)),
        failure: Some("550".to_owned()),
    };
    assert_eq!(stored_row(&db).await, Some(expected));
    assert!(claim(&outbox, START + CLAIM * 9).await.is_none());
    assert_eq!(outbox.waiting().await.unwrap(), 0);
}

async fn an_email_of_another_key_is_locked(db: Database) {
    queue(&db, "x", START).await;
    let keys = MasterKeys { current: Secret::new([8; 32]), previous: None };
    let db_of_other_key = db.clone().with_effects(ServerSeal::new(keys), LiveSetting::new(true));

    let other_result = SqlOutbox::new(db_of_other_key).claim(START, START + CLAIM).await.unwrap();
    let own_claim = claim(&SqlOutbox::new(db), START + CLAIM).await;

    assert!(matches!(other_result, Some(ClaimResult::Locked(ClaimToken { tries: 1, .. }))));
    assert!(own_claim.is_some());
}

async fn a_tampered_email_is_ruined(db: Database) {
    queue(&db, "x", START).await;
    let mut content = stored_row(&db).await.unwrap().sealed.unwrap();
    *content.last_mut().unwrap() ^= 1;
    let change = diesel::update(mails::table).set(mails::sealed.eq(content));
    let count: Result<usize, DbError> = on_conn!(db.writer(), |conn| change.execute(conn).await?);

    let result = SqlOutbox::new(db).claim(START, START + CLAIM).await.unwrap();

    assert_eq!(count.unwrap(), 1);
    assert!(matches!(result, Some(ClaimResult::Ruined(_))));
}

async fn old_failed_and_unsent_emails_are_deleted(db: Database) {
    let outbox = SqlOutbox::new(db.clone());
    let day = START + Duration::from_hours(24);
    let month = START + Duration::from_hours(720);
    for at in [START, day, month] {
        queue(&db, "x", at).await;
    }
    let mail = claim(&outbox, START).await.unwrap();
    outbox.give_up(mail.claim, month, "550").await.unwrap();

    let first_count = outbox.sweep(day).await.unwrap();
    let second_count = outbox.sweep(month).await.unwrap();

    assert_eq!(first_count, 1);
    assert_eq!(second_count, 2);
    assert_eq!(outbox.waiting().await.unwrap(), 0);
}
