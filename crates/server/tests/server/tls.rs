//! Tests of TLS in the binary.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use pia_server_testkit::client::{TestResponse, parse};
use pia_server_testkit::program::Invocation;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

fn certified() -> (String, String, CertificateDer<'static>) {
    let names = vec!["localhost".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).expect("a pair");
    (cert.pem(), signing_key.serialize_pem(), cert.der().clone())
}

fn serving(certificate: &str, key: &str) -> Invocation {
    Invocation::new()
        .licensed()
        .file("server.pem", certificate)
        .file("server.key", key)
        .with("Server__Tls__CertificatePath", "server.pem")
        .with("Server__Tls__KeyPath", "server.key")
}

/// Requests `/health`, trusting this certificate alone.
fn get_health(addr: SocketAddr, trusted: CertificateDer<'static>) -> std::io::Result<TestResponse> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(connection, TcpStream::connect(addr)?);
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut raw = Vec::new();
    // An unclean close of the connection is irrelevant here.
    drop(stream.read_to_end(&mut raw));
    Ok(parse(&raw))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_presents_its_certificate() {
    let (certificate, key, trusted) = certified();
    let (_, _, another) = certified();
    let program = serving(&certificate, &key).start().await;
    let addr = program.addr;

    let trusting = tokio::task::spawn_blocking(move || get_health(addr, trusted))
        .await
        .expect("a finished task");
    let untrusting = tokio::task::spawn_blocking(move || get_health(addr, another))
        .await
        .expect("a finished task");

    assert_eq!(trusting.expect("an answer").text(), r#"{"status":"healthy"}"#);
    assert!(untrusting.is_err(), "another's certificate is trusted");
}

#[test]
fn an_unusable_certificate_prevents_the_start() {
    let (certificate, key, _) = certified();
    let (_, another_key, _) = certified();

    for (call, code) in [
        (serving("nonsense", &key), "SVC-TLS-00"),
        (serving(&certificate, "nonsense"), "SVC-TLS-001"),
        (serving(&certificate, &another_key), "SVC-TLS-002"),
        (serving(&certificate, &key).with("Server__Tls__KeyPath", "missing"), "SVC-TLS-001"),
    ] {
        let error = call.fails();
        assert!(error.contains(code), "{code}: {error}");
        assert!(!error.contains("PRIVATE KEY"), "{error}");
    }
}
