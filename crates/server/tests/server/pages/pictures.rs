//! Pictures of the handbook.

use std::path::PathBuf;

use pia_server_testkit::ai_client::{CHAT, chat_request};
use pia_server_testkit::browser::Browser;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;

use super::accessible::plant_usage;
use super::planted;
use super::visitor::{ADA, start_with_admin};

/// Pages of the handbook that mention pictures.
const HANDBOOK: [&str; 2] =
    [include_str!("../../../../../README.md"), include_str!("../../../../../docs/ADMIN.md")];
/// Pictures in light and dark colours: their names, and the paths of their pages.
const PICTURES: [(&str, &str); 5] = [
    ("overview", "/admin"),
    ("group", "/admin/groups/00000000-0000-7000-8000-000000000001"),
    ("models", "/admin/models"),
    ("users", "/admin/users"),
    ("account", "/account"),
];
/// Pictures that are also taken on a phone.
const ON_A_PHONE: [&str; 2] = ["overview", "account"];

/// Variant of a picture: the window in which it is taken.
struct Variant {
    /// Suffix of the file's name.
    name: &'static str,
    width: u32,
    height: u32,
    /// Preferred colours: `light` or `dark`.
    colours: &'static str,
    is_phone: bool,
}

const VARIANTS: [Variant; 3] = [
    Variant { name: "light", width: 1280, height: 1200, colours: "light", is_phone: false },
    Variant { name: "dark", width: 1280, height: 1200, colours: "dark", is_phone: false },
    Variant { name: "phone", width: 390, height: 844, colours: "light", is_phone: true },
];

/// Statements that add the usage of the 29 days before today.
const USAGE_OF_A_MONTH: &str = "
    WITH RECURSIVE days(ago, calls) AS (
        SELECT 1, 420
        UNION ALL SELECT ago + 1, 300 + ((ago + 1) * 137) % 500 FROM days WHERE ago < 29)
    INSERT INTO usage_by_group
        SELECT unixepoch() / 86400 - ago, id, 'OpenAI', 'gpt-5', calls, ago % 4,
            calls * 1800, calls * 260, calls * 1150, calls * 3050000,
            calls, calls * (1400 + (ago * 61) % 900)
        FROM user_groups, days;
    WITH RECURSIVE days(ago) AS (SELECT 1 UNION ALL SELECT ago + 1 FROM days WHERE ago < 29)
    INSERT INTO usage_days SELECT unixepoch() / 86400 - ago, 2 + (ago * 2) % 3 FROM days";

/// Starts a server of a small company.
async fn company() -> TestApp {
    let upstream = planted::upstream("Good morning!").await;
    let config = TestConfig::on(TestDatabase::sqlite())
        .with_upstream(&upstream.endpoint)
        .with("Ai__Model", "gpt-5")
        .with("Ai__Providers__0__Id", "local")
        .with("Ai__Providers__0__Name", "Local model")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", &upstream.endpoint)
        .with("Ai__Providers__0__Model", "qwen3-32b");
    let app = start_with_admin(config).await;
    let karl = app.sign_up("karl@example.org").await;
    for (email, group) in [("grace@example.org", "Sales"), ("olga@example.org", "Support")] {
        app.sign_up(email).await;
        app.admin(&format!("group create {group}")).await.expect("a group");
        app.admin(&format!("group add {email} {group}")).await.expect("a member");
    }

    plant_usage(&app).await;
    app.execute(USAGE_OF_A_MONTH).await;
    let chat = karl.post(CHAT, &chat_request("Good morning")).await;
    assert_eq!(chat.status, 200, "{}", chat.text());
    app
}

/// Pictures are stored in the folder that `PIA_TEST_PICTURES` names, or else in one
/// that is deleted.
#[tokio::test(flavor = "multi_thread")]
async fn the_handbook_names_the_pictures_that_are_taken() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = std::env::var_os("PIA_TEST_PICTURES")
        .map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let app = company().await;
    let browser = Browser::start("en").await;
    let url = |path: &str| format!("http://{}{path}", app.addr);
    browser.sign_in(&url("/admin/login"), ADA, PASSWORD).await;
    let mut taken = Vec::new();

    for (name, path) in PICTURES {
        for variant in VARIANTS.iter().filter(|it| !it.is_phone || ON_A_PHONE.contains(&name)) {
            browser.resize(variant.width, variant.height).await;
            browser.prefer_colours(variant.colours).await;
            browser.goto(&url(path)).await;
            assert!(!browser.text_of("h1").await.is_empty(), "{path}");
            let file = format!("{name}-{}.png", variant.name);
            browser.picture(&folder.join(&file)).await;
            taken.push(file);
        }
    }

    let mut named: Vec<&str> = HANDBOOK
        .iter()
        .flat_map(|it| it.split("images/").skip(1))
        .filter_map(|it| it.split('"').next())
        .collect();
    named.sort_unstable();
    named.dedup();
    taken.sort_unstable();
    assert_eq!(named, taken);
}
