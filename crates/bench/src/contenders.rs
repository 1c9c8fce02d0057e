//! Who is measured: the upstream itself, the bare proxy and the server.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Post, Proof};
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::figures::Place;
use crate::installation::{Accounts, DATABASE_FILE, Database, Installation};
use crate::options::Options;
use crate::postgres::Session;
use crate::process::{self, Process};
use crate::usage_rows::UsageRows;

/// Where the bare proxy stands, behind the upstream itself.
pub(crate) const PROXY: Place = 1;
/// How many chunks of a stream carry text.
pub(crate) const CHUNKS: u32 = 100;

const OPENAI_PATH: &str = "/v1/chat/completions";
const SERVER_PATH: &str = "/api/ai/chat/completions";

/// The programs that are started.
pub(crate) struct Programs {
    demo: PathBuf,
    proxy: PathBuf,
    server: PathBuf,
}

/// The server's program: the one that is named, or else the one beside this.
pub(crate) fn server_program(options: &Options) -> Outcome<PathBuf> {
    program(options.server.as_deref(), "pia-server")
}

fn program(given: Option<&Path>, name: &str) -> Outcome<PathBuf> {
    let this = std::env::current_exe()?;
    let path = given.map_or_else(|| this.with_file_name(name), Path::to_owned);
    // The server runs in a folder of its own.
    std::path::absolute(&path)
        .ok()
        .filter(|it| it.is_file())
        .ok_or_else(|| format!("{} is missing: build {name} first", path.display()).into())
}

impl Programs {
    /// Those the options name, or else those beside this program.
    pub(crate) fn of(options: &Options) -> Outcome<Self> {
        Ok(Self {
            demo: program(options.demo.as_deref(), "pia-demo-upstream")?,
            proxy: program(None, "pia-bench-bare-proxy")?,
            server: server_program(options)?,
        })
    }
}

/// One process under load.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    /// Asks for a whole answer.
    pub(crate) whole: Call,
    /// Asks for a stream.
    pub(crate) stream: Call,
    /// What only a server has.
    pub(crate) own: Option<Own>,
}

/// What a server has beyond what every contender has.
pub(crate) struct Own {
    /// Who may sign in.
    pub(crate) accounts: Accounts,
    /// What it writes down of each call.
    pub(crate) usage: UsageRows,
}

/// All of them, running.
pub(crate) struct Contenders {
    list: Vec<Contender>,
    /// The text of the whole answer, which each of them must bring.
    content: Vec<u8>,
}

impl Contenders {
    /// Starts them, each with its folder below `dir`.
    pub(crate) fn start(programs: &Programs, postgres: Option<&str>, dir: &Path) -> Outcome<Self> {
        let demo = free_address()?;
        let upstream = start_demo(&programs.demo, demo, dir)?;
        let content = content(demo)?;
        let mut contenders = Self { list: Vec::new(), content };
        contenders.add("upstream, direct", demo, upstream, None);
        let address = free_address()?;
        let mut command = Command::new(&programs.proxy);
        command.arg(address.to_string()).arg(demo.to_string());
        let mut proxy = Process::start("bare proxy", &mut command, dir)?;
        proxy.wait_for(|| TcpStream::connect(address).is_ok())?;
        contenders.add("bare proxy", address, proxy, None);
        contenders.add_server("server, SQLite", &programs.server, &Database::Sqlite, dir)?;
        if let Some(url) = postgres {
            let database = Database::Postgres(url.to_owned());
            contenders.add_server("server, PostgreSQL", &programs.server, &database, dir)?;
        }
        Ok(contenders)
    }

    /// Signs in anew, so that no access token is older than a round.
    pub(crate) fn renew_tokens(&mut self) -> Outcome<()> {
        for contender in &mut self.list {
            let token = contender.own.as_ref().map(|it| it.accounts.token()).transpose()?;
            (contender.whole, contender.stream) =
                calls(contender.address, token.as_deref(), &self.content);
        }
        Ok(())
    }

    /// All of them, beginning at another one each round: whoever comes first
    /// meets other caches than whoever comes last.
    pub(crate) fn from(&self, round: usize) -> impl Iterator<Item = (Place, &Contender)> {
        let all = self.list.iter().enumerate();
        all.clone().cycle().skip(round % self.list.len().max(1)).take(self.list.len())
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = (Place, &Contender, &Own)> {
        let all = self.list.iter().enumerate();
        all.filter_map(|(place, it)| it.own.as_ref().map(|own| (place, it, own)))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.list.iter().map(|it| it.name)
    }

    /// Waits until none of them is busy any more.
    pub(crate) fn settle(&self) -> Outcome<()> {
        process::settle(&self.list.iter().map(|it| &it.process).collect::<Vec<_>>())
    }

    fn add_server(
        &mut self,
        name: &'static str,
        program: &Path,
        database: &Database,
        dir: &Path,
    ) -> Outcome<()> {
        let upstream = self.list.first().ok_or("there is no upstream")?.address;
        let Server { address, process, accounts, dir } =
            Server::start(name, program, database, (dir, upstream))?;
        let usage = match database {
            Database::Sqlite => UsageRows::Sqlite(dir.join(DATABASE_FILE)),
            Database::Postgres(url) => UsageRows::Postgres(Box::new(Session::open(url)?)),
        };
        self.add(name, address, process, Some(Own { accounts, usage }));
        Ok(())
    }

    fn add(&mut self, name: &'static str, address: SocketAddr, process: Process, own: Option<Own>) {
        let (whole, stream) = calls(address, None, &self.content);
        self.list.push(Contender { name, address, process, whole, stream, own });
    }
}

/// A server that runs, and who may sign in to it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    pub(crate) accounts: Accounts,
    /// The folder that is its own.
    pub(crate) dir: PathBuf,
}

impl Server {
    /// Starts one with a folder of its own below `dir`.
    pub(crate) fn start(
        name: &str,
        program: &Path,
        database: &Database,
        (dir, upstream): (&Path, SocketAddr),
    ) -> Outcome<Self> {
        let (address, own) = (free_address()?, dir.join(name.replace(", ", "-")));
        let installation = Installation::prepare(&own, database, address, upstream)?;
        let mut command = Command::new(program);
        // Nothing of the environment that this runs in may change a setting.
        command.env_clear().envs(installation.settings).current_dir(&installation.dir);
        let mut process = Process::start(name, &mut command, dir)?;
        let health = health(address);
        process.wait_for(|| asked(address, &health).is_ok())?;
        let accounts = Accounts::register(address).map_err(|err| format!("{name}: {err}"))?;
        Ok(Self { address, process, accounts, dir: installation.dir })
    }
}

/// What asks a server whether it lives.
pub(crate) fn health(server: SocketAddr) -> Call {
    Call::get(server, "/health", Proof::Holds(b"\"healthy\"".to_vec()))
}

/// A call for a whole answer and one for a stream. Who has a token is a server.
fn calls(to: SocketAddr, token: Option<&str>, content: &[u8]) -> (Call, Call) {
    let path = if token.is_some() { SERVER_PATH } else { OPENAI_PATH };
    let call =
        |stream: bool, proof| Call::post(&Post { to, path, token, body: &request(stream) }, proof);
    (call(false, Proof::Holds(content.to_vec())), call(true, Proof::Stream(CHUNKS as usize)))
}

fn request(stream: bool) -> Value {
    let message = "Say something that takes a hundred chunks.";
    let mut request = json!({ "messages": [{ "role": "user", "content": message }] });
    if let Some(request) = request.as_object_mut().filter(|_| stream) {
        request.insert("stream".to_owned(), json!(true));
        request.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    request
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
    let (call, _) = calls(demo, None, b"\"choices\"");
    let answer = asked(demo, &call).map_err(|err| format!("demo upstream: {err}"))?;
    let body: Value = serde_json::from_slice(&answer.body)?;
    let text = body.pointer("/choices/0/message/content").filter(|it| it.is_string());
    Ok(text.ok_or("the demo upstream's answer has no content")?.to_string().into_bytes())
}

fn asked(to: SocketAddr, call: &Call) -> Outcome<Answer> {
    let answer = Connection::open(to)?.exchange(&call.request)?;
    call.check(&answer)?;
    Ok(answer)
}

/// An address on this machine that is free now; that nobody takes it before
/// the contender does is good enough here.
fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
