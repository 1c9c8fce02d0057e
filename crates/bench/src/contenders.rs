//! The measured contenders: the upstream itself, the bare proxy, the server
//! with and without limits, and a peer.
//!
//! `Contenders::start` starts them in this order, which is also that of the columns
//! of the report; the index of a contender identifies its figures. `from` rotates
//! the order in which a round measures them.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::answer::Response;
use crate::call::{Call, Expectation};
use crate::chat_endpoint::{Calls, ChatEndpoint, OPENAI_PATH, SERVER_PATH};
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::figures::ContenderIndex;
use crate::floors;
use crate::installation::{Accounts, DATABASE_FILE, Database, Installation};
use crate::limits;
use crate::litellm::{self, LiteLlm};
use crate::options::Options;
use crate::postgres::{OwnDatabase, Session};
use crate::process::{self, Process};
use crate::programs::Programs;
use crate::usage_rows::UsageRows;

/// Index of the bare proxy, after the upstream itself.
pub(crate) const PROXY: ContenderIndex = 1;

/// Role of a contender, which determines its loads and its targets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContenderRole {
    /// Baseline that others are compared with.
    Reference,
    /// Server without budgets for its callers.
    Server,
    /// Server that charges each call to budgets. Its target is the floor
    /// `commit` plus this number of milliseconds.
    Limited { commit: &'static str, more: f64 },
    /// Other product for the same purpose.
    Peer,
}

/// Server process under load, with its calls.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) role: ContenderRole,
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    pub(crate) calls: Calls,
    /// Data that only a server has.
    pub(crate) data: Option<ServerData>,
}

impl Contender {
    pub(crate) fn is_peer(&self) -> bool {
        matches!(self.role, ContenderRole::Peer)
    }
}

/// Data of a contender that is a server.
pub(crate) struct ServerData {
    installation: Installation,
    /// Accounts that can sign in.
    pub(crate) accounts: Accounts,
    /// Usage records in its database, one for each call.
    pub(crate) usage: UsageRows,
}

/// PostgreSQL databases of the server without limits and of the one with limits.
pub(crate) struct PostgresDatabases {
    pub(crate) without_limits: OwnDatabase,
    pub(crate) with_limits: OwnDatabase,
}

impl PostgresDatabases {
    /// Creates the databases; `None` if PostgreSQL is not configured.
    pub(crate) fn create(options: &Options) -> Outcome<Option<Self>> {
        let Some(url) = options.postgres_url.as_deref() else { return Ok(None) };
        Ok(Some(Self {
            without_limits: OwnDatabase::create(url)?,
            with_limits: OwnDatabase::second(url)?,
        }))
    }
}

/// All contenders, running.
pub(crate) struct Contenders {
    list: Vec<Contender>,
    /// Text of the full response, required of each contender.
    content: Vec<u8>,
    server: PathBuf,
    accounts: usize,
}

impl Contenders {
    /// Starts the contenders, each with its folder below `dir`. A server
    /// without limits gets this number of accounts.
    pub(crate) fn start(
        programs: &Programs,
        postgres: Option<&PostgresDatabases>,
        dir: &Path,
        accounts: usize,
    ) -> Outcome<Self> {
        let demo = free_address()?;
        let upstream = start_demo(&programs.demo, demo, dir)?;
        let content = demo_content(demo)?;
        let server = programs.server.clone();
        let mut contenders = Self { list: Vec::new(), content, server, accounts };
        contenders.add("upstream, direct", ContenderRole::Reference, demo, upstream);
        let address = free_address()?;
        let proxy = start_proxy(&programs.proxy, address, demo, dir)?;
        contenders.add("bare proxy", ContenderRole::Reference, address, proxy);
        let sqlite = ContenderRole::Limited { commit: floors::SQLITE_COMMIT, more: 0.1 };
        let on_postgres = ContenderRole::Limited { commit: floors::POSTGRES_COMMIT, more: 0.5 };
        contenders.add_server("server, SQLite", ContenderRole::Server, &Database::Sqlite, dir)?;

        if let Some(databases) = postgres {
            let database = Database::Postgres(databases.without_limits.url.clone());
            contenders.add_server("server, PostgreSQL", ContenderRole::Server, &database, dir)?;
        }

        contenders.add_server("server, SQLite, limits", sqlite, &Database::Sqlite, dir)?;

        if let Some(databases) = postgres {
            let database = Database::Postgres(databases.with_limits.url.clone());
            contenders.add_server("server, PostgreSQL, limits", on_postgres, &database, dir)?;
        }

        if let Some(program) = &programs.litellm {
            contenders.add_litellm(program, dir)?;
        }

        Ok(contenders)
    }

    /// Signs in again, so that no access token is older than a round.
    pub(crate) fn renew_tokens(&mut self) -> Outcome<()> {
        for contender in &mut self.list {
            let Some(data) = &contender.data else { continue };
            let token = data.accounts.token()?;
            let to = contender.address;
            let endpoint = ChatEndpoint { to, path: SERVER_PATH, token: Some(&token), model: None };
            contender.calls = endpoint.calls(&self.content);
        }
        Ok(())
    }

    /// Returns all contenders, starting with a different one each round: the
    /// first one finds other caches than the last.
    pub(crate) fn from(&self, round: usize) -> impl Iterator<Item = (ContenderIndex, &Contender)> {
        let count = self.list.len();
        self.list.iter().enumerate().cycle().skip(round % count.max(1)).take(count)
    }

    pub(crate) fn servers(
        &self,
    ) -> impl Iterator<Item = (ContenderIndex, &Contender, &ServerData)> {
        self.list
            .iter()
            .enumerate()
            .filter_map(|(index, it)| it.data.as_ref().map(|data| (index, it, data)))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = (&'static str, ContenderRole)> {
        self.list.iter().map(|it| (it.name, it.role))
    }

    /// Fails if the budgets do not match the open calls.
    pub(crate) fn check_budgets(&self) -> Outcome<()> {
        for (_, contender, data) in self.servers() {
            limits::check(&self.server, &data.installation)
                .map_err(|err| format!("{}: {err}", contender.name))?;
        }
        Ok(())
    }

    /// Waits until no contender is busy.
    pub(crate) fn settle(&self) -> Outcome<()> {
        process::settle(&self.list.iter().map(|it| &it.process).collect::<Vec<_>>())
    }

    fn add_server(
        &mut self,
        name: &'static str,
        role: ContenderRole,
        database: &Database,
        dir: &Path,
    ) -> Outcome<()> {
        let upstream = self.list.first().ok_or("there is no upstream")?.address;
        let is_limited = matches!(role, ContenderRole::Limited { .. });
        let setup = ServerSetup {
            database,
            upstream,
            accounts: if is_limited { 1 } else { self.accounts },
        };
        let Server { address, process, accounts, installation } =
            Server::start(name, &self.server, setup, dir)?;

        if is_limited {
            limits::set(&self.server, &installation, address, &accounts.token()?)?;
        }

        let usage = match database {
            Database::Sqlite => UsageRows::Sqlite(installation.dir.join(DATABASE_FILE)),
            Database::Postgres(url) => UsageRows::Postgres(Box::new(Session::open(url)?)),
        };

        self.add(name, role, address, process);

        if let Some(contender) = self.list.last_mut() {
            contender.data = Some(ServerData { installation, accounts, usage });
        }

        Ok(())
    }

    fn add_litellm(&mut self, program: &Path, dir: &Path) -> Outcome<()> {
        let upstream = self.list.first().ok_or("there is no upstream")?.address;
        let to = free_address()?;
        let LiteLlm { process, key } = LiteLlm::start(program, to, upstream, dir)?;
        self.add("LiteLLM", ContenderRole::Peer, to, process);
        let model = Some(litellm::MODEL);
        let endpoint = ChatEndpoint { to, path: OPENAI_PATH, token: Some(&key), model };
        if let Some(contender) = self.list.last_mut() {
            contender.calls = endpoint.calls(&self.content);
        }
        Ok(())
    }

    fn add(
        &mut self,
        name: &'static str,
        role: ContenderRole,
        address: SocketAddr,
        process: Process,
    ) {
        let calls = ChatEndpoint::without_token(address).calls(&self.content);
        self.list.push(Contender { name, role, address, process, calls, data: None });
    }
}

/// Environment of a server, and its number of accounts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerSetup<'a> {
    pub(crate) database: &'a Database,
    pub(crate) upstream: SocketAddr,
    pub(crate) accounts: usize,
}

/// Running server, with its accounts.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    pub(crate) accounts: Accounts,
    /// Folder and settings of the server.
    pub(crate) installation: Installation,
}

impl Server {
    /// Starts a server with a new folder below `dir`.
    pub(crate) fn start(
        name: &str,
        program: &Path,
        setup: ServerSetup<'_>,
        dir: &Path,
    ) -> Outcome<Self> {
        let ServerSetup { database, upstream, accounts } = setup;
        let address = free_address()?;
        let home = dir.join(name.replace(", ", "-"));
        let installation = Installation::prepare(&home, database, address, upstream)?;
        let mut command = Command::new(program);
        // No variable of this environment may change a setting.
        command
            .env_clear()
            .envs(installation.settings.iter().cloned())
            .current_dir(&installation.dir);
        let mut process = Process::start(name, &mut command, dir)?;
        let health_call = health(address);
        process.wait_for(|| call_once(address, &health_call).is_ok())?;
        let accounts =
            Accounts::register(address, accounts).map_err(|err| format!("{name}: {err}"))?;

        Ok(Self { address, process, accounts, installation })
    }
}

/// Creates the health check request of a server.
pub(crate) fn health(server: SocketAddr) -> Call {
    Call::get(server, "/health", Expectation::Holds(b"\"healthy\"".to_vec()))
}

fn start_demo(program: &Path, address: SocketAddr, dir: &Path) -> Outcome<Process> {
    let mut command = Command::new(program);
    // Prepared in advance: a full response of 359 bytes, and chunks of 244.
    command.arg("--prepared").args(["--workers", "2", "--port", &address.port().to_string()]);
    let mut demo = Process::start("demo upstream", &mut command, dir)?;
    demo.wait_for(|| TcpStream::connect(address).is_ok())?;
    Ok(demo)
}

fn start_proxy(
    program: &Path,
    address: SocketAddr,
    upstream: SocketAddr,
    dir: &Path,
) -> Outcome<Process> {
    let mut command = Command::new(program);
    command.arg(address.to_string()).arg(upstream.to_string());
    let mut proxy = Process::start("bare proxy", &mut command, dir)?;
    proxy.wait_for(|| TcpStream::connect(address).is_ok())?;
    Ok(proxy)
}

/// Returns the text of the demo upstream's full response, escaped as in its
/// JSON.
fn demo_content(demo: SocketAddr) -> Outcome<Vec<u8>> {
    let call = ChatEndpoint::without_token(demo).calls(b"\"choices\"").full;
    let response = call_once(demo, &call).map_err(|err| format!("demo upstream: {err}"))?;
    let body: Value = serde_json::from_slice(&response.body)?;
    let text = body.pointer("/choices/0/message/content").filter(|it| it.is_string());
    Ok(text.ok_or("the demo upstream's answer has no content")?.to_string().into_bytes())
}

fn call_once(to: SocketAddr, call: &Call) -> Outcome<Response> {
    let response = Connection::open(to)?.exchange(&call.request)?;
    call.check(&response)?;
    Ok(response)
}

/// Returns a free local address. Another process may take it before the
/// contender does, an acceptable risk here.
fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
