//! An upstream with a configurable fault.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pia_server_testkit::ai_peer::{Peer, read};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Delay between single bytes.
const BETWEEN_BYTES: Duration = Duration::from_millis(5);
/// Delay in which the response is read before a reset.
const BEFORE_A_RESET: Duration = Duration::from_millis(200);

/// Behaviour of the upstream for each call.
#[derive(Debug, Clone)]
pub(crate) struct Behaviour {
    /// Response to requests for a full answer.
    pub(crate) full: Vec<u8>,
    /// Response to requests for a stream.
    pub(crate) stream: Vec<u8>,
    pub(crate) then: Then,
}

/// Behaviour after the response.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    /// Closes the connection.
    HangsUp,
    /// Sends the response byte by byte, then closes the connection.
    HangsUpAfterBytes,
    /// Resets the connection.
    Resets,
    /// Keeps the connection open and sends nothing more.
    IsSilent,
    /// Sends single spaces without end.
    Drips,
}

/// Upstream with the same behaviour for each call until another is set.
pub(crate) struct Upstream {
    pub(crate) endpoint: String,
    behaviour: Arc<Mutex<Behaviour>>,
    counters: Arc<Counters>,
    serving: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Counters {
    calls: AtomicUsize,
    open: AtomicUsize,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let Peer { listener, endpoint } = Peer::start().await;
        let silent = Behaviour { full: Vec::new(), stream: Vec::new(), then: Then::IsSilent };
        let behaviour = Arc::new(Mutex::new(silent));
        let counters = Arc::<Counters>::default();
        let current = Arc::clone(&behaviour);
        let shared_counters = Arc::clone(&counters);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let behaviour = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let counters = Arc::clone(&shared_counters);
                connections.spawn(async move {
                    counters.open.fetch_add(1, Ordering::SeqCst);
                    handle_connection(socket, behaviour, &counters.calls).await;
                    counters.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { endpoint, behaviour, counters, serving }
    }

    /// Sets the behaviour for all later calls.
    pub(crate) fn set_behaviour(&self, behaviour: &Behaviour) {
        *self.behaviour.lock().unwrap_or_else(PoisonError::into_inner) = behaviour.clone();
    }

    /// Returns the number of calls received.
    pub(crate) fn calls(&self) -> usize {
        self.counters.calls.load(Ordering::SeqCst)
    }

    /// Returns the number of connections that callers have not closed.
    pub(crate) fn open(&self) -> usize {
        self.counters.open.load(Ordering::SeqCst)
    }

    /// Stops the upstream: from then on its address refuses connections.
    pub(crate) async fn stop(mut self) {
        self.serving.shutdown().await;
    }
}

async fn handle_connection(mut socket: TcpStream, behaviour: Behaviour, calls: &AtomicUsize) {
    let Some(request) = read(&mut socket).await else { return };
    calls.fetch_add(1, Ordering::SeqCst);
    let streams = request.text().contains(r#""stream":true"#);
    let response = if streams { behaviour.stream } else { behaviour.full };
    let at_once = match behaviour.then {
        Then::HangsUpAfterBytes => 1,
        _ => response.len().max(1),
    };
    for piece in response.chunks(at_once) {
        drop(socket.write_all(piece).await);
        if at_once == 1 {
            tokio::time::sleep(BETWEEN_BYTES).await;
        }
    }
    match behaviour.then {
        Then::HangsUp | Then::HangsUpAfterBytes => drop(socket.shutdown().await),
        Then::Resets => {
            tokio::time::sleep(BEFORE_A_RESET).await;
            socket.set_zero_linger().expect("an option");
            return;
        }
        Then::IsSilent => {}
        Then::Drips => {
            while socket.write_all(b" ").await.is_ok() {
                tokio::time::sleep(BETWEEN_BYTES).await;
            }
        }
    }
    drop(socket.read_to_end(&mut Vec::new()).await);
}
