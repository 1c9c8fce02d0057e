//! The measured contenders: the upstream itself, the bare proxy, the server
//! with and without limits, and a peer.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::answer::Response;
use crate::call::{Call, Expectation, Post};
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::figures::ContenderIndex;
use crate::floors;
use crate::installation::{Accounts, DATABASE_FILE, Database, Installation};
use crate::limits;
use crate::litellm::{self, LiteLlm};
use crate::options::Options;
use crate::postgres::Session;
use crate::process::{self, Process};
use crate::usage_rows::UsageRows;

/// Index of the bare proxy, after the upstream itself.
pub(crate) const PROXY: ContenderIndex = 1;
/// Number of chunks of a stream that carry text.
pub(crate) const CHUNKS: u32 = 100;

const MESSAGE: &str = "Say something that takes a hundred chunks.";
/// Directives in the message for the demo upstream.
const SLOW: &str = "demo:slow=500 demo:chunks=16";
const SLOW_CHUNKS: usize = 16;
const LONG: &str = "demo:chunks=100000";
const LONG_CHUNKS: usize = 100_000;
const OPENAI_PATH: &str = "/v1/chat/completions";
const SERVER_PATH: &str = "/api/ai/chat/completions";

/// Paths of the programs that are started.
#[derive(Clone)]
pub(crate) struct Programs {
    demo: PathBuf,
    proxy: PathBuf,
    server: PathBuf,
    litellm: Option<PathBuf>,
}

/// Returns the path of the server's program: the configured one, or else the
/// one in the folder of this program.
pub(crate) fn server_program(options: &Options) -> Outcome<PathBuf> {
    program(options.server.as_deref(), "pia-server")
}

fn program(configured: Option<&Path>, name: &str) -> Outcome<PathBuf> {
    let this = std::env::current_exe()?;
    let path = configured.map_or_else(|| this.with_file_name(name), Path::to_owned);
    // The server runs in another folder.
    std::path::absolute(&path)
        .ok()
        .filter(|it| it.is_file())
        .ok_or_else(|| format!("{} is missing: build {name} first", path.display()).into())
}

impl Programs {
    /// Returns the configured programs, and by default those in this program's
    /// folder.
    pub(crate) fn from_options(options: &Options) -> Outcome<Self> {
        let litellm =
            options.litellm.as_deref().map(|it| program(Some(it), "LiteLLM")).transpose()?;
        Ok(Self {
            litellm,
            demo: program(options.demo.as_deref(), "pia-demo-upstream")?,
            proxy: program(None, "pia-bench-bare-proxy")?,
            server: server_program(options)?,
        })
    }

    /// Returns the programs without peers, for benchmarks that do not measure
    /// them.
    pub(crate) fn without_peers(&self) -> Self {
        Self { litellm: None, ..self.clone() }
    }
}

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

/// Process under load.
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

/// Requests that every contender is measured with.
pub(crate) struct Calls {
    /// Full response.
    pub(crate) full: Call,
    /// Streamed response.
    pub(crate) stream: Call,
    /// Stream with a chunk every half second.
    pub(crate) slow: Call,
    /// Stream of about 20 MB.
    pub(crate) long: Call,
}

/// Data of a contender that is a server.
pub(crate) struct ServerData {
    installation: Installation,
    /// Accounts that can sign in.
    pub(crate) accounts: Accounts,
    /// Usage records in its database, one for each call.
    pub(crate) usage: UsageRows,
}

/// All contenders, running.
pub(crate) struct Contenders {
    list: Vec<Contender>,
    /// Text of the full response, required of each contender.
    content: Vec<u8>,
    server: PathBuf,
    accounts: usize,
}

/// PostgreSQL databases of the server without limits and of the one with
/// limits.
pub(crate) type Urls<'a> = (&'a str, &'a str);

impl Contenders {
    /// Starts the contenders, each with its folder below `dir`. A server
    /// without limits gets this number of accounts.
    pub(crate) fn start(
        programs: &Programs,
        postgres: Option<Urls<'_>>,
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
        let mut command = Command::new(&programs.proxy);
        command.arg(address.to_string()).arg(demo.to_string());
        let mut proxy = Process::start("bare proxy", &mut command, dir)?;
        proxy.wait_for(|| TcpStream::connect(address).is_ok())?;
        contenders.add("bare proxy", ContenderRole::Reference, address, proxy);
        let sqlite = ContenderRole::Limited { commit: floors::SQLITE_COMMIT, more: 0.1 };
        let on_postgres = ContenderRole::Limited { commit: floors::POSTGRES_COMMIT, more: 0.5 };
        contenders.add_server("server, SQLite", ContenderRole::Server, &Database::Sqlite, dir)?;

        if let Some((url, _)) = postgres {
            let database = Database::Postgres(url.to_owned());
            contenders.add_server("server, PostgreSQL", ContenderRole::Server, &database, dir)?;
        }

        contenders.add_server("server, SQLite, limits", sqlite, &Database::Sqlite, dir)?;

        if let Some((_, url)) = postgres {
            let database = Database::Postgres(url.to_owned());
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
            let endpoint = Endpoint { to, path: SERVER_PATH, token: Some(&token), model: None };
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
        let endpoint = Endpoint { to, path: OPENAI_PATH, token: Some(&key), model };
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
        let calls = Endpoint::without_token(address).calls(&self.content);
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

/// Endpoint of a contender, with the credentials and the model it requires.
struct Endpoint<'a> {
    to: SocketAddr,
    path: &'a str,
    token: Option<&'a str>,
    model: Option<&'a str>,
}

impl Endpoint<'_> {
    /// Creates an endpoint that requires no credentials, like that of the
    /// upstream.
    fn without_token(to: SocketAddr) -> Self {
        Self { to, path: OPENAI_PATH, token: None, model: None }
    }

    fn calls(&self, content: &[u8]) -> Calls {
        Calls {
            full: self.call(MESSAGE, false, Expectation::Holds(content.to_vec())),
            stream: self.call(MESSAGE, true, Expectation::Stream(CHUNKS as usize)),
            slow: self.call(SLOW, true, Expectation::Stream(SLOW_CHUNKS)),
            long: self.call(LONG, true, Expectation::Stream(LONG_CHUNKS)),
        }
    }

    fn call(&self, message: &str, stream: bool, expectation: Expectation) -> Call {
        let Self { to, path, token, model } = *self;
        let mut body = json!({ "messages": [{ "role": "user", "content": message }] });
        if let Some(body) = body.as_object_mut() {
            if stream {
                body.insert("stream".to_owned(), json!(true));
                body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
            }
            if let Some(model) = model {
                body.insert("model".to_owned(), json!(model));
            }
        }

        Call::post(&Post { to, path, token, body: &body }, expectation)
    }
}

fn start_demo(program: &Path, address: SocketAddr, dir: &Path) -> Outcome<Process> {
    let mut command = Command::new(program);
    // Prepared in advance: a full response of 359 bytes, and chunks of 244.
    command.arg("--prepared").args(["--workers", "2", "--port", &address.port().to_string()]);
    let mut demo = Process::start("demo upstream", &mut command, dir)?;
    demo.wait_for(|| TcpStream::connect(address).is_ok())?;
    Ok(demo)
}

/// Returns the text of the demo upstream's full response, escaped as in its
/// JSON.
fn demo_content(demo: SocketAddr) -> Outcome<Vec<u8>> {
    let call = Endpoint::without_token(demo).calls(b"\"choices\"").full;
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
