//! A port that is known before the server starts.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Port that forwards to a server: passkeys are bound to the origin that the
/// server is configured with.
pub struct Forwarder(TcpListener);

impl Forwarder {
    /// Listens on a port.
    pub async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.expect("a port"))
    }

    /// Returns the origin of the port, which browsers trust without TLS.
    pub fn origin(&self) -> String {
        format!("http://localhost:{}", self.0.local_addr().expect("an address").port())
    }

    /// Forwards connections until the test ends.
    pub fn forward_to(self, server: SocketAddr) {
        #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
        let _listening = tokio::spawn(async move {
            while let Ok((mut incoming, _)) = self.0.accept().await {
                #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
                let _connection = tokio::spawn(async move {
                    let mut outgoing = TcpStream::connect(server).await.expect("the server");
                    drop(copy_bidirectional(&mut incoming, &mut outgoing).await);
                });
            }
        });
    }
}
