//! A simulated browser that stores cookies.

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::TestApp;

/// Browser at one host, by default the server's own.
pub(super) struct Browser {
    client: Client,
    cookies: Vec<(String, String)>,
    host: String,
    accept: &'static str,
}

impl Browser {
    pub(super) fn of(app: &TestApp) -> Self {
        Self::at(app.anonymous())
    }

    pub(super) fn at(client: Client) -> Self {
        Self {
            client,
            cookies: Vec::new(),
            host: "pia.example".to_owned(),
            accept: "text/html,*/*;q=0.8",
        }
    }

    /// Returns a client that does not accept HTML.
    pub(super) fn without_pages(app: &TestApp) -> Self {
        Self { accept: "*/*", ..Self::of(app) }
    }

    /// Requests a path and stores the cookies of the response.
    pub(super) async fn get(&mut self, path: &str) -> TestResponse {
        self.send("GET", path).await
    }

    pub(super) async fn send(&mut self, method: &str, path: &str) -> TestResponse {
        let cookies = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join("; ");
        let headers =
            [("accept", self.accept), ("cookie", cookies.as_str()), ("host", self.host.as_str())];
        let response = self.client.send(method, path, &headers, b"").await;
        for (_, set) in response.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let pair = set.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').expect("a cookie");
            self.cookies.retain(|(it, _)| it != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        response
    }

    pub(super) fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Returns the browser at another host.
    pub(super) fn host(self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self }
    }

    /// Replaces a cookie, or removes it.
    pub(super) fn with(mut self, name: &str, value: Option<&str>) -> Self {
        self.cookies.retain(|(it, _)| it != name);
        self.cookies.extend(value.map(|it| (name.to_owned(), it.to_owned())));
        self
    }
}
