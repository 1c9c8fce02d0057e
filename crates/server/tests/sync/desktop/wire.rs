//! HTTP client of a device: JSON, compression and retries.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::PASSWORD;
use serde_json::{Value, json};

use super::device::Device;

/// Minimum interval between two requests.
const PACE: Duration = Duration::from_millis(100);
/// Maximum wait after a 429 before the client gives up.
const MAX_WAIT_SECONDS: u64 = 30;

const JSON: &str = "application/json; charset=utf-8";

/// Serializes like .NET: characters that are special in HTML or not ASCII are
/// escaped.
pub(crate) fn dotnet(value: &Value) -> String {
    let mut text = String::new();
    for char in value.to_string().chars() {
        if char.is_ascii() && !"+<>&'`".contains(char) {
            text.push(char);
        } else {
            for unit in char.encode_utf16(&mut [0; 2]) {
                write!(text, "\\u{unit:04X}").expect("text");
            }
        }
    }
    text
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

impl Device {
    pub(crate) async fn get_json(&mut self, path: &str) -> TestResponse {
        self.call("GET", path, &[], &[]).await
    }

    pub(crate) async fn post_json(&mut self, path: &str, body: &Value) -> TestResponse {
        self.send_json("POST", path, body).await
    }

    pub(crate) async fn send_json(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> TestResponse {
        let body = dotnet(body);
        self.call(method, path, &[("Content-Type", JSON)], body.as_bytes()).await
    }

    /// Sends compressed JSON, like newer clients for long bodies.
    pub(crate) async fn send_packed(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> TestResponse {
        let headers = [("Content-Type", JSON), ("Content-Encoding", "gzip")];
        let body = gzip(dotnet(body).as_bytes());
        self.call(method, path, &headers, &body).await
    }

    /// Sends a request, and retries it after short rate limits: then without its
    /// `Content-Encoding`, which the client loses.
    pub(crate) async fn call(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TestResponse {
        self.refresh_if_due().await;
        let mut headers = headers.to_vec();
        let mut retries = 0;
        loop {
            self.time.advance(PACE);
            let answer = self.client.send(method, path, &headers, body).await;
            if answer.status != 429 || retries == 3 {
                return answer;
            }
            let wait = answer
                .header("retry-after")
                .and_then(|it| it.parse::<u64>().ok())
                .expect("a 429 has a Retry-After in seconds");
            if wait > MAX_WAIT_SECONDS {
                return answer;
            }
            // Rate limits use the real clock, not the manual one.
            tokio::time::sleep(Duration::from_secs(wait)).await;
            self.time.advance(Duration::from_secs(wait));
            headers.retain(|(name, _)| *name != "Content-Encoding");
            retries += 1;
            self.retries += 1;
        }
    }

    pub(crate) async fn log_in(&mut self) {
        let credentials = json!({ "email": self.email, "password": PASSWORD });
        let envelope = self.post_bare("/auth/login/local", &credentials).await;
        assert_eq!(envelope.status, 200, "a sign-in: {}", envelope.text());
        self.store_tokens(&envelope);
    }

    /// Sends a request without a token.
    pub(crate) async fn post_bare(&mut self, path: &str, body: &Value) -> TestResponse {
        let stranger = Client { access: None, ..self.client.clone() };
        let body = dotnet(body);
        stranger.send("POST", path, &[("Content-Type", JSON)], body.as_bytes()).await
    }

    async fn refresh_if_due(&mut self) {
        if self.time.now() < self.fresh_until {
            return;
        }
        let token = self.client.refresh.clone();
        let response = self.post_bare("/auth/refresh", &json!({ "refreshToken": token })).await;
        match response.status {
            200 => self.store_tokens(&response),
            401 => self.log_in().await,
            status => panic!("a refresh: {status} {}", response.text()),
        }
    }

    fn store_tokens(&mut self, envelope: &TestResponse) {
        let before = self.client.user.clone();
        self.client = self.client.clone().with_tokens(&envelope.body);
        let after = &self.client.user;
        assert!(before.is_none() || before == *after, "the spelling of a user's id never changes");
        let lives = envelope.body["expiresIn"].as_i64().unwrap_or(840);
        self.fresh_until = self.time.now().plus_seconds(lives - (lives / 2).min(60));
    }
}

#[test]
fn bodies_are_serialized_like_the_clients() {
    assert_eq!(dotnet(&json!({ "a": "b+<ü🎈" })), r#"{"a":"b\u002B\u003C\u00FC\uD83C\uDF88"}"#);
}
