//! Setup of a server as by an operator: a folder, settings in the environment,
//! a licence, and accounts registered over HTTP.
//!
//! `Installation::prepare` writes the folder and returns the settings, with which the
//! caller starts the program; `Accounts::register` needs the running server.

use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use pia_kernel::{Clock, SystemClock};
use pia_policy::{Edition, SigningKey, Terms};
use serde_json::{Value, json};

use crate::call::{Call, Expectation, Post};
use crate::connection::Connection;
use crate::failure::Outcome;

/// Signing key of licences that builds without a configured key accept.
const DEVELOPMENT_KEY: &str = include_str!("../../../xtask/dev-license-key");
/// Database file of a server on SQLite, in its folder.
pub(crate) const DATABASE_FILE: &str = "pia.db";
pub(crate) const PASSWORD: &str = "a lantern over nine quiet harbours";
/// Number of accounts at which 500 concurrent sign-ins end no session and do not wait for each
/// other: an account has at most ten sessions and five concurrent password checks.
pub(crate) const ACCOUNTS: usize = 201;
/// Rate limits, set high enough that no request is rejected; requests are still
/// counted.
const RATE_LIMITS: [&str; 5] = ["Global", "Auth", "LocalAuth", "Ai", "Sync"];
const RATE_LIMIT: &str = "1000000";

/// Database of a server, with its connection URL.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    Sqlite,
    Postgres(String),
}

/// Folder and settings of one server.
pub(crate) struct Installation {
    pub(crate) dir: PathBuf,
    pub(crate) settings: Vec<(String, String)>,
}

impl Installation {
    /// Creates the folder, with a licence in it.
    pub(crate) fn prepare(
        dir: &Path,
        database: &Database,
        listen: SocketAddr,
        upstream: SocketAddr,
    ) -> Outcome<Self> {
        fs::create_dir_all(dir)?;
        fs::write(dir.join("license.lic"), licence()?)?;

        let mut settings = vec![
            ("PIA_ENVIRONMENT", "Development".to_owned()),
            ("Server__Address", listen.to_string()),
            ("Server__Workers", "2".to_owned()),
            ("JWT_SECRET_KEY", secret()?),
            ("ENCRYPTION_MASTER_KEY", secret()?),
            ("License__Path", dir.join("license.lic").display().to_string()),
            ("Ai__Endpoint", format!("http://{upstream}/v1")),
            ("Ai__ApiKey", "a-key-of-the-benchmark".to_owned()),
            ("Ai__Model", "bench".to_owned()),
            // More than a benchmark pushes.
            ("Sync__MaxTodos", "1000000".to_owned()),
            ("Admin__RequireSecondFactor", "false".to_owned()),
            ("Logging__Level", "warn".to_owned()),
        ];

        settings.extend(match database {
            Database::Sqlite => vec![
                ("Database__Provider", "sqlite".to_owned()),
                (
                    "Database__ConnectionString",
                    format!("Data Source={}", dir.join(DATABASE_FILE).display()),
                ),
            ],
            Database::Postgres(url) => vec![
                ("Database__Provider", "postgresql".to_owned()),
                ("Database__ConnectionString", url.clone()),
                ("Database__MigrationConnectionString", url.clone()),
            ],
        });
        let rate_limits =
            RATE_LIMITS.map(|name| (format!("RateLimits__{name}"), RATE_LIMIT.to_owned()));
        let settings = settings
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .chain(rate_limits)
            .collect();

        Ok(Self { dir: dir.to_owned(), settings })
    }
}

/// Accounts of one server.
pub(crate) struct Accounts {
    server: SocketAddr,
    count: usize,
}

impl Accounts {
    /// Registers this number of accounts.
    pub(crate) fn register(server: SocketAddr, count: usize) -> Outcome<Self> {
        let mut connection = Connection::open(server)?;
        for number in 0..count {
            let body = json!({ "email": address(number), "password": PASSWORD });
            let post = Post { to: server, path: "/auth/register", token: None, body: &body };
            let call = Call::post(&post, Expectation::Holds(b"\"success\":true".to_vec()));
            let response = connection.exchange(&call.request)?;
            call.check(&response).map_err(|err| format!("registering: {err}"))?;
        }
        Ok(Self { server, count })
    }

    /// Signs the first account in and returns the access token.
    pub(crate) fn token(&self) -> Outcome<String> {
        Ok(self.tokens(0)?.access)
    }

    /// Signs this account in.
    pub(crate) fn tokens(&self, number: usize) -> Outcome<Tokens> {
        let call = self.sign_in(number % self.count);
        let response = Connection::open(self.server)?.exchange(&call.request)?;
        call.check(&response).map_err(|err| format!("signing in: {err}"))?;
        Tokens::read(&response.body)
    }

    /// Returns sign-ins spread over all accounts but the first, whose sessions stay valid.
    pub(crate) fn sign_ins_of_others(&self, count: usize) -> Vec<Call> {
        (0..count).map(|number| self.sign_in(1 + number % (self.count - 1))).collect()
    }

    /// Returns sign-ins spread over the accounts.
    pub(crate) fn sign_ins(&self, count: usize) -> Vec<Call> {
        (0..count).map(|number| self.sign_in(number % self.count)).collect()
    }

    fn sign_in(&self, number: usize) -> Call {
        let body = json!({ "email": address(number), "password": PASSWORD });
        let path = "/auth/login/local";
        let post = Post { to: self.server, path, token: None, body: &body };
        Call::post(&post, Expectation::Holds(b"\"accessToken\":".to_vec()))
    }
}

/// Tokens returned by a sign-in or a refresh.
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
}

impl Tokens {
    pub(crate) fn read(body: &[u8]) -> Outcome<Self> {
        let body: Value = serde_json::from_slice(body)?;
        let text = |name: &str| -> Outcome<String> {
            let text = body.get(name).and_then(Value::as_str);
            Ok(text.ok_or_else(|| format!("the answer has no {name}"))?.to_owned())
        };
        Ok(Self { access: text("accessToken")?, refresh: text("refreshToken")? })
    }
}

/// Returns the email address of the account with this number.
pub(crate) fn address(number: usize) -> String {
    format!("person{number}@bench.example")
}

fn licence() -> Outcome<String> {
    let key = SigningKey::parse(DEVELOPMENT_KEY)?;
    let terms = Terms::new("Benchmark", Edition::Community, SystemClock.now());
    Ok(key.issue(&terms)?)
}

/// Returns a random secret of 64 hexadecimal digits.
pub(crate) fn secret() -> Outcome<String> {
    let mut bytes = [0_u8; 32];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}
