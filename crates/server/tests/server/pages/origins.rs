//! Locations of the addresses of sign-ins.

use std::net::Ipv4Addr;

use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use pia_testkit::location_database;
use serde_json::json;

use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(a_sign_in_has_the_location_of_its_address);

const HOME: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);
const CITY: &[(&str, &str)] = &[("en", "Vienna")];
const COUNTRY: &[(&str, &str)] = &[("de", "Österreich"), ("en", "Austria")];

async fn a_sign_in_has_the_location_of_its_address(database: TestDatabase) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("city.mmdb");
    let content = location_database(HOME, &[("city", CITY), ("country", COUNTRY)]);
    std::fs::write(&path, content).expect("a file");
    let config = TestConfig::on(database)
        .with("Server__TrustedProxies", "127.0.0.0/8")
        .with("Server__LocationDatabasePath", path.display());
    let app = start_with_admin(config).await;
    let credentials = json!({ "email": ADA, "password": PASSWORD }).to_string();
    let headers = [("content-type", "application/json"), ("x-forwarded-for", "203.0.113.7")];
    let client = app.anonymous();
    let sign_in = client.send("POST", "/auth/login/local", &headers, credentials.as_bytes()).await;
    assert_eq!(sign_in.status, 200, "{}", sign_in.text());
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let english = ada.get("/account/sessions").await.text();
    let german = ada.get("/account/sessions?lang=de").await.text();
    let id = sign_in.body["user"]["id"].as_str().expect("an id");
    let of_user = ada.get(&format!("/admin/users/{id}")).await.text();

    // In the lists of sessions and of attempts.
    let located = "Vienna, Austria (203.0.113.7)";
    assert_eq!(english.matches(located).count(), 2, "{english}");
    assert!(english.contains("The server’s computer (127.0.0.1)"), "{english}");
    assert_eq!(german.matches("Vienna, Österreich (203.0.113.7)").count(), 2, "{german}");
    assert!(of_user.contains(located), "{of_user}");
}
