//! Schedules from end to end.

use std::sync::Arc;

use pia_kernel::{Clock, SystemClock};
use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::on_databases_with_roles;
use pia_server_testkit::polling::until;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{ANSWER, accepting, envelope, granted, wait_for_end};

on_databases_with_roles!(
    a_schedule_hands_its_assignment_over_in_time,
    administrators_see_schedules_without_their_inputs,
);

const SCHEDULES: &str = "/api/assignments/schedules";
const ALL_SCHEDULES: &str = "/api/admin/assignments/schedules";

fn every_minute() -> Value {
    json!({
        "skillName": "Research",
        "inputJson": envelope("What is new?").to_string(),
        "cron": "* * * * *",
        "timeZone": "Europe/Berlin",
    })
}

async fn a_schedule_hands_its_assignment_over_in_time(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let setting = accepting(database, &upstream.endpoint).at(Arc::clone(&clock) as _);
    let (_app, _, client) = granted(setting).await;
    let creation_response = client.post(SCHEDULES, &every_minute()).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert_eq!(creation_response.body["skillName"], "research");
    assert_eq!(creation_response.body["isActive"], true);
    assert_eq!(creation_response.body["catchUp"], "once");
    assert!(creation_response.body.get("lastAt").is_none());

    let next = creation_response.body["nextAt"].as_str().expect("a time").to_owned();
    clock.set(serde_json::from_value(json!(next)).expect("a time"));
    let last = until(async || {
        let listed = client.get(SCHEDULES).await.body[0].clone();
        listed["lastAssignmentId"].as_str().map(str::to_owned)
    })
    .await;

    let assignment = wait_for_end(&client, &format!("/api/assignments/{last}")).await;
    assert_eq!(assignment["status"], "Completed");
    assert_eq!(assignment["artifactText"], "# Findings");

    let path = format!("{SCHEDULES}/{}", creation_response.body["id"].as_str().expect("an id"));
    let off = json!({ "isActive": false });
    let mut body = every_minute();
    body.as_object_mut().expect("an object").extend(off.as_object().expect("an object").clone());
    let update_response = client.send("PUT", &path, &[], body.to_string().as_bytes()).await;

    assert_eq!(update_response.status, 200);
    assert_eq!(update_response.body["isActive"], false);
    assert_eq!(update_response.body["lastAt"], next);
    assert_eq!(client.send("DELETE", &path, &[], b"").await.status, 204);
    assert_eq!(client.send("DELETE", &path, &[], b"").await.status, 404);
}

async fn administrators_see_schedules_without_their_inputs(database: TestDatabase) {
    let upstream = Fixed::with_json(ANSWER).await;
    let (_app, console, client) = granted(accepting(database, &upstream.endpoint)).await;
    let user = client.user.clone().expect("an id");
    let previous_page = console.get("/admin/assignments/schedules").await.text();

    let mut yearly = every_minute();
    yearly["cron"] = json!("0 9 1 1 *");
    assert_eq!(client.post(SCHEDULES, &yearly).await.status, 201);
    let listed = console.get("/admin/assignments/schedules").await.text();
    let searched = console.get(&format!("/admin/assignments/schedules?user={user}")).await.text();
    let of_nobody = format!("/admin/assignments/schedules?user={}", uuid::Uuid::now_v7());
    let of_nobody = console.get(&of_nobody).await.text();
    let of_user = console.get(&format!("/admin/users/{user}")).await.text();
    let all = console.get(ALL_SCHEDULES).await.body;
    let items_of_user = console.get(&format!("{ALL_SCHEDULES}?user={user}&limit=1")).await.body;
    let items_of_nobody =
        console.get(&format!("{ALL_SCHEDULES}?user={}", uuid::Uuid::now_v7())).await.body;
    let malformed = console.get(&format!("{ALL_SCHEDULES}?cursor=x")).await;

    assert_eq!(all["items"][0]["userId"], json!(user));
    assert_eq!(all["items"][0]["cron"], "0 9 1 1 *");
    assert_eq!(all["items"][0]["isActive"], true);
    assert_eq!(all["items"][0].get("inputJson"), None);
    assert_eq!(items_of_user, all);
    assert_eq!(items_of_nobody, json!({ "items": [] }));
    assert_eq!(malformed.status, 400, "{}", malformed.text());
    assert!(previous_page.contains("No schedules"), "{previous_page}");
    assert!(
        of_nobody.contains("No entries found") && !of_nobody.contains("research"),
        "{of_nobody}"
    );
    for page in [&listed, &searched, &of_user] {
        for text in ["research", "0 9 1 1 *", "Europe/Berlin", "1 Jan 20", "Never"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains("What is new?"), "{page}");
    }
    assert!(listed.contains(&format!("admin/users/{user}")), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_schedules_name_their_field() {
    let upstream = Fixed::with_json(ANSWER).await;
    let (app, _, client) = granted(accepting(TestDatabase::sqlite(), &upstream.endpoint)).await;
    let refused = async |field: &str, value: &str| {
        let mut body = every_minute();
        body[field] = json!(value);
        client.post(SCHEDULES, &body).await
    };

    for (field, value) in [
        ("cron", "every day"),
        ("cron", "0 0 30 2 *"),
        ("timeZone", "Atlantis"),
        ("catchUp", "all"),
    ] {
        let answer = refused(field, value).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{field}");
        assert!(answer.text().contains(&format!("\"{field}\"")), "{}", answer.text());
    }

    let unknown_response = refused("skillName", "unknown").await;
    assert_eq!(unknown_response.refusal(), (400, "skill_not_granted"));
    let unreadable_response = refused("inputJson", "{").await;
    assert_eq!(unreadable_response.refusal(), (400, "invalid_envelope"));
    for _ in 0..20 {
        assert_eq!(client.post(SCHEDULES, &every_minute()).await.status, 201);
    }

    let full_response = client.post(SCHEDULES, &every_minute()).await;
    assert_eq!(full_response.refusal(), (409, "too_many_schedules"));
    assert_eq!(app.count("assignment_schedules").await, 20);
}
