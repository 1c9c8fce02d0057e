//! Encrypted connections, to a proxy before the server that ends TLS.

use std::env;
use std::process::{Command, Output};
use std::sync::Arc;

use pia_assignments::WorkflowEngine;
use pia_kernel::AssignmentId;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, spawn_blocking};
use tokio_rustls::TlsAcceptor;

use crate::scene::{encrypted_engine, server};

/// Variable with the address of the proxy, for a process that trusts its certificate
/// or does not.
const CHILD: &str = "PIA_TEMPORAL_TLS_CHILD";

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_connection_requires_a_trusted_certificate() {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let trusted = dir.path().join("trusted.pem");
    std::fs::write(&trusted, key.cert.pem()).unwrap();
    let other_key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other_roots = dir.path().join("other.pem");
    std::fs::write(&other_roots, other_key.cert.pem()).unwrap();

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("localhost:{}", listener.local_addr().unwrap().port());
    let private = PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let mut proxy = JoinSet::new();
    proxy.spawn(forward(listener, TlsAcceptor::from(Arc::new(config))));

    let connects = async |roots| {
        let address = address.clone();
        let roots = std::path::PathBuf::clone(roots);
        let child = move || -> Output {
            Command::new(env::current_exe().unwrap())
                .args(["--exact", "tls::connection_of_another_process", "--nocapture"])
                .env(CHILD, address)
                .env("SSL_CERT_FILE", roots)
                .output()
                .unwrap()
        };
        spawn_blocking(child).await.unwrap()
    };
    let connected = connects(&trusted).await;
    assert!(connected.status.success(), "{}", String::from_utf8_lossy(&connected.stderr));
    assert!(!connects(&other_roots).await.status.success());
}

/// Connection of another process; without its variable it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn connection_of_another_process() {
    #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
    let Ok(address) = env::var(CHILD) else { return };
    let engine = encrypted_engine(&address, "tls");
    assert!(!engine.is_live(AssignmentId::generate()).await.unwrap());
}

/// Decrypts connections, and forwards them to the server until dropped.
async fn forward(listener: TcpListener, tls: TlsAcceptor) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        let tls = tls.clone();
        connections.spawn(async move {
            // A client that does not trust the certificate goes away.
            let Ok(mut client) = tls.accept(socket).await else { return };
            let mut server = TcpStream::connect(server()).await.unwrap();
            drop(copy_bidirectional(&mut client, &mut server).await);
        });
    }
}
