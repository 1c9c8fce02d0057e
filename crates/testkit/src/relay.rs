//! A mail relay of a test's own: Python's `aiosmtpd`, which knows nothing of
//! how we write mails.

#![expect(clippy::expect_used, reason = "only tests come here")]

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
/// Longer than anything a test waits for on purpose.
const PATIENCE: Duration = Duration::from_secs(30);

/// Behaviour of a relay. By default it accepts everything from anybody, in
/// plaintext.
#[derive(Debug, Clone, Default)]
pub struct RelayBehaviour {
    /// TLS of the relay.
    pub tls: RelayTls,
    /// Name and password that it requests.
    pub user: Option<(&'static str, &'static str)>,
    /// Number of mails it puts off before it takes one.
    pub defer: u32,
    /// Number of emails at which it hangs up midway.
    pub drop: u32,
    /// True if it knows nobody.
    pub refuse: bool,
    /// True if it takes mail from nobody.
    pub refuse_sender: bool,
    /// True if it never says a word.
    pub silent: bool,
    /// Port to listen on; any if 0.
    pub port: u16,
}

/// TLS of a relay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RelayTls {
    /// No TLS.
    #[default]
    Never,
    /// TLS, once it was requested, and nothing before.
    StartTls,
    /// TLS from the beginning.
    Wrapped,
}

/// A mail that was delivered.
#[derive(Debug, Clone, Deserialize)]
pub struct DeliveredMail {
    /// From whom it came, as the envelope says.
    pub from: String,
    /// Recipients of the envelope.
    pub to: Vec<String>,
    /// The headers, decoded, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Text for programs that show no HTML.
    pub text: String,
    /// HTML for all others.
    pub html: String,
    /// All of it, as it came.
    pub raw: String,
    /// True if nobody could read along.
    pub encrypted: bool,
    /// User that authenticated, if the relay requests one.
    pub user: Option<String>,
    /// Over which of the relay's connections it came, counted from one.
    pub connection: u32,
    /// With which name the relay was greeted there (EHLO).
    pub greeting: String,
}

impl DeliveredMail {
    /// The one header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(it, _)| it == name);
        let first = found.next().map(|(_, value)| value.as_str());
        first.filter(|_| found.next().is_none())
    }

    /// Subject.
    pub fn subject(&self) -> &str {
        self.header("subject").unwrap_or_default()
    }

    /// The links in its text, in their order; the first is what it requests, if
    /// it requests something.
    pub fn links(&self) -> Vec<String> {
        let words = self.text.split_whitespace();
        words.filter(|it| it.starts_with("http")).map(str::to_owned).collect()
    }

    /// The first of its links.
    pub fn link(&self) -> String {
        self.links().into_iter().next().expect("a link")
    }
}

/// A relay that runs until it is dropped.
pub struct FakeRelay {
    /// Port on `127.0.0.1`.
    pub port: u16,
    /// The certificate that it shows, which is for `localhost`.
    pub certificate: PathBuf,
    child: Child,
    /// Read at once: a relay whose words nobody reads falls silent.
    delivered: Mutex<UnboundedReceiver<DeliveredMail>>,
    _dir: TempDir,
}

impl FakeRelay {
    /// One that takes everything.
    pub async fn start() -> Self {
        Self::with_behaviour(RelayBehaviour::default()).await
    }

    /// One that behaves so.
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
        let mut words = BufReader::new(stdout).lines();
        let first = tokio::time::timeout(PATIENCE, read_line::<Listening>(&mut words)).await;
        let port = first.expect("a relay in time").expect("a relay that listens").port;
        let (sender, reported) = unbounded_channel();
        #[expect(clippy::disallowed_methods, reason = "ends with the relay")]
        let _reading = tokio::spawn(async move {
            while let Some(mail) = read_line(&mut words).await {
                // Nobody may ask any more.
                drop(sender.send(mail));
            }
        });
        Self { port, certificate, child, delivered: Mutex::new(reported), _dir: dir }
    }

    /// Returns the host as settings name it.
    pub fn host(&self) -> &'static str {
        "localhost"
    }

    /// The next mail that it takes.
    pub async fn next_mail(&self) -> DeliveredMail {
        let next =
            tokio::time::timeout(PATIENCE, async { self.delivered.lock().await.recv().await });
        next.await.expect("a mail in time").expect("a mail")
    }

    /// Ends it. Answers the mails that it took and that were not requested.
    pub async fn stop(mut self) -> Vec<DeliveredMail> {
        drop(self.child.stdin.take());
        let mut reported = self.delivered.lock().await;
        let mut left = Vec::new();
        let reading = async {
            while let Some(mail) = reported.recv().await {
                left.push(mail);
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("a relay that ends");
        left
    }
}

#[derive(Deserialize)]
struct Listening {
    port: u16,
}

async fn read_line<T: for<'a> Deserialize<'a>>(
    words: &mut Lines<BufReader<ChildStdout>>,
) -> Option<T> {
    let line = words.next_line().await.expect("a readable output")?;
    Some(serde_json::from_str(&line).expect("a line of JSON"))
}

fn python() -> String {
    #[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
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
