//! Tests of pushes.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{NOTHING, changed_ids, cursor, id, pull, pull_with, push, todo, todos};

on_both_databases!(
    a_push_that_stores_nothing_returns_the_cursor_of_a_pull,
    the_later_change_wins_and_is_returned_to_the_loser,
    with_server_wins_items_unknown_to_the_client_are_unchanged,
    repeated_pushes_do_not_revive_deleted_items,
    an_item_without_an_id_is_assigned_one_and_replays_are_idempotent,
    a_push_beyond_a_quota_stores_nothing,
    refused_items_do_not_prevent_others,
    a_compressed_push_is_read_with_and_without_its_header,
    the_march_generation_repeats_everything_and_revives_nothing,
);

fn gzip(body: &Value) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(body.to_string().as_bytes()).expect("compressed");
    gzip.finish().expect("compressed")
}

async fn a_push_that_stores_nothing_returns_the_cursor_of_a_pull(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;

    let first_push = push(&ada, &todos(&[])).await;
    let pulled = pull(&ada, NOTHING).await;
    push(&ada, &todos(&[todo(1, 1, "x")])).await;
    let later_push = push(&ada, &todos(&[])).await;

    assert_eq!(first_push["serverTimestamp"], pulled["serverTimestamp"]);
    assert_ne!(later_push["serverTimestamp"], pulled["serverTimestamp"]);
    assert_eq!(later_push["serverTimestamp"], pull(&ada, NOTHING).await["serverTimestamp"]);
}

async fn the_later_change_wins_and_is_returned_to_the_loser(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let (desk, laptop) = app.two_devices().await;
    push(&desk, &todos(&[todo(1, 9, "late")])).await;
    let cursor_before = cursor(&pull(&laptop, NOTHING).await).to_owned();

    let pushed = push(&laptop, &todos(&[todo(1, 5, "early")])).await;

    let conflict = &pushed["conflicts"][0];
    assert_eq!(conflict["entity"], "todos");
    assert_eq!(conflict["id"], id(1));
    assert_eq!(conflict["resolution"], "server_wins");
    assert_eq!(conflict["serverVersion"]["title"], "late");
    assert!(conflict.get("reason").is_none());
    assert_eq!(pull(&laptop, &cursor_before).await["todos"]["upserted"][0]["title"], "late");

    let newer_push = push(&laptop, &todos(&[todo(1, 10, "later")])).await;
    assert_eq!(newer_push["conflicts"][0]["resolution"], "client_wins");
    assert_eq!(pull(&desk, &cursor_before).await["todos"]["upserted"][0]["title"], "later");
}

async fn with_server_wins_items_unknown_to_the_client_are_unchanged(database: TestDatabase) {
    let app = TestConfig::on(database).with("Sync__ConflictStrategy", "server-wins").start().await;
    let ada = app.signed_in().await;
    push(&ada, &todos(&[todo(1, 1, "first")])).await;

    let push_without_cursor = push(&ada, &todos(&[todo(1, 9, "blind")])).await;
    let mut request = todos(&[todo(1, 9, "aware")]);
    request["lastSyncTimestamp"] = pull(&ada, NOTHING).await["serverTimestamp"].clone();
    let push_with_cursor = push(&ada, &request).await;

    assert_eq!(push_without_cursor["conflicts"][0]["resolution"], "server_wins");
    assert_eq!(push_with_cursor["conflicts"], json!([]));
    assert_eq!(pull(&ada, NOTHING).await["todos"]["upserted"][0]["title"], "aware");
}

async fn repeated_pushes_do_not_revive_deleted_items(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    push(&ada, &todos(&[todo(1, 1, "x")])).await;
    let deletion =
        json!({ "clientTimestamp": "2026-03-01T10:00:30Z", "todos": { "deleted": [id(1)] } });
    push(&ada, &deletion).await;
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await), (vec![], vec![id(1)]));

    let push_of_equal_time = push(&ada, &todos(&[todo(1, 30, "x")])).await;
    let repeated_deletion = push(&ada, &json!({ "todos": { "deleted": [id(1)] } })).await;
    assert_eq!(push_of_equal_time["conflicts"][0]["resolution"], "server_wins");
    assert_eq!(repeated_deletion["conflicts"], json!([]));
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await), (vec![], vec![id(1)]));

    let later_push = push(&ada, &todos(&[todo(1, 31, "back")])).await;
    assert_eq!(later_push["conflicts"][0]["resolution"], "client_wins");
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await), (vec![id(1)], vec![]));
}

async fn an_item_without_an_id_is_assigned_one_and_replays_are_idempotent(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let memory = json!({ "label": "x", "data": "{}", "updatedAt": "2026-03-01T10:00:00Z" });
    let body = json!({ "memories": [memory] });

    let first_push = push(&ada, &body).await;
    let second_push = push(&ada, &body).await;

    let assigned = first_push["assignedIds"][0].clone();
    assert_eq!(assigned["entity"], "memories");
    assert_eq!(assigned["index"], 0);
    assert_eq!(second_push["assignedIds"][0], assigned);
    assert_eq!(
        changed_ids(&pull(&ada, NOTHING).await).0,
        [assigned["id"].as_str().expect("an id")]
    );
}

async fn a_push_beyond_a_quota_stores_nothing(database: TestDatabase) {
    let app = TestConfig::on(database).with("Sync__MaxTodos", 2).start().await;
    let ada = app.signed_in().await;
    push(&ada, &todos(&[todo(1, 1, "x")])).await;

    let mut body = todos(&[todo(2, 1, "x"), todo(3, 1, "x")]);
    body["memories"] = json!([{ "id": id(9), "label": "x" }]);
    let response = ada.post("/api/sync/push", &body).await;

    assert_eq!(response.refusal(), (409, "quota_exceeded"));
    assert_eq!(response.body["resource"], "todos");
    assert_eq!(response.body["limit"], 2);
    assert_eq!(response.body["current"], 1);
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await).0, [id(1)]);
    push(&ada, &todos(&[todo(2, 1, "x")])).await;
}

async fn refused_items_do_not_prevent_others(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let persona =
        |number, name: &str| json!({ "id": id(number), "name": name, "systemPrompt": "x" });
    let half =
        json!({ "id": id(5), "encryptedPayload": "AAAA", "updatedAt": "2026-03-01T10:00:00Z" });
    let body = json!({
        "personas": { "upserted": [persona(1, "good"), persona(2, &"x".repeat(256))] },
        "todos": { "upserted": [half, todo(6, 1, &"x".repeat(1_500_000))] },
        "scheduledJobs": [{ "id": id(7), "timeOfDay": "24:00:00" }],
        "settings": { "modeProviderDefaults": { "first": id(8) } },
        "memories": [{ "id": id(9), "x": (0..60).fold(json!(1), |it, _| json!([it])) }],
    });

    let pushed = push(&ada, &body).await;

    let conflicts = pushed["conflicts"].as_array().expect("conflicts");
    let reasons: Vec<_> =
        conflicts.iter().map(|it| it["reason"].as_str().expect("a reason")).collect();
    let expected =
        ["unreadable", "invalid_persona", "too_deep", "missing_blobs", "too_large", "unreadable"];

    assert_eq!(reasons, expected);
    assert!(conflicts.iter().all(|it| it["resolution"] == "server_wins"));
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await).0, [id(1)]);
}

async fn a_compressed_push_is_read_with_and_without_its_header(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let json = ("content-type", "application/json; charset=utf-8");
    let first_body = gzip(&todos(&[todo(1, 1, "x")]));
    let second_body = gzip(&todos(&[todo(2, 1, "x")]));

    let labelled_response = ada
        .send("POST", "/api/sync/push", &[json, ("content-encoding", "gzip")], &first_body)
        .await;
    let unlabelled_response = ada.send("POST", "/api/sync/push", &[json], &second_body).await;

    assert_eq!(labelled_response.status, 200, "{}", labelled_response.text());
    assert_eq!(unlabelled_response.status, 200, "{}", unlabelled_response.text());
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await).0, [id(1), id(2)]);
}

async fn the_march_generation_repeats_everything_and_revives_nothing(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let (march, new) = app.two_devices().await;
    let everything = json!({
        "ClientTimestamp": "2026-03-01T10:01:00Z", "LastSyncTimestamp": "2026-03-01T10:00:59Z",
        "IsE2EEEncrypted": false, "DeviceId": "d",
        "Settings": { "Theme": 2, "ModifiedAt": "2026-03-01T10:00:00Z", "EncryptedPayload": null },
        "Templates": { "Upserted": [{ "Id": id(1), "Name": "t", "ExampleText": "e",
            "CreatedAt": "2026-03-01T10:00:00Z", "ModifiedAt": null, "WrappedDek": null }], "Deleted": [] },
        "Providers": null,
        "Sessions": { "Added": [{ "Id": id(2), "CreatedAt": "2026-03-01T10:00:00Z" }], "Deleted": [] },
        "Memories": { "Upserted": [], "Deleted": [] },
        "Todos": { "Upserted": [{ "Id": id(3), "Title": "x", "UpdatedAt": "2026-03-01T10:00:00Z" }] },
    });
    push(&march, &everything).await;
    let pulled = pull(&new, NOTHING).await;
    assert_eq!(pulled["templates"]["upserted"][0]["ExampleText"], "e");
    assert_eq!(pulled["settings"]["theme"], 2);

    push(&new, &json!({ "todos": { "deleted": [id(3)] } })).await;
    let pulled_deletion = pull(&new, cursor(&pulled)).await;
    assert_eq!(changed_ids(&pulled_deletion), (vec![], vec![id(3)]));

    let second_push = push(&march, &everything).await;
    let pulled_again = pull(&new, cursor(&pulled_deletion)).await;
    assert_eq!(second_push["conflicts"].as_array().expect("conflicts").len(), 1);
    assert_eq!(changed_ids(&pulled_again), (vec![], vec![id(3)]));
    assert_eq!(changed_ids(&pull(&march, NOTHING).await), (vec![id(1), id(2)], vec![id(3)]));

    // Repeated pushes are no change for other devices.
    let since = cursor(&pulled_again).to_owned();
    let tag = pull_with(&new, &since, "").await.header("etag").expect("a tag").to_owned();
    let third_push = push(&march, &everything).await;
    assert_eq!(third_push["conflicts"][0]["serverVersion"]["id"], id(3));
    assert!(third_push["conflicts"][0]["serverVersion"]["deletedAt"].is_string());

    let path = format!("/api/sync/pull?since={since}");
    assert_eq!(new.send("GET", &path, &[("if-none-match", &tag)], b"").await.status, 304);
}
