//! The measured contenders: the upstream itself, the bare proxy, the server
//! with and without limits, and a peer.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::answer::Answer;
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
/// Magic words of the demo upstream.
const SLOW: &str = "demo:slow=500 demo:chunks=16";
const SLOW_CHUNKS: usize = 16;
const LONG: &str = "demo:chunks=100000";
const LONG_CHUNKS: usize = 100_000;
const OPENAI_PATH: &str = "/v1/chat/completions";
const SERVER_PATH: &str = "/api/ai/chat/completions";

/// The programs that are started.
#[derive(Clone)]
pub(crate) struct Programs {
    demo: PathBuf,
    proxy: PathBuf,
    server: PathBuf,
    litellm: Option<PathBuf>,
}

/// The server's program: the one that is named, or else the one beside this.
pub(crate) fn server_program(options: &Options) -> Outcome<PathBuf> {
    program(options.server.as_deref(), "pia-server")
}

fn program(input: Option<&Path>, name: &str) -> Outcome<PathBuf> {
    let this = std::env::current_exe()?;
    let path = input.map_or_else(|| this.with_file_name(name), Path::to_owned);
    // The server runs in a folder of its own.
    std::path::absolute(&path)
        .ok()
        .filter(|it| it.is_file())
        .ok_or_else(|| format!("{} is missing: build {name} first", path.display()).into())
}

impl Programs {
    /// Contenders named by the options, or else those beside this program.
    pub(crate) fn of(options: &Options) -> Outcome<Self> {
        let litellm = options.litellm.as_deref();
        Ok(Self {
            litellm: litellm.map(|it| program(Some(it), "LiteLLM")).transpose()?,
            demo: program(options.demo.as_deref(), "pia-demo-upstream")?,
            proxy: program(None, "pia-bench-bare-proxy")?,
            server: server_program(options)?,
        })
    }
}

impl Programs {
    /// Returns the programs without peers, for benchmarks that do not measure
    /// them.
    pub(crate) fn without_peers(&self) -> Self {
        Self { litellm: None, ..self.clone() }
    }
}

/// Role of a contender, which determines its loads and its targets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContenderRole {
    /// The baseline that others are compared with.
    Reference,
    /// The server, whose callers no budget concerns.
    Server,
    /// The server, each call of which is admitted out of a budget. It aims at
    /// this floor, and so many milliseconds more.
    Limited { commit: &'static str, more: f64 },
    /// Something else for the same purpose.
    Peer,
}

/// Process under load.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) kind: ContenderRole,
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    pub(crate) calls: Calls,
    /// Data that only a server has.
    pub(crate) own: Option<ServerData>,
}

impl Contender {
    pub(crate) fn is_peer(&self) -> bool {
        matches!(self.kind, ContenderRole::Peer)
    }
}

/// Requests that every contender is measured with.
pub(crate) struct Calls {
    /// A whole answer.
    pub(crate) whole: Call,
    /// A stream.
    pub(crate) stream: Call,
    /// A stream that has a chunk each half second.
    pub(crate) slow: Call,
    /// A stream of about 20 MB.
    pub(crate) long: Call,
}

/// Data of a server beyond that of every contender.
pub(crate) struct ServerData {
    installation: Installation,
    /// Accounts that can sign in.
    pub(crate) accounts: Accounts,
    /// Usage records that it stores, one for each call.
    pub(crate) usage: UsageRows,
}

/// All of them, running.
pub(crate) struct Contenders {
    list: Vec<Contender>,
    /// The text of the whole answer, which each of them must bring.
    content: Vec<u8>,
    server: PathBuf,
    crowd: usize,
}

/// Databases of PostgreSQL for the server without limits, and with them.
pub(crate) type Urls<'a> = (&'a str, &'a str);

impl Contenders {
    /// Starts them, each with its folder below `dir`. So many people may sign
    /// in to a server without limits.
    pub(crate) fn start(
        programs: &Programs,
        postgres: Option<Urls<'_>>,
        dir: &Path,
        crowd: usize,
    ) -> Outcome<Self> {
        let demo = free_address()?;
        let upstream = start_demo(&programs.demo, demo, dir)?;
        let (content, server) = (content(demo)?, programs.server.clone());
        let mut contenders = Self { list: Vec::new(), content, server, crowd };
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

    /// Signs in anew, so that no access token is older than a round.
    pub(crate) fn renew_tokens(&mut self) -> Outcome<()> {
        for contender in &mut self.list {
            let Some(own) = &contender.own else { continue };
            let (token, to) = (own.accounts.token()?, contender.address);
            let to = Endpoint { to, path: SERVER_PATH, token: Some(&token), model: None };
            contender.calls = to.calls(&self.content);
        }
        Ok(())
    }

    /// All of them, beginning at another one each round: whoever comes first
    /// meets other caches than whoever comes last.
    pub(crate) fn from(&self, round: usize) -> impl Iterator<Item = (ContenderIndex, &Contender)> {
        let all = self.list.iter().enumerate();
        all.clone().cycle().skip(round % self.list.len().max(1)).take(self.list.len())
    }

    pub(crate) fn servers(
        &self,
    ) -> impl Iterator<Item = (ContenderIndex, &Contender, &ServerData)> {
        let all = self.list.iter().enumerate();
        all.filter_map(|(place, it)| it.own.as_ref().map(|own| (place, it, own)))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = (&'static str, ContenderRole)> {
        self.list.iter().map(|it| (it.name, it.kind))
    }

    /// Fails where budgets and open calls do not agree.
    pub(crate) fn check_budgets(&self) -> Outcome<()> {
        for (_, contender, own) in self.servers() {
            limits::check(&self.server, &own.installation)
                .map_err(|err| format!("{}: {err}", contender.name))?;
        }
        Ok(())
    }

    /// Waits until none of them is busy any more.
    pub(crate) fn settle(&self) -> Outcome<()> {
        process::settle(&self.list.iter().map(|it| &it.process).collect::<Vec<_>>())
    }

    fn add_server(
        &mut self,
        name: &'static str,
        kind: ContenderRole,
        database: &Database,
        dir: &Path,
    ) -> Outcome<()> {
        let upstream = self.list.first().ok_or("there is no upstream")?.address;
        let limited = matches!(kind, ContenderRole::Limited { .. });
        let accounts = if limited { 1 } else { self.crowd };
        let Server { address, process, accounts, installation } =
            Server::start(name, &self.server, database, (dir, upstream), accounts)?;
        if limited {
            limits::set(&self.server, &installation, address, &accounts.token()?)?;
        }
        let usage = match database {
            Database::Sqlite => UsageRows::Sqlite(installation.dir.join(DATABASE_FILE)),
            Database::Postgres(url) => UsageRows::Postgres(Box::new(Session::open(url)?)),
        };
        self.add(name, kind, address, process);
        if let Some(contender) = self.list.last_mut() {
            contender.own = Some(ServerData { installation, accounts, usage });
        }
        Ok(())
    }

    fn add_litellm(&mut self, program: &Path, dir: &Path) -> Outcome<()> {
        let upstream = self.list.first().ok_or("there is no upstream")?.address;
        let to = free_address()?;
        let LiteLlm { process, key } = LiteLlm::start(program, to, upstream, dir)?;
        self.add("LiteLLM", ContenderRole::Peer, to, process);
        let model = Some(litellm::MODEL);
        let entrance = Endpoint { to, path: OPENAI_PATH, token: Some(&key), model };
        if let Some(contender) = self.list.last_mut() {
            contender.calls = entrance.calls(&self.content);
        }
        Ok(())
    }

    fn add(
        &mut self,
        name: &'static str,
        kind: ContenderRole,
        address: SocketAddr,
        process: Process,
    ) {
        let calls = Endpoint::open(address).calls(&self.content);
        self.list.push(Contender { name, kind, address, process, calls, own: None });
    }
}

/// A server that runs, and who may sign in to it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    pub(crate) accounts: Accounts,
    /// Folder of the process, and its settings.
    pub(crate) installation: Installation,
}

impl Server {
    /// Starts one with a folder of its own below `dir`.
    pub(crate) fn start(
        name: &str,
        program: &Path,
        database: &Database,
        (dir, upstream): (&Path, SocketAddr),
        accounts: usize,
    ) -> Outcome<Self> {
        let (address, own) = (free_address()?, dir.join(name.replace(", ", "-")));
        let installation = Installation::prepare(&own, database, address, upstream)?;
        let mut command = Command::new(program);
        // Nothing of the environment that this runs in may change a setting.
        command
            .env_clear()
            .envs(installation.settings.iter().cloned())
            .current_dir(&installation.dir);
        let mut process = Process::start(name, &mut command, dir)?;
        let health = health(address);
        process.wait_for(|| call_once(address, &health).is_ok())?;
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
    /// One that requests nothing, as the upstream's.
    fn open(to: SocketAddr) -> Self {
        Self { to, path: OPENAI_PATH, token: None, model: None }
    }

    fn calls(&self, content: &[u8]) -> Calls {
        Calls {
            whole: self.call(MESSAGE, false, Expectation::Holds(content.to_vec())),
            stream: self.call(MESSAGE, true, Expectation::Stream(CHUNKS as usize)),
            slow: self.call(SLOW, true, Expectation::Stream(SLOW_CHUNKS)),
            long: self.call(LONG, true, Expectation::Stream(LONG_CHUNKS)),
        }
    }

    fn call(&self, message: &str, stream: bool, proof: Expectation) -> Call {
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
        Call::post(&Post { to, path, token, body: &body }, proof)
    }
}

fn start_demo(program: &Path, address: SocketAddr, dir: &Path) -> Outcome<Process> {
    let mut command = Command::new(program);
    // Made beforehand: a whole answer of 359 bytes, and chunks of 244.
    command.arg("--prepared").args(["--workers", "2", "--port", &address.port().to_string()]);
    let mut demo = Process::start("demo upstream", &mut command, dir)?;
    demo.wait_for(|| TcpStream::connect(address).is_ok())?;
    Ok(demo)
}

/// The text of the demo upstream's whole answer, as it stands in its JSON.
fn content(demo: SocketAddr) -> Outcome<Vec<u8>> {
    let call = Endpoint::open(demo).calls(b"\"choices\"").whole;
    let answer = call_once(demo, &call).map_err(|err| format!("demo upstream: {err}"))?;
    let body: Value = serde_json::from_slice(&answer.body)?;
    let text = body.pointer("/choices/0/message/content").filter(|it| it.is_string());
    Ok(text.ok_or("the demo upstream's answer has no content")?.to_string().into_bytes())
}

fn call_once(to: SocketAddr, call: &Call) -> Outcome<Answer> {
    let answer = Connection::open(to)?.exchange(&call.request)?;
    call.check(&answer)?;
    Ok(answer)
}

/// An address on this machine that is free now; that nobody takes it before
/// the contender does is good enough here.
fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
