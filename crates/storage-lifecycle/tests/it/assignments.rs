//! Contract tests of the export and the erasure of assignments.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{
    AssignmentStore, EventKind, NewAssignment, NewEvent, RunChange, RunOutcome, RunStore,
    StepDetail, WorkerId, built_in_skills,
};
use pia_identity::Role;
use pia_kernel::{AssignmentId, Eraser, ErasureOutcome, PersonalData, Timestamp, UserId};
use pia_storage::schema::{assignment_events, assignments};
use pia_storage::{Database, DbError, on_conn};
use pia_storage_assignments::SqlAssignments;
use pia_storage_lifecycle::{SqlEraser, SqlPersonalData};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::people::{AT, create_person, erasure_of, execute, sealer};

pia_testkit::contract_with_roles! {
    assignments_are_exported_with_their_contents_and_events,
    many_assignments_are_exported_in_pages,
    an_undecryptable_assignment_is_exported_without_its_contents,
    assignments_are_erased_with_the_account,
}

const INPUT: &str = r#"{"schemaVersion":1,"prompt":"Why?"}"#;

fn store(db: &Database) -> SqlAssignments {
    SqlAssignments::new(db.clone(), sealer(db))
}

async fn create_assignment(db: &Database, user: UserId, at: Timestamp) -> AssignmentId {
    let [skill, _] = built_in_skills();
    let id = AssignmentId::generate();
    let input = INPUT.to_owned();
    let event = NewEvent::once(EventKind::Queued, "Waiting.");
    let new = NewAssignment { id, user, skill, input, at, event };
    store(db).create(new, 100).await.unwrap();
    id
}

/// Runs an assignment to its end.
async fn complete_assignment(db: &Database, id: AssignmentId) {
    let started = NewEvent::once(EventKind::Started, "Started.");
    let run = store(db).claim_one(id, WorkerId(Uuid::now_v7()), AT, started).await.unwrap();
    let detail = StepDetail::step(0, 7, &["search".to_owned()]);
    let event = NewEvent::of_step(EventKind::Artifact, 0, "Found it.").by_other();
    let outcome = RunOutcome::Completed {
        artifact_json: "{}".to_owned(),
        artifact_text: Some("Because.".to_owned()),
    };
    let events = vec![event.with_detail(&detail)];
    let change = RunChange { at: AT, tokens: 7, abandoned: 1, events, outcome };
    assert!(store(db).change(run.unwrap().claim, change).await.unwrap());
}

/// Returns all exported assignments, and the number of pages.
async fn export_assignments(db: &Database, user: UserId) -> (Vec<Value>, usize) {
    let data = SqlPersonalData::new(db.clone(), sealer(db));
    let mut all = Vec::new();
    let mut pages = 0;
    let mut after = None;
    loop {
        let page = data.page(user, "assignments", after).await.unwrap();
        all.extend(page.rows.iter().map(|it| serde_json::from_str::<Value>(it).unwrap()));
        pages += 1;
        after = page.next;
        if after.is_none() {
            return (all, pages);
        }
    }
}

async fn assignments_are_exported_with_their_contents_and_events(db: Database) {
    let ada = create_person(&db, Role::User).await.user;
    let bob = create_person(&db, Role::User).await.user;
    let id = create_assignment(&db, ada, AT).await;
    create_assignment(&db, bob, AT).await;
    complete_assignment(&db, id).await;

    let (exported, _) = export_assignments(&db, ada).await;

    let [exported] = &exported[..] else { panic!("{exported:?}") };
    let mut exported = exported.clone();
    let events = exported.as_object_mut().unwrap().remove("events").unwrap();
    let epoch = "1970-01-01T00:00:00Z";
    let expected = json!({
        "id": id,
        "skillName": "research",
        "mode": "Research",
        "status": "Completed",
        "stepCount": 1,
        "tokensSpent": 7,
        "tokensAbandoned": 1,
        "createdAt": epoch,
        "updatedAt": epoch,
        "startedAt": epoch,
        "completedAt": epoch,
        "input": INPUT,
        "artifactJson": "{}",
        "artifactText": "Because.",
    });
    assert_eq!(exported, expected);
    let kinds: Vec<_> = events.as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["queued", "started", "artifact"]);
    assert_eq!(events[0]["message"], "Waiting.");
    assert_eq!(events[2]["message"], "Found it.");
    assert!(events[2]["detail"].as_str().unwrap().contains("\"tokens\":7"));
}

async fn many_assignments_are_exported_in_pages(db: Database) {
    let ada = create_person(&db, Role::User).await.user;
    let mut ids = Vec::new();
    for minute in 0..13 {
        ids.push(create_assignment(&db, ada, AT + Duration::from_mins(minute / 2)).await);
    }

    let (exported, pages) = export_assignments(&db, ada).await;

    let exported: Vec<_> = exported.iter().map(|it| it["id"].clone()).collect();
    let expected: Vec<_> = ids.into_iter().rev().map(|it| json!(it)).collect();
    assert_eq!(exported, expected);
    assert_eq!(pages, 2);
}

async fn an_undecryptable_assignment_is_exported_without_its_contents(db: Database) {
    let ada = create_person(&db, Role::User).await.user;
    let id = create_assignment(&db, ada, AT).await;
    complete_assignment(&db, id).await;
    execute(&db, "DELETE FROM person_salts").await;

    let (exported, _) = export_assignments(&db, ada).await;

    assert_eq!(exported[0]["status"], "Completed");
    assert_eq!(exported[0].get("input"), None);
    assert_eq!(exported[0].get("artifactText"), None);
    assert_eq!(exported[0]["events"][2].get("message"), None);
}

async fn assignments_are_erased_with_the_account(db: Database) {
    let ada = create_person(&db, Role::User).await;
    let bob = create_person(&db, Role::User).await;
    for person in [ada, bob] {
        let id = create_assignment(&db, person.user, AT).await;
        complete_assignment(&db, id).await;
    }

    let erased = SqlEraser::new(db.clone()).erase(erasure_of(ada)).await.unwrap();

    assert_eq!(erased, ErasureOutcome::Erased);
    let owners = assignments::table.select(assignments::user_id);
    let events = assignment_events::table.count();
    let left: Result<(Vec<pia_storage::DbUid>, i64), DbError> =
        on_conn!(db.unrestricted().reader(), |conn| {
            (owners.load(conn).await?, events.get_result(conn).await?)
        });
    assert_eq!(left.unwrap(), (vec![pia_storage::DbUid(bob.user.0)], 3));
}
