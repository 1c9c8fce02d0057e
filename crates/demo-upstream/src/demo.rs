//! Running demo upstream.

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
const PATIENCE: Duration = Duration::from_secs(5);

/// Demo upstream on its own threads; stopped when dropped.
pub struct Demo {
    address: SocketAddr,
    journal: Journal,
    server: ServerHandle,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Demo {
    /// Starts one with default options on a port; 0 takes any free one.
    pub fn start(port: u16) -> io::Result<Self> {
        Self::with(DemoOptions { port, ..DemoOptions::default() })
    }

    /// Starts one with these options.
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
            Err(_never_started) => Err(ended(thread)),
        }
    }

    /// Runs one on this thread until the process receives a signal to stop.
    pub fn run(options: DemoOptions, ready: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
        System::new().block_on(async {
            let (server, address) = serve(options, Journal::new(), Signals::Handled)?;
            ready(&format!("http://{address}"))?;
            server.await
        })
    }

    /// Returns the URL it listens on: scheme, address and port.
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
        tokio::time::timeout(PATIENCE, watch.wait_for(condition)).await.is_ok_and(|it| it.is_ok())
    }

    /// Stops it and aborts open responses.
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
    let server = HttpServer::new(move || {
        let journal = journal.clone();
        let prepared = prepared.clone();
        App::new().configure(move |app| routes(app, options, journal, prepared))
    })
    .workers(options.workers)
    .tcp_nodelay(true)
    .h1_allow_half_closed(false)
    .shutdown_timeout(1);

    let server = if signals == Signals::Ignored { server.disable_signals() } else { server };
    let server = server.bind((Ipv4Addr::LOCALHOST, options.port))?;
    let address = server.addrs().first().copied();

    Ok((server.run(), address.ok_or(io::ErrorKind::AddrNotAvailable)?))
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
fn ended(thread: JoinHandle<io::Result<()>>) -> io::Error {
    match thread.join() {
        Ok(Err(err)) => err,
        _ => io::Error::other("the demo upstream ended before it listened"),
    }
}
