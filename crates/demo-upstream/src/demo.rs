//! Demo upstream that runs in this process.
//!
//! `Demo::start` or `with` returns once it listens; tests configure `endpoint()` in a
//! server and then read `call_counts`, `last` or wait by `until`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::rt::System;
use actix_web::web::{self, Data, PayloadConfig, ServiceConfig};
use actix_web::{App, HttpServer};

use crate::chat;
use crate::journal::{CallCounts, Journal, Recorded};
use crate::options::DemoOptions;
use crate::prepared::{self, Prepared};

/// Maximum body in bytes: more than any proxy in front of it forwards.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Timeout of [`Demo::until`].
const CONDITION_TIMEOUT: Duration = Duration::from_secs(5);

/// Demo upstream on its own threads; stopped when dropped.
pub struct Demo {
    address: SocketAddr,
    journal: Journal,
    server: ServerHandle,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Demo {
    /// Starts a demo upstream with default options on a port; 0 takes any free port.
    pub fn start(port: u16) -> io::Result<Self> {
        Self::with(DemoOptions { port, ..DemoOptions::default() })
    }

    /// Starts a demo upstream with these options. Returns once it listens.
    pub fn with(options: DemoOptions) -> io::Result<Self> {
        let journal = Journal::new();
        let server_journal = journal.clone();
        let (started, receiver) = std::sync::mpsc::sync_channel(1);
        let thread = thread::spawn(move || {
            System::new().block_on(async move {
                let (server, address) = serve(options, server_journal, Signals::Ignored)?;
                // The receiver is gone only if the starter has failed, and it
                // reports the error.
                drop(started.send((server.handle(), address)));
                server.await
            })
        });

        match receiver.recv() {
            Ok((server, address)) => Ok(Self { address, journal, server, thread: Some(thread) }),
            Err(_never_started) => Err(startup_error(thread)),
        }
    }

    /// Runs a demo upstream on this thread until the process receives a signal to stop. Calls
    /// `ready` with its URL once it listens.
    pub fn run(options: DemoOptions, ready: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
        System::new().block_on(async {
            let (server, address) = serve(options, Journal::new(), Signals::Handled)?;
            ready(&format!("http://{address}"))?;
            server.await
        })
    }

    /// Returns the URL of the server: scheme, address and port.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL for OpenAI clients.
    pub fn endpoint(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// Returns the numbers of received and of open calls.
    pub fn call_counts(&self) -> CallCounts {
        self.journal.call_counts()
    }

    /// Returns the last chat call.
    pub fn last(&self) -> Recorded {
        self.journal.last()
    }

    /// Waits for a condition and returns whether it was met within five
    /// seconds.
    pub async fn until(&self, condition: impl FnMut(&CallCounts) -> bool) -> bool {
        let mut watch = self.journal.watch();
        let met = tokio::time::timeout(CONDITION_TIMEOUT, watch.wait_for(condition)).await;
        met.is_ok_and(|it| it.is_ok())
    }

    /// Stops the server and aborts open responses.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // The command is sent at once; the future would only report its
        // completion.
        drop(self.server.stop(false));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Signals {
    Handled,
    Ignored,
}

fn serve(
    options: DemoOptions,
    journal: Journal,
    signals: Signals,
) -> io::Result<(Server, SocketAddr)> {
    let journal = Data::new(journal);
    let prepared = options.prepared.then(|| Data::new(Prepared::new(options.chunks)));
    let mut server = HttpServer::new(move || {
        let journal = journal.clone();
        let prepared = prepared.clone();
        App::new().configure(move |app| routes(app, options, journal, prepared))
    })
    .workers(options.workers)
    .tcp_nodelay(true)
    .h1_allow_half_closed(false)
    .shutdown_timeout(1);

    if signals == Signals::Ignored {
        server = server.disable_signals();
    }

    let bound_server = server.bind((Ipv4Addr::LOCALHOST, options.port))?;
    let address = bound_server.addrs().first().copied();
    Ok((bound_server.run(), address.ok_or(io::ErrorKind::AddrNotAvailable)?))
}

fn routes(
    app: &mut ServiceConfig,
    options: DemoOptions,
    journal: Data<Journal>,
    prepared: Option<Data<Prepared>>,
) {
    app.app_data(PayloadConfig::new(MAX_BODY_BYTES)).app_data(journal).app_data(Data::new(options));

    let chat = match prepared {
        Some(prepared) => {
            app.app_data(prepared);
            web::post().to(prepared::complete)
        }
        None => web::post().to(chat::complete),
    };

    app.route("/v1/chat/completions", chat)
        .route("/v1/models", web::get().to(chat::models))
        .route("/demo/calls", web::get().to(chat::calls))
        .default_service(web::to(chat::unknown));
}

/// Returns the error with which a server's thread ended before it listened.
fn startup_error(thread: JoinHandle<io::Result<()>>) -> io::Error {
    match thread.join() {
        Ok(Err(err)) => err,
        _ => io::Error::other("the demo upstream ended before it listened"),
    }
}
