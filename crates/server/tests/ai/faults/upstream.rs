//! An upstream that does wrong in the way that a test named last.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pia_server_testkit::ai_peer::{Peer, read};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Between two bytes that come one at a time.
const BETWEEN_BYTES: Duration = Duration::from_millis(5);
/// For what was said to be read before a reset.
const BEFORE_A_RESET: Duration = Duration::from_millis(200);

/// Reaction of the upstream to each call.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    /// Said to who requests a whole answer.
    pub(crate) whole: Vec<u8>,
    /// Said to who requests a stream.
    pub(crate) stream: Vec<u8>,
    pub(crate) then: Then,
}

/// End of the reaction.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    /// Hangs up as it should.
    HangsUp,
    /// Sends everything before byte by byte, then hangs up.
    HangsUpAfterBytes,
    /// Takes the connection away with a reset.
    Resets,
    /// Keeps the connection and says nothing more.
    IsSilent,
    /// Says one space at a time without end.
    Drips,
}

/// Fails each call in the same way until another failure is set.
pub(crate) struct Upstream {
    pub(crate) endpoint: String,
    deed: Arc<Mutex<Deed>>,
    seen: Arc<Seen>,
    serving: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Seen {
    calls: AtomicUsize,
    open: AtomicUsize,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let Peer { listener, endpoint } = Peer::start().await;
        let silent = Deed { whole: Vec::new(), stream: Vec::new(), then: Then::IsSilent };
        let (deed, seen) = (Arc::new(Mutex::new(silent)), Arc::<Seen>::default());
        let (done, counted) = (Arc::clone(&deed), Arc::clone(&seen));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut conversations = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let deed = done.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let seen = Arc::clone(&counted);
                conversations.spawn(async move {
                    seen.open.fetch_add(1, Ordering::SeqCst);
                    converse(socket, deed, &seen.calls).await;
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { endpoint, deed, seen, serving }
    }

    /// Does this from now on.
    pub(crate) fn does(&self, deed: &Deed) {
        *self.deed.lock().unwrap_or_else(PoisonError::into_inner) = deed.clone();
    }

    /// Returns the number of calls there were.
    pub(crate) fn calls(&self) -> usize {
        self.seen.calls.load(Ordering::SeqCst)
    }

    /// Returns the number of connections the callers have not closed.
    pub(crate) fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }

    /// Ends it: from now on there is nobody at its address.
    pub(crate) async fn ends(mut self) {
        self.serving.shutdown().await;
    }
}

async fn converse(mut socket: TcpStream, deed: Deed, calls: &AtomicUsize) {
    let Some(request) = read(&mut socket).await else { return };
    calls.fetch_add(1, Ordering::SeqCst);
    let streams = request.text().contains(r#""stream":true"#);
    let message = if streams { deed.stream } else { deed.whole };
    let at_once = match deed.then {
        Then::HangsUpAfterBytes => 1,
        _ => message.len().max(1),
    };
    for piece in message.chunks(at_once) {
        drop(socket.write_all(piece).await);
        if at_once == 1 {
            tokio::time::sleep(BETWEEN_BYTES).await;
        }
    }
    match deed.then {
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
    while socket.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
}
