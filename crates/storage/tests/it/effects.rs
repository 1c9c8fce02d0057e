//! Contract tests of side effects.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{AuditEntry, MailId, QueuedEmail, RequestContext, SideEffects, Timestamp, UserId};
use pia_storage::schema::{audit_entries, audit_identities, mails};
use pia_storage::{
    AuditIdentity, AuditPart, Database, DbError, DbUid, StoredEmail, WriteEffects, in_tx, on_conn,
};
use pia_testkit::databases::seal;

pia_testkit::contract! {
    an_entry_stores_only_a_commitment_to_its_actor,
    an_anonymous_actor_belongs_to_the_subject,
    entries_are_never_changed,
    an_email_is_stored_sealed,
    a_missing_account_gets_no_email,
}

const AT: Timestamp = Timestamp::UNIX_EPOCH;

fn origin() -> RequestContext {
    RequestContext {
        address: Some("192.0.2.7".parse().unwrap()),
        agent: Some("an agent".into()),
        request: Some("request-1".into()),
        language: None,
    }
}

async fn write(db: &Database, effects: SideEffects) {
    let writing = async {
        in_tx!(db, async |conn| -> Result<(), DbError> { conn.write_effects(db, &effects).await })
    };
    origin().scope(writing).await.unwrap();
}

type Entry = (DbUid, String, Option<String>, Option<Vec<u8>>, Option<Vec<u8>>);
type Identity = (DbUid, String, Option<DbUid>, Option<Vec<u8>>);

async fn written(db: &Database) -> (Vec<Entry>, Vec<Identity>) {
    use audit_entries::{action, actor_commitment, id, request, subject_commitment};
    let load = async {
        let entries = audit_entries::table.order(id).select((
            id,
            action,
            request,
            actor_commitment,
            subject_commitment,
        ));
        let identities =
            audit_identities::table.order((audit_identities::entry_id, audit_identities::part));
        on_conn!(db.reader(), |conn| (entries.load(conn).await?, identities.load(conn).await?))
    };
    load.await.unwrap()
}

fn open_identity(
    identity: &Identity,
    part: AuditPart,
    commitment: Option<&Vec<u8>>,
) -> AuditIdentity {
    let sealed = identity.3.as_deref().unwrap();
    AuditIdentity::open(&seal(), identity.0.0, part, sealed, commitment.unwrap()).unwrap()
}

async fn an_entry_stores_only_a_commitment_to_its_actor(db: Database) {
    let admin = UserId::generate();
    let user = UserId::generate();
    let entry = AuditEntry {
        actor: Some(admin),
        subject: Some(user),
        ..AuditEntry::new(AT, "account.deactivated")
    };

    write(&db, entry.into()).await;

    let (entries, identities) = written(&db).await;
    let (id, action, request, by, on) = &entries[0];
    assert_eq!(&**action, "account.deactivated");
    assert_eq!(request.as_deref(), Some("request-1"));
    assert_eq!(identities.len(), 2);
    let actor = open_identity(&identities[0], AuditPart::Actor, by.as_ref());
    let subject = open_identity(&identities[1], AuditPart::Subject, on.as_ref());
    assert_eq!(actor.user, Some(admin));
    assert_eq!(actor.agent.as_deref(), Some("an agent"));
    assert_eq!(actor.address, origin().address);
    assert_eq!(subject.user, Some(user));
    let sealed_actor = identities[0].3.as_deref().unwrap();
    let actor_commitment = by.as_deref().unwrap();
    let subject_commitment = on.as_deref().unwrap();
    let open =
        |part, commitment| AuditIdentity::open(&seal(), id.0, part, sealed_actor, commitment);
    assert_eq!(open(AuditPart::Subject, actor_commitment), None);
    assert_eq!(open(AuditPart::Actor, subject_commitment), None);
}

async fn an_anonymous_actor_belongs_to_the_subject(db: Database) {
    let user = UserId::generate();

    write(&db, SideEffects::about(AT, user, "sign_in.failed")).await;

    let (_, identities) = written(&db).await;
    let owners: Vec<_> = identities.iter().map(|it| (it.1.as_str(), it.2)).collect();
    assert_eq!(owners, [("actor", Some(DbUid(user.0))), ("subject", Some(DbUid(user.0)))]);
}

async fn entries_are_never_changed(db: Database) {
    write(&db, SideEffects::audit(AT, UserId::generate(), "made")).await;

    let result: Result<usize, DbError> = async {
        let update = diesel::update(audit_entries::table).set(audit_entries::action.eq("other"));
        on_conn!(db.writer(), |conn| update.execute(conn).await?)
    }
    .await;

    let error = result.unwrap_err();
    let reason = std::error::Error::source(&error).unwrap().to_string();
    assert!(reason.contains("audit entries are never changed"), "{reason}");
}

async fn an_email_is_stored_sealed(db: Database) {
    let email = QueuedEmail::new("invitation").with("link", "https://pia.example/secret-link");

    write(&db, SideEffects { audit: vec![], mail: vec![email.to_address(AT, "ada@example.org")] })
        .await;

    let waiting: (DbUid, String, Option<Vec<u8>>) = async {
        let row = mails::table.select((mails::id, mails::letter, mails::sealed));
        on_conn!(db.reader(), |conn| row.first(conn).await?)
    }
    .await
    .unwrap();
    let sealed = waiting.2.unwrap();
    let email = StoredEmail::open(&seal(), MailId(waiting.0.0), &sealed).unwrap();
    assert_eq!(&*waiting.1, "invitation");
    assert_eq!(&*email.to, "ada@example.org");
    assert_eq!(email.fields["link"], "https://pia.example/secret-link");
    assert_eq!(email.address, origin().address);
    assert_eq!(email.at, AT);
    assert!(!sealed.windows(6).any(|it| it == b"secret"));
}

async fn a_missing_account_gets_no_email(db: Database) {
    let email = QueuedEmail::new("password-changed").to_user(AT, UserId::generate());

    write(&db, SideEffects { audit: vec![], mail: vec![email] }).await;

    let waiting: i64 = async {
        let count = mails::table.count();
        on_conn!(db.reader(), |conn| count.get_result(conn).await?)
    }
    .await
    .unwrap();
    assert_eq!(waiting, 0);
}
