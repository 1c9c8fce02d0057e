//! A real browser, driven over the `WebDriver` protocol.
//!
//! Commands that are not wrapped here go through [`Browser::command`].

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::Client;

/// Timeout for elements and responses.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Key of an element reference in `WebDriver`.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Tab, in the code points of `WebDriver` for keys without a character.
pub const TAB: char = '\u{e004}';
/// Arrow down, as `WebDriver` encodes the key.
pub const DOWN: char = '\u{e015}';
/// Enter, as `WebDriver` encodes the key.
pub const ENTER: char = '\u{e007}';

/// Headless Chromium with its own temporary profile; ended on drop.
pub struct Browser {
    driver: Client,
    /// Path of the session: `/session/{id}`.
    session: String,
    // Dropped in this order: the process before the folder that it writes to.
    _process: Child,
    _profile: TempDir,
}

/// Element of the current page.
pub struct Element(String);

impl Browser {
    /// Starts a browser with these preferred languages: `de, en;q=0.5`.
    pub async fn start(languages: &str) -> Self {
        Self::with_preferences(&json!({ "intl.accept_languages": languages })).await
    }

    /// Starts a browser that runs no script of any page. Those of the driver run.
    pub async fn without_scripts() -> Self {
        let preferences = json!({
            "intl.accept_languages": "en",
            // Blocked.
            "profile.managed_default_content_settings.javascript": 2,
        });
        Self::with_preferences(&preferences).await
    }

    async fn with_preferences(preferences: &Value) -> Self {
        let (process, addr) = start_driver().await;
        let profile = tempfile::tempdir().expect("a temporary folder");
        let folder = format!("--user-data-dir={}", profile.path().display());
        // Containers and root have no sandbox; only our own pages are opened.
        let mut args = vec!["--headless", "--no-sandbox", "--disable-dev-shm-usage"];
        args.extend(["--disable-gpu", "--disable-background-networking", "--no-first-run"]);
        args.push(&folder);

        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": {
                "args": args,
                "prefs": preferences,
            },
            "timeouts": { "implicit": TIMEOUT.as_millis() },
        } } });

        let driver = Client::new(addr);
        let created = send_command(&driver, "POST", "/session", &capabilities).await;
        let id = created["sessionId"].as_str().expect("a session");
        let session = format!("/session/{id}");

        Self { driver, session, _process: process, _profile: profile }
    }

    /// Sends a command of the session, such as `POST`, `url`, `{ "url": … }`, and returns its
    /// value.
    pub async fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        send_command(&self.driver, method, &format!("{}/{path}", self.session), body).await
    }

    async fn get_text(&self, path: &str) -> String {
        let value = self.command("GET", path, &Value::Null).await;
        value.as_str().expect("a text").to_owned()
    }

    /// Opens a page and waits until it is loaded.
    pub async fn goto(&self, url: &str) {
        self.command("POST", "url", &json!({ "url": url })).await;
    }

    /// Returns the URL of the page.
    pub async fn url(&self) -> String {
        self.get_text("url").await
    }

    /// Returns the title of the page.
    pub async fn title(&self) -> String {
        self.get_text("title").await
    }

    /// Waits for an element that matches a CSS selector, and returns the first.
    pub async fn find(&self, selector: &str) -> Element {
        let by = json!({ "using": "css selector", "value": selector });
        Element::from_value(&self.command("POST", "element", &by).await)
    }

    /// Returns the element with the focus.
    pub async fn focused(&self) -> Element {
        Element::from_value(&self.command("GET", "element/active", &Value::Null).await)
    }

    /// Returns the visible text of an element.
    pub async fn text(&self, element: &Element) -> String {
        self.get_text(&format!("element/{}/text", element.0)).await
    }

    /// Returns a DOM property of an element.
    pub async fn property(&self, element: &Element, name: &str) -> Value {
        let path = format!("element/{}/property/{name}", element.0);
        self.command("GET", &path, &Value::Null).await
    }

    /// Clicks an element, once it is in view.
    pub async fn click(&self, element: &Element) {
        let path = format!("element/{}/click", element.0);
        self.command("POST", &path, &json!({})).await;
    }

    /// Presses keys one after the other in the focused element.
    pub async fn press(&self, keys: impl IntoIterator<Item = char>) {
        let strokes: Vec<Value> = keys
            .into_iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.command("POST", "actions", &json!({ "actions": [keyboard] })).await;
    }

    /// Runs a function's body in the page and returns its result; of a promise
    /// the value that it resolves to.
    pub async fn run(&self, script: &str, args: Value) -> Value {
        self.command("POST", "execute/sync", &json!({ "script": script, "args": args })).await
    }

    /// Resizes the window, in pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        self.command("POST", "window/rect", &json!({ "width": width, "height": height })).await;
    }

    /// Returns the browser's errors since the last call: of scripts, of files
    /// that did not load, and of the content policy.
    pub async fn logged_errors(&self) -> Vec<String> {
        let log = self.command("POST", "se/log", &json!({ "type": "browser" })).await;
        log.as_array()
            .expect("a log")
            .iter()
            .map(|it| it["message"].as_str().expect("a message").to_owned())
            .collect()
    }

    /// Returns the name of the focused control, or else its text.
    pub async fn focused_name(&self) -> String {
        let focused = self.focused().await;
        let name = self.property(&focused, "name").await;
        match name.as_str() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => self.text(&focused).await,
        }
    }

    /// Returns the visible text of the first element that matches a selector.
    pub async fn text_of(&self, selector: &str) -> String {
        let element = self.find(selector).await;
        self.text(&element).await
    }

    /// Returns whether the page is wider than the window.
    pub async fn is_too_wide(&self) -> bool {
        let script = "return document.documentElement.scrollWidth > window.innerWidth";
        self.run(script, json!([])).await == true
    }

    /// Adds an authenticator for passkeys, which verifies its user without a
    /// question, and returns its id.
    pub async fn add_authenticator(&self) -> String {
        let authenticator = json!({
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true,
            "hasUserVerification": true, "isUserVerified": true, "isUserConsenting": true,
        });
        let id = self.command("POST", "webauthn/authenticator", &authenticator).await;
        id.as_str().expect("an id").to_owned()
    }

    /// Waits for an element that matches a selector, and clicks it.
    pub async fn click_on(&self, selector: &str) {
        let element = self.find(selector).await;
        self.click(&element).await;
    }

    /// Waits for a field, and types a text into it.
    pub async fn type_into(&self, selector: &str, text: &str) {
        self.click_on(selector).await;
        self.press(text.chars()).await;
    }

    /// Signs in on a sign-in page with a password.
    pub async fn sign_in(&self, url: &str, email: &str, password: &str) {
        self.goto(url).await;
        self.find("#password-email").await;
        let fill = "document.querySelector('#password-email').value = arguments[0]; \
                    document.querySelector('#password-password').value = arguments[1];";
        self.run(fill, json!([email, password])).await;
        let button = self.find("#password button").await;
        self.click(&button).await;
        self.find(".wide main, .alert, #factor").await;
    }

    /// Returns the violations of accessibility rules that axe finds on the page. `axe` is the
    /// source of axe-core.
    pub async fn accessibility_violations(&self, axe: &str) -> Vec<String> {
        let script = format!(
            "{axe}; return axe.run(document, {{ resultTypes: ['violations'] }}).then(it => \
             it.violations.flatMap(rule => rule.nodes.map(node => \
             `${{rule.id}}: ${{node.html}} ${{node.failureSummary}}`)))"
        );
        let violations = self.run(&script, json!([])).await;
        violations
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it.as_str().expect("a text").to_owned())
            .collect()
    }

    /// Stores a picture of the page, as wide as the window and as high as its content.
    pub async fn picture(&self, file: &std::path::Path) {
        let script = "return [window.innerWidth, document.documentElement.scrollHeight]";
        let size = self.run(script, json!([])).await;
        let metrics = json!({ "cmd": "Page.captureScreenshot", "params": {
            "captureBeyondViewport": true,
            "clip": { "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 },
        } });
        let shot = self.command("POST", "goog/cdp/execute", &metrics).await;
        let data = shot["data"].as_str().expect("a picture");
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).expect("base64");
        std::fs::write(file, bytes).expect("a file");
    }

    /// Switches between the light and the dark colours.
    pub async fn prefer_colours(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        let media = json!({ "cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [feature],
        } });
        self.command("POST", "goog/cdp/execute", &media).await;
    }

    /// Panics if the browser logged an error other than a 4xx status, or than its
    /// advice about password managers.
    pub async fn assert_no_errors(&self) {
        let mut errors = self.logged_errors().await;
        errors.retain(|it| !it.contains("the server responded with a status of 4"));
        errors.retain(|it| !it.contains("[DOM]"));
        assert!(errors.is_empty(), "{errors:?}");
    }
}

impl Element {
    fn from_value(value: &Value) -> Self {
        Self(value[ELEMENT].as_str().expect("an element").to_owned())
    }
}

// A killed driver would leave its browser running, so the session is deleted.
impl Drop for Browser {
    fn drop(&mut self) {
        let request = format!(
            "DELETE {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
            self.session
        );
        let outcome = TcpStream::connect(self.driver.addr).and_then(|mut socket| {
            socket.set_read_timeout(Some(TIMEOUT))?;
            socket.write_all(request.as_bytes())?;
            socket.read(&mut [0; 64])
        });
        drop(outcome);
    }
}

/// Starts a driver. Returns it with the address that it listens on.
async fn start_driver() -> (Child, SocketAddr) {
    #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
    let program = std::env::var("TEST_CHROMEDRIVER");
    let program = program.expect(
        "TEST_CHROMEDRIVER is not set: run `cargo xtask test`, which installs Chromium and its \
         driver, or name the driver (on Debian: `apt-get install chromium chromium-driver`, \
         then /usr/bin/chromedriver)",
    );

    let mut process = Command::new(program)
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the driver that TEST_CHROMEDRIVER names");
    let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
    // The driver chooses its port and names it in its output.
    let port = async {
        while let Some(line) = lines.next_line().await.expect("a readable output") {
            if let Some((_, port)) = line.split_once("successfully on port ") {
                return port.trim_end_matches('.').parse::<u16>().expect("a port");
            }
        }
        0
    };
    let port = tokio::time::timeout(TIMEOUT, port).await.expect("a driver in time");
    assert_ne!(port, 0, "the driver ended before it listened");

    (process, SocketAddr::from(([127, 0, 0, 1], port)))
}

async fn send_command(driver: &Client, method: &str, path: &str, body: &Value) -> Value {
    let body = if method == "POST" { body.to_string() } else { String::new() };
    // The driver accepts no other host, to prevent DNS rebinding.
    let headers = [("host", "localhost"), ("content-type", "application/json; charset=utf-8")];
    let response = driver.send(method, path, &headers, body.as_bytes()).await;
    assert_eq!(response.status, 200, "{method} {path}: {}", response.text());
    response.body["value"].clone()
}
