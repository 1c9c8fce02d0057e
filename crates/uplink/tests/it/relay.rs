//! Relay between a pod and the server, which a test stops.

use std::net::{Ipv4Addr, SocketAddr};

use actix_web::rt;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Relay of one connection. Both sides stay open until it is dropped.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    is_frozen: watch::Sender<bool>,
}

impl Relay {
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, mut is_frozen) = watch::channel(false);
        rt::spawn(async move {
            let (mut pod, _) = listener.accept().await.unwrap();
            let mut server = TcpStream::connect(server).await.unwrap();
            tokio::select! {
                _ = copy_bidirectional(&mut pod, &mut server) => return,
                frozen = is_frozen.wait_for(|it| *it) => drop(frozen),
            }
            is_frozen.changed().await.ok();
        });
        Self { address, is_frozen: sender }
    }

    /// Stops forwarding in both directions, without closing the connections.
    pub(crate) fn freeze(&self) {
        self.is_frozen.send_replace(true);
    }
}
