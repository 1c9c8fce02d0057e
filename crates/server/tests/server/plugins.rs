//! Tests of plugins, from an administrator's upload to a member's client.

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

const PLUGINS: &str = "/api/admin/plugins";
const CERTIFICATES: &str = "/api/admin/certificates";
const DEFAULT_GROUP: &str = "00000000-0000-7000-8000-000000000001";
const MEMORY: &str = "10000000-0000-0000-0000-000000000001";
const PACKAGE: &[u8] = include_bytes!("../../../authenticode/tests/data/rsa.cab");
const OTHER_PACKAGE: &[u8] = include_bytes!("../../../authenticode/tests/data/ec.cab");
const UNSIGNED: &[u8] = include_bytes!("../../../authenticode/tests/data/plain.cab");
const CERTIFICATE: &str = include_str!("../../../authenticode/tests/data/rsa.pem");
/// Image of one pixel.
const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

on_both_databases!(
    a_member_downloads_a_signed_plugin,
    a_download_follows_ranges_and_versions,
    only_packages_of_trusted_signers_are_stored,
    icons_are_raster_images,
    refusals_name_their_reason,
    certificates_are_added_listed_and_removed,
);

async fn create_plugin(console: &Console) -> String {
    let plugin = json!({
        "kind": "mcp_server",
        "name": "Tickets",
        "configJson": r#"{"transport":"stdio","command":"tickets.exe"}"#,
    });
    let creation_response = console.write("POST", PLUGINS, plugin).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    creation_response.body["id"].as_str().expect("an id").to_owned()
}

async fn upload(console: &Console, path: &str, file: &[u8]) -> TestResponse {
    let headers = [
        ("cookie", console.cookie.as_str()),
        ("x-csrf-token", console.csrf_token.as_str()),
        ("content-type", "application/octet-stream"),
    ];
    console.client.send("PUT", path, &headers, file).await
}

async fn trust(console: &Console) -> Value {
    let addition_response =
        console.write("POST", CERTIFICATES, json!({ "certificate": CERTIFICATE })).await;
    assert_eq!(addition_response.status, 201, "{}", addition_response.text());
    addition_response.body
}

/// Creates a plugin with a package and assigns it to the default group.
async fn publish_plugin(console: &Console) -> String {
    let id = create_plugin(console).await;
    trust(console).await;
    let response = upload(console, &format!("{PLUGINS}/{id}/package"), PACKAGE).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let groups = json!({ "groupIds": [DEFAULT_GROUP] });
    let assignment_response = console.write("PUT", &format!("{PLUGINS}/{id}/groups"), groups).await;
    assert_eq!(assignment_response.status, 200, "{}", assignment_response.text());
    id
}

async fn pulled(client: &Client, id: &str) -> Option<Value> {
    let pull_response = client.get("/api/sync/pull?since=2020-01-01T00:00:00Z").await;
    let plugins = pull_response.body["plugins"]["upserted"].as_array().expect("plugins").clone();
    plugins.into_iter().find(|it| it["id"] == id)
}

async fn a_member_downloads_a_signed_plugin(database: TestDatabase) {
    let (_app, client, console) = administrator(TestConfig::on(database)).await;
    let id = publish_plugin(&console).await;

    let plugin = pulled(&client, &id).await.expect("the plugin");
    assert_eq!(plugin["cabSize"], PACKAGE.len());
    let hash = plugin["cabHash"].as_str().expect("a hash");
    let file = client.get(&format!("/api/plugins/{id}/cab")).await;
    assert_eq!(file.status, 200);
    assert_eq!(&*file.bytes, PACKAGE);
    assert_eq!(file.header("etag"), Some(&*format!("\"{hash}\"")));
    assert_eq!(file.header("content-length"), Some(&*PACKAGE.len().to_string()));

    let empty_body = json!({ "groupIds": [] });
    console.write("PUT", &format!("{PLUGINS}/{id}/groups"), empty_body).await;
    assert_eq!(pulled(&client, &id).await, None);
    assert_eq!(client.get(&format!("/api/plugins/{id}/cab")).await.refusal(), (404, "not_found"));
    let deletion_response = console.write("DELETE", &format!("{PLUGINS}/{id}"), Value::Null).await;
    assert_eq!(deletion_response.status, 200, "{}", deletion_response.text());
    assert_eq!(console.get(&format!("{PLUGINS}/{id}")).await.status, 404);
}

async fn a_download_follows_ranges_and_versions(database: TestDatabase) {
    let (app, client, console) = administrator(TestConfig::on(database)).await;
    let path = format!("/api/plugins/{}/cab", publish_plugin(&console).await);
    let tag = client.get(&path).await.header("etag").expect("a version").to_owned();
    let last = PACKAGE.len() - 1;

    for (range, expected) in [
        ("bytes=0-0", &PACKAGE[..1]),
        ("bytes=100-", &PACKAGE[100..]),
        ("bytes=-7", &PACKAGE[PACKAGE.len() - 7..]),
        ("bytes=5-99999999", &PACKAGE[5..]),
    ] {
        let partial = client.send("GET", &path, &[("range", range)], b"").await;
        assert_eq!(partial.status, 206, "{range}");
        assert_eq!(&*partial.bytes, expected, "{range}");
        let content_range = partial.header("content-range").expect("a range");
        assert!(content_range.ends_with(&format!("/{}", PACKAGE.len())), "{content_range}");
    }

    let beyond = format!("bytes={}-", last + 1);
    assert_eq!(client.send("GET", &path, &[("range", &*beyond)], b"").await.status, 416);
    for range in ["bytes=0-0,5-6", "lines=1-2", "bytes=x"] {
        let full_response = client.send("GET", &path, &[("range", range)], b"").await;
        assert_eq!(full_response.status, 200);
        assert_eq!(full_response.bytes.len(), PACKAGE.len());
    }

    let other_tag = [("range", "bytes=0-0"), ("if-range", "\"other\"")];
    assert_eq!(client.send("GET", &path, &other_tag, b"").await.status, 200);
    let same_tag = [("range", "bytes=0-0"), ("if-range", tag.as_str())];
    assert_eq!(client.send("GET", &path, &same_tag, b"").await.status, 206);

    let cached = client.send("GET", &path, &[("if-none-match", tag.as_str())], b"").await;
    assert_eq!(cached.status, 304);
    assert_eq!(cached.bytes.len(), 0);
    assert_eq!(app.anonymous().get(&path).await.status, 401);
}

async fn only_packages_of_trusted_signers_are_stored(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    let path = format!("{PLUGINS}/{}/package", create_plugin(&console).await);
    assert_eq!(upload(&console, &path, PACKAGE).await.refusal(), (400, "untrusted_signer"));
    let certificate = trust(&console).await;

    let mut changed_package = PACKAGE.to_vec();
    changed_package[80] ^= 1;
    for file in [UNSIGNED, b"", b"MSCF", &changed_package] {
        let response = upload(&console, &path, file).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{}", response.text());
    }

    let other_response = upload(&console, &path, OTHER_PACKAGE).await;
    assert_eq!(other_response.refusal(), (400, "untrusted_signer"));
    assert_ne!(other_response.body["thumbprint"], certificate["thumbprint"]);
    assert_eq!(upload(&console, &path, PACKAGE).await.status, 200);
}

async fn icons_are_raster_images(database: TestDatabase) {
    let (_app, client, console) = administrator(TestConfig::on(database)).await;
    let id = publish_plugin(&console).await;
    let upload_path = format!("{PLUGINS}/{id}/icon");
    let path = format!("/api/plugins/{id}/icon");
    assert_eq!(client.get(&path).await.status, 404);
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'/>";
    assert_eq!(upload(&console, &upload_path, svg).await.refusal(), (400, "validation_failed"));

    assert_eq!(upload(&console, &upload_path, GIF).await.status, 200);
    let icon = client.get(&path).await;
    assert_eq!(icon.header("content-type"), Some("image/png"));
    assert!(icon.bytes.starts_with(b"\x89PNG"));
    assert!(icon.header("content-security-policy").is_some_and(|it| it.contains("sandbox")));
    let plugin = pulled(&client, &id).await.expect("the plugin");
    assert_eq!(plugin["iconUrl"], path);
    console.write("DELETE", &upload_path, Value::Null).await;
    assert_eq!(client.get(&path).await.status, 404);
}

async fn refusals_name_their_reason(database: TestDatabase) {
    let (_app, _, console) = administrator(TestConfig::on(database)).await;
    for (key, value) in [
        ("kind", json!("driver")),
        ("kind", Value::Null),
        ("name", json!(" ")),
        ("name", json!("x".repeat(256))),
        ("configJson", json!("[]")),
        ("configJson", json!("{")),
        ("configJson", json!(r#"{"transport":"pipe"}"#)),
        ("version", json!("1\n0")),
    ] {
        let mut plugin = json!({ "kind": "rest_api", "name": "Desk" });
        plugin[key] = value;
        let response = console.write("POST", PLUGINS, plugin).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{key}: {}", response.text());
    }

    let memory = format!("{PLUGINS}/{MEMORY}");
    let response = console.write("DELETE", &memory, Value::Null).await;
    assert_eq!(response.refusal(), (409, "builtin_plugin"));

    let id = create_plugin(&console).await;
    let path = format!("{PLUGINS}/{id}");
    let headers = [("x-csrf-token", console.csrf_token.as_str()), ("if-match", "\"1\"")];
    let plugin = json!({ "kind": "rest_api", "name": "Desk" });
    let stale = console.send("PUT", &path, &headers, &plugin).await;
    assert_eq!(stale.refusal(), (412, "precondition_failed"));

    let unknown = json!({ "groupIds": ["0199f0e0-0000-7000-8000-00000000dead"] });
    let unknown = console.write("PUT", &format!("{path}/groups"), unknown).await;
    assert_eq!(unknown.refusal(), (400, "validation_failed"));
}

async fn certificates_are_added_listed_and_removed(database: TestDatabase) {
    let (app, client, console) = administrator(TestConfig::on(database)).await;
    let trusted = "/api/certificates/trusted";
    assert_eq!(client.get(trusted).await.body, json!([]));
    let certificate = trust(&console).await;
    assert_eq!(certificate["name"], "Example Plugins");
    assert_eq!(client.get(trusted).await.body, json!([certificate]));

    let repeated_body = json!({ "name": "Again", "certificate": certificate["publicKeyData"] });
    let second_response = console.write("POST", CERTIFICATES, repeated_body).await;
    assert_eq!(second_response.refusal(), (409, "certificate_known"));
    for wrong in [json!({}), json!({ "certificate": "x" }), json!({ "certificate": "" })] {
        assert_eq!(console.write("POST", CERTIFICATES, wrong).await.status, 400);
    }

    let path = format!("{CERTIFICATES}/{}", certificate["id"].as_str().expect("an id"));
    assert_eq!(console.write("DELETE", &path, Value::Null).await.status, 200);
    assert_eq!(client.get(trusted).await.body, json!([]));
    assert_eq!(app.anonymous().get(trusted).await.status, 401);
}
