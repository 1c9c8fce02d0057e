//! A mail relay for a single test: Python's `aiosmtpd`, an independent parser of
//! the emails that we format.
//!
//! `relay.py` prints a line of JSON with its port, and then one for each email that
//! it accepts. The relay ends when its standard input is closed.

#![expect(clippy::expect_used, reason = "for tests")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const SCRIPT: &str = include_str!("relay.py");
/// Timeout, longer than any intended wait of a test.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Behaviour of a relay. By default it accepts every email, without
/// authentication and in plaintext.
#[derive(Debug, Clone, Default)]
pub struct RelayBehaviour {
    /// TLS of the relay.
    pub tls: RelayTls,
    /// User name and password that it requires.
    pub user: Option<(&'static str, &'static str)>,
    /// Number of recipients that it defers before it accepts one.
    pub defer: u32,
    /// Number of emails during which it closes the connection.
    pub drop: u32,
    /// True if it rejects every recipient.
    pub refuse: bool,
    /// True if it rejects every sender.
    pub refuse_sender: bool,
    /// True if it never sends anything.
    pub silent: bool,
    /// Port to listen on; any if 0.
    pub port: u16,
}

/// TLS of a relay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RelayTls {
    /// No TLS: `STARTTLS` is not offered.
    #[default]
    Never,
    /// TLS after `STARTTLS`, which is required.
    StartTls,
    /// TLS from the beginning.
    Wrapped,
}

/// Email that the relay accepted.
#[derive(Debug, Clone, Deserialize)]
pub struct DeliveredMail {
    /// Sender of the envelope.
    pub from: String,
    /// Recipients of the envelope.
    pub to: Vec<String>,
    /// Decoded headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Plain-text part, decoded from its transfer encoding.
    pub text: String,
    /// Decoded HTML part.
    pub html: String,
    /// Message with its headers, as it was received.
    pub raw: String,
    /// True if the connection was encrypted.
    pub encrypted: bool,
    /// Authenticated user, if the relay requires one.
    pub user: Option<String>,
    /// Number of the connection that it arrived on, counted from one.
    pub connection: u32,
    /// Name in the client's `EHLO` on that connection.
    pub greeting: String,
}

impl DeliveredMail {
    /// Returns the only header of this name; `None` if there are several.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut matches = self.headers.iter().filter(|(it, _)| it == name);
        match (matches.next(), matches.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    /// Returns the decoded subject.
    pub fn subject(&self) -> &str {
        self.header("subject").unwrap_or_default()
    }

    /// Returns the links in its text, in order. The first is the call to action,
    /// if the email has one.
    pub fn links(&self) -> Vec<String> {
        self.text
            .split_whitespace()
            .filter(|it| it.starts_with("http"))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the first link.
    pub fn link(&self) -> String {
        self.links().into_iter().next().expect("a link")
    }
}

/// Relay that runs until it is dropped.
pub struct FakeRelay {
    /// Port on `127.0.0.1`, chosen by the system.
    pub port: u16,
    /// Certificate that it presents, issued for `localhost`.
    pub certificate: PathBuf,
    child: Child,
    /// Emails, received eagerly: a relay whose output is not read would block.
    delivered: Mutex<UnboundedReceiver<DeliveredMail>>,
    _dir: TempDir,
}

impl FakeRelay {
    /// Starts a relay that accepts everything.
    pub async fn start() -> Self {
        Self::with_behaviour(RelayBehaviour::default()).await
    }

    /// Starts a relay with this behaviour.
    pub async fn with_behaviour(behaviour: RelayBehaviour) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let certificate = certify(dir.path());

        let mut child = Command::new(python())
            .args(["-c", SCRIPT, &options(&behaviour, dir.path())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the interpreter that TEST_PYTHON names");
        let stdout = child.stdout.take().expect("an output");
        let mut lines = BufReader::new(stdout).lines();
        let Listening { port } = tokio::time::timeout(TIMEOUT, read_line(&mut lines))
            .await
            .expect("a relay in time")
            .expect("a relay that listens");
        let (sender, delivered) = unbounded_channel();
        #[expect(clippy::disallowed_methods, reason = "ends with the relay")]
        let _reading = tokio::spawn(async move {
            while let Some(mail) = read_line(&mut lines).await {
                // The receiver may be gone.
                drop(sender.send(mail));
            }
        });

        Self { port, certificate, child, delivered: Mutex::new(delivered), _dir: dir }
    }

    /// Returns the host name for settings.
    pub fn host(&self) -> &'static str {
        "localhost"
    }

    /// Waits for the next email that it accepts.
    pub async fn next_mail(&self) -> DeliveredMail {
        let receiving = async { self.delivered.lock().await.recv().await };
        tokio::time::timeout(TIMEOUT, receiving).await.expect("an email in time").expect("an email")
    }

    /// Stops the relay and returns the accepted emails that no test has read yet.
    pub async fn stop(mut self) -> Vec<DeliveredMail> {
        drop(self.child.stdin.take());
        let mut delivered = self.delivered.lock().await;
        let mut remaining = Vec::new();
        let reading = async {
            while let Some(mail) = delivered.recv().await {
                remaining.push(mail);
            }
        };
        tokio::time::timeout(TIMEOUT, reading).await.expect("a relay that ends");
        remaining
    }
}

#[derive(Deserialize)]
struct Listening {
    port: u16,
}

async fn read_line<T: for<'a> Deserialize<'a>>(
    lines: &mut Lines<BufReader<ChildStdout>>,
) -> Option<T> {
    let line = lines.next_line().await.expect("a readable output")?;
    Some(serde_json::from_str(&line).expect("a line of JSON"))
}

fn python() -> String {
    #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
    let python = std::env::var("TEST_PYTHON");
    python.expect("TEST_PYTHON is not set: run `cargo xtask test`, which installs aiosmtpd")
}

fn options(behaviour: &RelayBehaviour, dir: &Path) -> String {
    let RelayBehaviour { tls, user, defer, drop, refuse, refuse_sender, silent, port } = behaviour;
    let tls = match tls {
        RelayTls::Never => None,
        RelayTls::StartTls => Some("starttls"),
        RelayTls::Wrapped => Some("wrapped"),
    };

    let options = json!({
        "tls": tls,
        "certificate": tls.map(|_| dir.join("relay.pem")),
        "key": dir.join("relay.key"),
        "user": user,
        "defer": defer,
        "drop": drop,
        "refuse": refuse,
        "refuse_sender": refuse_sender,
        "silent": silent,
        "port": port,
    });

    options.to_string()
}

fn certify(dir: &Path) -> PathBuf {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let certificate = dir.join("relay.pem");
    std::fs::write(&certificate, made.cert.pem()).expect("a file");
    std::fs::write(dir.join("relay.key"), made.signing_key.serialize_pem()).expect("a file");
    certificate
}
