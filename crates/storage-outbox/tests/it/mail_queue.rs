//! Contract tests of the administrators' view of the outbox.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    Cursor, MailId, PageRequest, QueuedEmail, SideEffects, TimeOrder, Timestamp, UserId,
};
use pia_outbox::{ClaimResult, ClaimToken, MailCounts, MailQueueStore, MailState, Outbox};
use pia_storage::schema::audit_entries;
use pia_storage::{Database, DbError, WriteEffects, in_tx, on_conn};
use pia_storage_outbox::{SqlMailQueue, SqlOutbox};

pia_testkit::contract! {
    emails_are_listed_newest_first_by_state_and_page,
    emails_are_listed_oldest_first_in_pages,
    an_abandoned_email_has_no_address_left,
    a_postponed_email_becomes_due,
    a_claimed_or_abandoned_email_does_not_become_due,
    a_discarded_email_is_gone_and_its_template_recorded,
    a_claimed_email_is_not_discarded,
}

const START: Timestamp = Timestamp::UNIX_EPOCH;
const CLAIM: Duration = Duration::from_mins(5);
const ALL: PageRequest = PageRequest { after: None, limit: 100 };

async fn queue(db: &Database, address: &str) {
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/secret");
    let effects = SideEffects { audit: vec![], mail: vec![email.to_address(START, address)] };
    let writing = async {
        in_tx!(db, async |conn| -> Result<(), DbError> { conn.write_effects(db, &effects).await })
    };
    writing.await.unwrap();
}

async fn claim(db: &Database, now: Timestamp) -> ClaimToken {
    match SqlOutbox::new(db.clone()).claim(now, now + CLAIM).await.unwrap() {
        Some(ClaimResult::Mail(mail)) => mail.claim,
        result => panic!("{result:?}"),
    }
}

fn audit_effects(mail: MailId) -> SideEffects {
    let object = format!("mail:{mail}");
    SideEffects::of_object(START, Some(UserId::generate()), object, "Mail.Discarded")
}

/// Returns the changes of all audit entries.
async fn changes(db: &Database) -> Vec<Option<String>> {
    let query = audit_entries::table.select(audit_entries::changes);
    let changes: Result<_, DbError> = on_conn!(db.reader(), |conn| query.load(conn).await?);
    changes.unwrap()
}

/// Returns the only email.
async fn only_mail(db: &Database) -> MailId {
    SqlMailQueue::new(db.clone()).page(None, None, TimeOrder::Newest, ALL).await.unwrap()[0].id
}

async fn emails_are_listed_newest_first_by_state_and_page(db: Database) {
    for address in ["a@example.org", "b@example.org", "c@example.org"] {
        queue(&db, address).await;
    }
    let outbox = SqlOutbox::new(db.clone());
    let mails = SqlMailQueue::new(db.clone());
    let first = claim(&db, START).await;
    let second = claim(&db, START).await;
    outbox.give_up(first, START, "550").await.unwrap();
    outbox.retry(second, START + CLAIM, "451").await.unwrap();

    let records = mails.page(None, None, TimeOrder::Newest, ALL).await.unwrap();
    let cursor = Cursor { at: records[0].queued_at, id: records[0].id.0 };
    let second_page = mails
        .page(None, None, TimeOrder::Newest, PageRequest { after: Some(cursor), limit: 1 })
        .await
        .unwrap();

    let states: Vec<_> = records.iter().map(|it| (it.address.as_deref(), it.state())).collect();
    let expected = [
        (Some("c@example.org"), MailState::Waiting),
        (Some("b@example.org"), MailState::Postponed),
        (None, MailState::Failed),
    ];
    assert_eq!(states, expected);
    assert_eq!(second_page, &records[1..2]);
    assert_eq!(records[1].due_at, START + CLAIM);
    assert_eq!(records[1].failure.as_deref(), Some("451"));
    for (state, record) in MailState::ALL.into_iter().zip(&records) {
        assert_eq!(
            mails.page(None, Some(state), TimeOrder::Newest, ALL).await.unwrap(),
            std::slice::from_ref(record)
        );
    }
    assert_eq!(mails.find(records[1].id).await.unwrap().as_ref(), Some(&records[1]));
    let counts = MailCounts { waiting: 1, postponed: 1, failed: 1 };
    assert_eq!(mails.counts().await.unwrap(), counts);
    assert!(!format!("{records:?}").contains("secret"));
}

async fn emails_are_listed_oldest_first_in_pages(db: Database) {
    for address in ["a@example.org", "b@example.org", "c@example.org"] {
        queue(&db, address).await;
    }
    let mails = SqlMailQueue::new(db.clone());
    let page = async |state, after| {
        let request = PageRequest { after, limit: 2 };
        mails.page(None, state, TimeOrder::Oldest, request).await.unwrap()
    };

    let mut expected = mails.page(None, None, TimeOrder::Newest, ALL).await.unwrap();
    expected.reverse();
    let first = page(None, None).await;
    let last = Cursor { at: first[1].queued_at, id: first[1].id.0 };
    let second = page(Some(MailState::Waiting), Some(last)).await;

    assert_eq!([first, second].concat(), expected);
    assert_eq!(expected[0].address.as_deref(), Some("a@example.org"));
}

async fn an_abandoned_email_has_no_address_left(db: Database) {
    queue(&db, "a@example.org").await;
    let token = claim(&db, START).await;
    SqlOutbox::new(db.clone()).give_up(token, START, "550").await.unwrap();

    let record = SqlMailQueue::new(db).find(token.mail).await.unwrap().unwrap();

    assert_eq!(record.address, None);
    assert_eq!(record.failure.as_deref(), Some("550"));
    assert_eq!(record.tries, 1);
    assert_eq!(record.failed_at, Some(START));
}

async fn a_postponed_email_becomes_due(db: Database) {
    queue(&db, "a@example.org").await;
    let token = claim(&db, START).await;
    SqlOutbox::new(db.clone()).retry(token, START + CLAIM * 9, "451").await.unwrap();
    let mails = SqlMailQueue::new(db.clone());

    let is_done = mails.make_due(token.mail, START, audit_effects(token.mail)).await.unwrap();

    assert!(is_done);
    assert_eq!(changes(&db).await.len(), 1);
    assert_eq!(claim(&db, START).await.mail, token.mail);
}

async fn a_claimed_or_abandoned_email_does_not_become_due(db: Database) {
    queue(&db, "a@example.org").await;
    let mails = SqlMailQueue::new(db.clone());
    let outbox = SqlOutbox::new(db.clone());
    let token = claim(&db, START).await;
    let make_due =
        async || mails.make_due(token.mail, START, audit_effects(token.mail)).await.unwrap();

    let while_claimed = make_due().await;
    outbox.give_up(token, START, "550").await.unwrap();
    let once_abandoned = make_due().await;

    assert!(!while_claimed);
    assert!(!once_abandoned);
    assert_eq!(changes(&db).await.len(), 0);
}

async fn a_discarded_email_is_gone_and_its_template_recorded(db: Database) {
    queue(&db, "a@example.org").await;
    let mails = SqlMailQueue::new(db.clone());
    let mail = only_mail(&db).await;

    let is_discarded = mails.discard(mail, START, audit_effects(mail)).await.unwrap();
    let is_discarded_again = mails.discard(mail, START, audit_effects(mail)).await.unwrap();

    assert!(is_discarded);
    assert!(!is_discarded_again);
    assert_eq!(mails.find(mail).await.unwrap(), None);
    let recorded = r#"{"email":{"before":"invitation"}}"#;
    assert_eq!(changes(&db).await, [Some(recorded.to_owned())]);
}

async fn a_claimed_email_is_not_discarded(db: Database) {
    queue(&db, "a@example.org").await;
    let mails = SqlMailQueue::new(db.clone());
    let token = claim(&db, START).await;
    let discard = async |now| mails.discard(token.mail, now, audit_effects(token.mail)).await;

    let while_claimed = discard(START).await.unwrap();
    let once_expired = discard(START + CLAIM).await.unwrap();

    assert!(!while_claimed);
    assert!(once_expired);
}
