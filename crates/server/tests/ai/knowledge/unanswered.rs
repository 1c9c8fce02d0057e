//! Questions that no document answers.

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::{CHAT, chat_request};
use pia_server_testkit::client::Client;
use pia_server_testkit::console::Console;
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{create_base, ingest, knowing, sign_up_manager};

on_both_databases!(managers_see_the_questions_of_their_group_that_no_document_answers);

const QUESTIONS: &str = "/api/kb-manager/unanswered-questions";

async fn ask(client: &Client, question: &str) {
    let answer = client.post(CHAT, &chat_request(question)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Waits until the questions are these, by text, and returns their ids.
async fn listed(client: &Client, expected: &[(&str, i64)]) -> Vec<String> {
    until(async || {
        let page = client.get(QUESTIONS).await.body;
        let mut items = page["items"].as_array().expect("a list").clone();
        items.sort_by_key(|it| it["question"].to_string());
        let is_expected = items.len() == expected.len()
            && items
                .iter()
                .zip(expected)
                .all(|(item, (text, count))| item["question"] == *text && item["count"] == *count);
        let ids = items.iter().filter_map(|it| it["id"].as_str().map(str::to_owned));
        is_expected.then(|| ids.collect())
    })
    .await
}

/// Checks the order and the search of the page of a base's questions.
async fn check_page(console: &Console, base: &str) {
    let list = format!("/admin/knowledge/{base}/questions");
    let by_count = console.get(&format!("{list}?sort=-count")).await.text();
    let searched = console.get(&format!("{list}?search=HYMNS&sort=question")).await.text();

    let position = |html: &str, text: &str| html.find(text).expect("a question");
    assert!(position(&by_count, "who juggles") < position(&by_count, "quick zebra"), "{by_count}");
    assert!(position(&searched, ">quick zebra") < position(&searched, ">use the tool"));
    assert!(!searched.contains("who juggles"), "{searched}");
    assert!(!by_count.contains("Knowledge:UnansweredQuestions"), "{by_count}");
}

async fn managers_see_the_questions_of_their_group_that_no_document_answers(
    database: TestDatabase,
) {
    let demo = Demo::start(0).expect("a demo upstream");
    let app = knowing(database)
        .with_upstream(&demo.endpoint())
        .with("Knowledge__UnansweredQuestions", true)
        .with("Admin:RequireSecondFactor", false)
        .start()
        .await;
    let bob = sign_up_manager(&app, "bob@example.org").await;
    let eve = app.sign_up("eve@example.org").await;
    let dan = app.sign_up("dan@example.org").await;
    app.admin("group create Sales").await.expect("a group");
    app.admin("group add dan@example.org Sales").await.expect("a member");
    app.admin("grant dan@example.org --role kb_manager").await.expect("a role");
    // Without a base nothing is searched.
    ask(&eve, "Do zebras juggle xylophones on quiet moons?").await;
    let travel = create_base(&app, "Travel", "default").await;
    ingest(&app, &travel, "Rules", "Book second class for a railway journey.").await;

    ask(&eve, "Which class may I book for a railway journey?").await;
    ask(&eve, "Who juggles xylophones at zoo@moon.example?").await;
    ask(&bob, "who juggles  XYLOPHONES at zoo2@moon.example").await;
    ask(&eve, "use the tool pia_search_knowledge quick zebra hymns").await;

    let expected = [
        ("quick zebra hymns", 1),
        ("use the tool pia_search_knowledge quick zebra hymns", 1),
        ("who juggles xylophones at [email]", 2),
    ];
    let ids = listed(&bob, &expected).await;
    let stats = bob.get(&format!("/api/kb-manager/knowledge-bases/{travel}/stats")).await.body;
    assert_eq!(stats["missCount"], 3, "one for each turn");
    assert_eq!(eve.get(QUESTIONS).await.refusal(), (403, "not_a_kb_manager"));
    assert_eq!(dan.get(QUESTIONS).await.body, json!({ "items": [] }));

    let console = Console::open(&app, "eve@example.org").await;
    check_page(&console, &travel).await;

    let path = format!("{QUESTIONS}/{}", ids[0]);
    let foreign_response = dan.send("DELETE", &path, &[], b"").await;
    assert_eq!(foreign_response.refusal(), (404, "not_found"));
    assert_eq!(bob.send("DELETE", &path, &[], b"").await.status, 204);
    listed(&bob, &expected[1..]).await;

    let path = "/api/admin/groups/00000000-0000-7000-8000-000000000001/unanswered-questions";
    let first_page = console.get(&format!("{path}?limit=1")).await.body;
    let next_cursor = first_page["nextCursor"].as_str().expect("a cursor");
    let second_page = console.get(&format!("{path}?limit=1&cursor={next_cursor}")).await.body;
    let mut seen =
        [&first_page, &second_page].map(|it| it["items"][0]["id"].as_str().expect("an id"));
    seen.sort_unstable_by_key(|it| *it != ids[1]);
    assert_eq!(seen, [&*ids[1], &*ids[2]]);

    let deletion_response =
        console.write("DELETE", &format!("{path}/{}", ids[2]), Value::Null).await;
    assert_eq!(deletion_response.status, 200, "{}", deletion_response.text());
    listed(&bob, &expected[1..2]).await;
}
