//! Contract tests of the audit log and its retention.

use std::time::Duration;

use pia_identity::Role;
use pia_kernel::{
    AuditEntry, AuditFilter, AuditLog, AuditPerson, AuditRecord, AuditSide, Cursor, EffectWriter,
    Eraser, PageRequest, PersonalData, RequestContext, SideEffects, TimeOrder, UserId,
};
use pia_storage::{Database, DbError, WriteEffects, in_tx};
use pia_storage_lifecycle::{
    SqlAuditChain, SqlAuditLog, SqlEffectWriter, SqlEraser, SqlPersonalData,
};

use crate::people::{AT, create_person, erasure_of};

pia_testkit::contract! {
    entries_name_actor_subject_and_origin,
    an_entry_is_found_by_its_id,
    pages_neither_repeat_nor_omit_entries,
    an_erased_user_is_reported_as_forgotten,
    the_export_names_no_other_users,
    entries_are_filtered_by_user_action_object_and_time,
    entries_are_listed_oldest_first_in_pages,
    old_entries_are_deleted_with_their_identities,
    side_effects_are_written_without_a_change,
}

pub(crate) const ALL: PageRequest = PageRequest { after: None, limit: 100 };

pub(crate) fn entry(actor: Option<UserId>, subject: Option<UserId>, seconds: u64) -> AuditEntry {
    let at = AT + Duration::from_secs(seconds);
    AuditEntry { actor, subject, ..AuditEntry::new(at, "account.deactivated") }
}

pub(crate) async fn write(db: &Database, entries: &[AuditEntry]) {
    let origin = RequestContext {
        address: Some("192.0.2.7".parse().unwrap()),
        agent: Some("an agent".into()),
        request: Some("request-1".into()),
        language: None,
    };
    for entry in entries {
        let effects = SideEffects { audit: vec![entry.clone()], mail: vec![] };
        let writing = async {
            in_tx!(db, async |conn| -> Result<(), DbError> {
                conn.write_effects(db, &effects).await
            })
        };
        origin.clone().scope(writing).await.unwrap();
    }
}

async fn entries_name_actor_subject_and_origin(db: Database) {
    let admin = UserId::generate();
    let user = UserId::generate();
    write(&db, &[entry(Some(admin), Some(user), 0), entry(Some(user), None, 1)]).await;
    let log = SqlAuditLog::new(db);

    let entries = log.page(&AuditFilter::default(), ALL).await.unwrap();
    let entries_of_user = log.page(&AuditFilter::of_user(user), ALL).await.unwrap();
    let entries_of_admin = log.page(&AuditFilter::of_user(admin), ALL).await.unwrap();

    let known_person = |user| AuditPerson {
        user: Some(user),
        address: Some("192.0.2.7".parse().unwrap()),
        agent: Some("an agent".to_owned()),
    };
    let person_without_request = AuditPerson { user: Some(user), ..AuditPerson::default() };
    assert_eq!(entries[0].actor, AuditSide::Known(known_person(user)));
    assert_eq!(entries[0].subject, AuditSide::Nobody);
    assert_eq!(entries[1].actor, AuditSide::Known(known_person(admin)));
    assert_eq!(entries[1].subject, AuditSide::Known(person_without_request));
    assert_eq!(&*entries[1].action, "account.deactivated");
    assert_eq!(entries[1].at, AT);
    assert_eq!(entries[1].request.as_deref(), Some("request-1"));
    assert_eq!(entries_of_user, entries);
    assert_eq!(entries_of_admin, vec![entries[1].clone()]);
}

async fn an_entry_is_found_by_its_id(db: Database) {
    let user = UserId::generate();
    write(&db, &[entry(Some(user), None, 0), entry(None, Some(user), 1)]).await;
    let log = SqlAuditLog::new(db);

    for record in log.page(&AuditFilter::default(), ALL).await.unwrap() {
        assert_eq!(log.find(record.id).await.unwrap(), Some(record));
    }
    assert_eq!(log.find(user.0).await.unwrap(), None);
}

async fn pages_neither_repeat_nor_omit_entries(db: Database) {
    let user = UserId::generate();
    let entries: Vec<_> = (0..7).map(|it| entry(Some(user), None, it / 3)).collect();
    write(&db, &entries).await;
    let log = SqlAuditLog::new(db);

    for filter in [AuditFilter::default(), AuditFilter::of_user(user)] {
        let mut read = Vec::new();
        let mut page = PageRequest { after: None, limit: 2 };
        loop {
            let rows = log.page(&filter, page).await.unwrap();
            let Some(last) = rows.last() else { break };
            page.after = Some(Cursor { at: last.at, id: last.id });
            read.extend(rows);
        }

        assert_eq!(read, log.page(&filter, ALL).await.unwrap());
        assert_eq!(read.len(), 7);
    }
}

async fn an_erased_user_is_reported_as_forgotten(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let bob = create_person(&db, Role::User).await;
    write(&db, &[entry(Some(ada.user), Some(bob.user), 0)]).await;

    SqlEraser::new(db.clone()).erase(erasure_of(ada)).await.unwrap();

    let log = SqlAuditLog::new(db);
    let entries = log.page(&AuditFilter::default(), ALL).await.unwrap();
    assert_eq!(entries.len(), 2);
    let deletion_entry = entries.iter().find(|it| it.action == "account.deleted").unwrap();
    let earlier_entry = entries.iter().find(|it| it.action != "account.deleted").unwrap();
    assert_eq!(deletion_entry.actor, AuditSide::Nobody);
    assert_eq!(deletion_entry.subject, AuditSide::Nobody);
    assert_eq!(earlier_entry.actor, AuditSide::Forgotten);
    assert!(matches!(&earlier_entry.subject, AuditSide::Known(it) if it.user == Some(bob.user)));
    assert!(log.page(&AuditFilter::of_user(ada.user), ALL).await.unwrap().is_empty());
}

async fn the_export_names_no_other_users(db: Database) {
    let admin = UserId::generate();
    let user = UserId::generate();
    write(&db, &[entry(Some(admin), Some(user), 0), entry(None, Some(user), 1)]).await;

    let page = SqlPersonalData::new(db.clone(), crate::people::sealer(&db))
        .page(user, "audit", None)
        .await
        .unwrap();

    assert_eq!(page.rows.len(), 2);
    let rows = page.rows.join("\n");
    assert!(rows.contains(&user.to_string()), "{rows}");
    assert!(!rows.contains(&admin.to_string()), "{rows}");
    // The address of an anonymous caller is exported, that of the admin is not.
    assert_eq!(rows.matches("192.0.2.7").count(), 1, "{rows}");
}

async fn old_entries_are_deleted_with_their_identities(db: Database) {
    let user = UserId::generate();
    let chain = SqlAuditChain::new(db.clone());
    let entries: Vec<_> = (0..1203).map(|it| entry(Some(user), None, it)).collect();
    let minutes = |it| AT + Duration::from_mins(it);
    for batch in [&entries[..700], &entries[700..1200], &entries[1200..]] {
        write(&db, batch).await;
        while chain.extend().await.unwrap() > 0 {}
    }
    let log = SqlAuditLog::new(db.clone());

    let deleted_count = log.sweep(minutes(20)).await.unwrap();

    let remaining_entries = log.page(&AuditFilter::of_user(user), ALL).await.unwrap();
    assert_eq!(deleted_count, 1200);
    assert_eq!(remaining_entries.len(), 3);
    assert_eq!(remaining_entries[2].at, minutes(20));
    assert_eq!(log.page(&AuditFilter::default(), ALL).await.unwrap().len(), 3);

    let report = chain.verify(None, minutes(20)).await.unwrap();
    assert_eq!(report.entries, 3);
    assert_eq!(report.last, 1203);
    assert!(report.faults.is_empty());
    let newest = entries[1199].at;
    assert_eq!(report.deleted_until, Some((1200, newest)));

    // They were chained together.
    assert_eq!(log.sweep(minutes(20) + Duration::from_secs(2)).await.unwrap(), 0);
    assert_eq!(log.sweep(minutes(21)).await.unwrap(), 3);
    assert_eq!(chain.verify(None, minutes(21)).await.unwrap().faults, []);
}

async fn entries_are_filtered_by_user_action_object_and_time(db: Database) {
    let admin = UserId::generate();
    let user = UserId::generate();
    for seconds in 0..6 {
        let action = if seconds % 2 == 0 { "Group.Created" } else { "Group.Deleted" };
        let actor = if seconds < 4 { admin } else { user };
        let object = Some(format!("group:{}", seconds / 2));
        write(&db, &[AuditEntry { action, object, ..entry(Some(actor), None, seconds) }]).await;
    }
    let log = SqlAuditLog::new(db);
    let second = |it| AT + Duration::from_secs(it);
    let object = Some("group:1".to_owned());
    let deletion_action = Some("Group.Deleted".to_owned());
    for (filter, expected) in [
        (AuditFilter { action: deletion_action.clone(), ..AuditFilter::default() }, vec![5, 3, 1]),
        (
            AuditFilter { action: deletion_action.clone(), ..AuditFilter::of_user(admin) },
            vec![3, 1],
        ),
        (AuditFilter { object: object.clone(), ..AuditFilter::default() }, vec![3, 2]),
        (AuditFilter { object: object.clone(), ..AuditFilter::of_user(admin) }, vec![3, 2]),
        (AuditFilter { object: object.clone(), ..AuditFilter::of_user(user) }, vec![]),
        (
            AuditFilter { action: deletion_action.clone(), object, ..AuditFilter::default() },
            vec![3],
        ),
        (AuditFilter { since: Some(second(4)), ..AuditFilter::default() }, vec![5, 4]),
        (AuditFilter { until: Some(second(2)), ..AuditFilter::of_user(admin) }, vec![1, 0]),
        (
            AuditFilter {
                action: deletion_action,
                since: Some(second(2)),
                until: Some(second(5)),
                ..AuditFilter::default()
            },
            vec![3],
        ),
        (AuditFilter { action: Some(String::new()), ..AuditFilter::default() }, vec![]),
    ] {
        let entries = log.page(&filter, ALL).await.unwrap();
        let times: Vec<_> = entries.iter().map(|it| it.at).collect();
        assert_eq!(times, expected.into_iter().map(second).collect::<Vec<_>>(), "{filter:?}");
    }
}

async fn entries_are_listed_oldest_first_in_pages(db: Database) {
    let admin = UserId::generate();
    // The first two are of one time.
    for seconds in [0, 0, 1, 2, 3] {
        write(&db, &[entry(Some(admin), None, seconds)]).await;
    }
    let log = SqlAuditLog::new(db);
    let second = |it| AT + Duration::from_secs(it);
    let action = Some("account.deactivated".to_owned());
    for filter in [
        AuditFilter::default(),
        AuditFilter::of_user(admin),
        AuditFilter { action, ..AuditFilter::default() },
        AuditFilter { since: Some(second(0)), until: Some(second(3)), ..AuditFilter::default() },
        AuditFilter { since: Some(second(1)), ..AuditFilter::default() },
        AuditFilter { since: Some(second(1)), ..AuditFilter::of_user(admin) },
    ] {
        let mut expected = log.page(&filter, ALL).await.unwrap();
        expected.reverse();
        let oldest_first = AuditFilter { order: TimeOrder::Oldest, ..filter };
        let mut listed: Vec<AuditRecord> = Vec::new();
        loop {
            let after = listed.last().map(|it| Cursor { at: it.at, id: it.id });
            let page = log.page(&oldest_first, PageRequest { after, limit: 1 }).await.unwrap();
            if page.is_empty() {
                break;
            }
            listed.extend(page);
        }

        assert!(expected.len() > 2, "{oldest_first:?}");
        assert_eq!(listed, expected, "{oldest_first:?}");
    }
}

async fn side_effects_are_written_without_a_change(db: Database) {
    let admin = UserId::generate();
    let object = "model:Ai".to_owned();
    let effects = SideEffects::of_object(AT, Some(admin), object, "Model.Tested");

    SqlEffectWriter::new(db.clone()).write(&effects).await.unwrap();

    let entries = SqlAuditLog::new(db).page(&AuditFilter::of_user(admin), ALL).await.unwrap();
    let written: Vec<_> = entries.iter().map(|it| (&*it.action, it.object.as_deref())).collect();
    assert_eq!(written, [("Model.Tested", Some("model:Ai"))]);
}
