//! A real browser, driven as the `WebDriver` protocol says.
//!
//! What is not wrapped here goes through [`Browser::command`]; an
//! authenticator for passkeys, for one, is there after `POST
//! webauthn/authenticator`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::Client;

/// Duration for which elements and answers are waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// The key by which `WebDriver` reports an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys without a character of their own.
pub const TAB: char = '\u{e004}';
/// Arrow down.
pub const DOWN: char = '\u{e015}';
/// Enter.
pub const ENTER: char = '\u{e007}';

/// A headless Chromium with a profile of its own, gone with this.
pub struct Browser {
    driver: Client,
    /// `/session/{id}`
    session: String,
    // Dropped in this order: what runs goes before what it writes to.
    _process: Child,
    _profile: TempDir,
}

/// An element of the page that is shown.
pub struct Element(String);

impl Browser {
    /// Browser whose user prefers these languages: `de, en;q=0.5`.
    pub async fn start(languages: &str) -> Self {
        let (process, addr) = driver().await;
        let profile = tempfile::tempdir().expect("a temporary folder");
        let folder = format!("--user-data-dir={}", profile.path().display());
        // Containers and root have no sandbox; nothing but our own is opened.
        let mut args = vec!["--headless", "--no-sandbox", "--disable-dev-shm-usage"];
        args.extend(["--disable-gpu", "--disable-background-networking", "--no-first-run"]);
        args.push(&folder);
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": {
                "args": args,
                "prefs": { "intl.accept_languages": languages },
            },
            "timeouts": { "implicit": PATIENCE.as_millis() },
        } } });
        let driver = Client::new(addr);
        let begun = send_command(&driver, "POST", "/session", &wanted).await;
        let id = begun["sessionId"].as_str().expect("a session");
        let session = format!("/session/{id}");
        Self { driver, session, _process: process, _profile: profile }
    }

    /// Sends a command of the session, such as `POST`, `url`, `{ "url": … }`, and returns its
    /// value.
    pub async fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        send_command(&self.driver, method, &format!("{}/{path}", self.session), body).await
    }

    async fn ask(&self, what: &str) -> String {
        let message = self.command("GET", what, &Value::Null).await;
        message.as_str().expect("a text").to_owned()
    }

    /// Opens a page and waits until it is loaded.
    pub async fn goto(&self, url: &str) {
        self.command("POST", "url", &json!({ "url": url })).await;
    }

    /// Returns the URL of the page.
    pub async fn url(&self) -> String {
        self.ask("url").await
    }

    /// Title of the page.
    pub async fn title(&self) -> String {
        self.ask("title").await
    }

    /// The first element for a CSS selector, once there is one.
    pub async fn find(&self, selector: &str) -> Element {
        let by = json!({ "using": "css selector", "value": selector });
        Element::of(&self.command("POST", "element", &by).await)
    }

    /// Returns the element with the focus.
    pub async fn focused(&self) -> Element {
        Element::of(&self.command("GET", "element/active", &Value::Null).await)
    }

    /// The text that one sees of an element.
    pub async fn text(&self, element: &Element) -> String {
        self.ask(&format!("element/{}/text", element.0)).await
    }

    /// A property of an element, as scripts see it.
    pub async fn property(&self, element: &Element, name: &str) -> Value {
        let path = format!("element/{}/property/{name}", element.0);
        self.command("GET", &path, &Value::Null).await
    }

    /// Clicks an element.
    pub async fn click(&self, element: &Element) {
        let path = format!("element/{}/click", element.0);
        self.command("POST", &path, &json!({})).await;
    }

    /// Presses keys one after the other, wherever the focus is.
    pub async fn press(&self, keys: impl IntoIterator<Item = char>) {
        let strokes: Vec<Value> = keys
            .into_iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.command("POST", "actions", &json!({ "actions": [keyboard] })).await;
    }

    /// Runs a function's body in the page; what it returns is answered, a
    /// promise once it is stored.
    pub async fn run(&self, script: &str, args: Value) -> Value {
        self.command("POST", "execute/sync", &json!({ "script": script, "args": args })).await
    }

    /// Makes the window so large.
    pub async fn resize(&self, width: u32, height: u32) {
        self.command("POST", "window/rect", &json!({ "width": width, "height": height })).await;
    }

    /// Returns the browser's errors since the last call: of scripts, of files
    /// that did not load, and of the content policy.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.command("POST", "se/log", &json!({ "type": "browser" })).await;
        let entries = log.as_array().expect("a log").clone();
        entries.iter().map(|it| it["message"].as_str().expect("a message").to_owned()).collect()
    }

    /// Returns the element with the focus: a control's name, or else its text.
    pub async fn focus(&self) -> String {
        let focused = self.focused().await;
        let name = self.property(&focused, "name").await;
        match name.as_str() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => self.text(&focused).await,
        }
    }

    /// Text of the element that a selector finds.
    pub async fn states(&self, selector: &str) -> String {
        let element = self.find(selector).await;
        self.text(&element).await
    }

    /// Returns whether there is more to the right than the window shows.
    pub async fn is_too_wide(&self) -> bool {
        let wide = "return document.documentElement.scrollWidth > window.innerWidth";
        self.run(wide, json!([])).await == true
    }

    /// Fails if the browser complains of anything but the answer's own status.
    pub async fn found_nothing_wrong(&self) {
        let mut complaints = self.complaints().await;
        complaints.retain(|it| !it.contains("the server responded with a status of 4"));
        assert!(complaints.is_empty(), "{complaints:?}");
    }
}

impl Element {
    fn of(value: &Value) -> Self {
        Self(value[ELEMENT].as_str().expect("an element").to_owned())
    }
}

/// Killed, the driver would leave its browser behind.
impl Drop for Browser {
    fn drop(&mut self) {
        let farewell = format!(
            "DELETE {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
            self.session
        );
        let ended = TcpStream::connect(self.driver.addr).and_then(|mut socket| {
            socket.set_read_timeout(Some(PATIENCE))?;
            socket.write_all(farewell.as_bytes())?;
            socket.read(&mut [0; 64])
        });
        drop(ended);
    }
}

/// A running driver and where it listens.
async fn driver() -> (Child, SocketAddr) {
    #[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
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
    let port = async {
        while let Some(line) = lines.next_line().await.expect("what the driver says") {
            if let Some((_, port)) = line.split_once("successfully on port ") {
                return port.trim_end_matches('.').parse::<u16>().expect("a port");
            }
        }
        0
    };
    let port = tokio::time::timeout(PATIENCE, port).await.expect("a driver in time");
    assert_ne!(port, 0, "the driver ended before it listened");
    (process, SocketAddr::from(([127, 0, 0, 1], port)))
}

async fn send_command(driver: &Client, method: &str, path: &str, body: &Value) -> Value {
    let body = if method == "POST" { body.to_string() } else { String::new() };
    // The driver takes no other host, lest a page reach it by a name of its own.
    let headers = [("host", "localhost"), ("content-type", "application/json; charset=utf-8")];
    let answer = driver.send(method, path, &headers, body.as_bytes()).await;
    assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
    answer.body["value"].clone()
}
