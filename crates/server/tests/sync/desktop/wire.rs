//! HTTP client: its JSON, its compression, its timeouts.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use pia_server_testkit::client::{Answer, Client};
use pia_server_testkit::harness::PASSWORD;
use serde_json::{Value, json};

use super::device::Device;

/// Between two requests, at least (sync section 9).
const PACE: Duration = Duration::from_millis(100);
/// The longest that the client waits on a 429 before it gives up.
const MAX_WAIT_SECONDS: u64 = 30;

const JSON: &str = "application/json; charset=utf-8";

/// JSON as .NET writes it: what means something to HTML and what is not ASCII
/// by its number.
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
    pub(crate) async fn get_json(&mut self, path: &str) -> Answer {
        self.call("GET", path, &[], &[]).await
    }

    pub(crate) async fn post_json(&mut self, path: &str, body: &Value) -> Answer {
        self.send_json("POST", path, body).await
    }

    pub(crate) async fn send_json(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let body = dotnet(body);
        self.call(method, path, &[("Content-Type", JSON)], body.as_bytes()).await
    }

    /// JSON as the newer clients send what may be long.
    pub(crate) async fn send_packed(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("Content-Type", JSON), ("Content-Encoding", "gzip")];
        let body = gzip(dotnet(body).as_bytes());
        self.call(method, path, &headers, &body).await
    }

    /// Calls, and calls again after a short wait that a response asks for: then
    /// without the header that says that the body is compressed, which the
    /// client loses (sync section 1).
    pub(crate) async fn call(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        self.refresh_if_due().await;
        let mut headers = headers.to_vec();
        let mut retries = 0;
        loop {
            self.time.advance(PACE);
            let answer = self.client.send(method, path, &headers, body).await;
            if answer.status != 429 || retries == 3 {
                return answer;
            }
            let wait = answer.header("retry-after").and_then(|it| it.parse::<u64>().ok());
            let wait = wait.expect("sync section 9: a 429 says in seconds when to come again");
            if wait > MAX_WAIT_SECONDS {
                return answer;
            }
            // The budget goes by the world's clock and not by ours.
            tokio::time::sleep(Duration::from_secs(wait)).await;
            self.time.advance(Duration::from_secs(wait));
            headers.retain(|(name, _)| *name != "Content-Encoding");
            retries += 1;
            self.waits += 1;
        }
    }

    pub(crate) async fn log_in(&mut self) {
        let credentials = json!({ "email": self.email, "password": PASSWORD });
        let envelope = self.post_bare("/auth/login/local", &credentials).await;
        assert_eq!(envelope.status, 200, "e2ee section 3: {}", envelope.text());
        self.adopt(&envelope);
    }

    /// Calls without showing a token.
    pub(crate) async fn post_bare(&mut self, path: &str, body: &Value) -> Answer {
        let stranger = Client { access: None, ..self.client.clone() };
        let body = dotnet(body);
        stranger.send("POST", path, &[("Content-Type", JSON)], body.as_bytes()).await
    }

    async fn refresh_if_due(&mut self) {
        if self.time.now() < self.fresh_until {
            return;
        }
        let token = self.client.refresh.clone();
        let next = self.post_bare("/auth/refresh", &json!({ "refreshToken": token })).await;
        match next.status {
            200 => self.adopt(&next),
            401 => self.log_in().await,
            other => panic!("e2ee section 3, /auth/refresh: {other} {}", next.text()),
        }
    }

    fn adopt(&mut self, envelope: &Answer) {
        let before = self.client.user.clone();
        self.client = self.client.clone().with_tokens(&envelope.body);
        let after = &self.client.user;
        assert!(before.is_none() || before == *after, "e2ee section 2, user.id: its spelling");
        let lives = envelope.body["expiresIn"].as_i64().unwrap_or(840);
        self.fresh_until = self.time.now().plus_seconds(lives - (lives / 2).min(60));
    }
}

#[test]
fn bodies_are_written_as_the_client_writes_them() {
    assert_eq!(dotnet(&json!({ "a": "b+<ü🎈" })), r#"{"a":"b\u002B\u003C\u00FC\uD83C\uDF88"}"#);
}
