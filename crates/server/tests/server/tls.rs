//! Tests of TLS in the binary.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use pia_server_testkit::client::{TestResponse, parse};
use pia_server_testkit::polling::until;
use pia_server_testkit::program::{Invocation, ServerProcess};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Self-signed certificate with its key.
struct TestCertificate {
    pem: String,
    key: String,
    der: CertificateDer<'static>,
}

impl TestCertificate {
    fn generate() -> Self {
        let names = vec!["localhost".to_owned()];
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).expect("a pair");
        Self { pem: cert.pem(), key: signing_key.serialize_pem(), der: cert.der().clone() }
    }
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
    let certificate = TestCertificate::generate();
    let other_certificate = TestCertificate::generate();
    let program = serving(&certificate.pem, &certificate.key).start().await;
    let addr = program.addr;

    let trusting = tokio::task::spawn_blocking(move || get_health(addr, certificate.der))
        .await
        .expect("a finished task");
    let untrusting = tokio::task::spawn_blocking(move || get_health(addr, other_certificate.der))
        .await
        .expect("a finished task");

    assert_eq!(trusting.expect("an answer").text(), r#"{"status":"healthy"}"#);
    assert!(untrusting.is_err(), "another's certificate is trusted");
}

/// Returns true if new connections get this certificate.
async fn presents(program: &ServerProcess, certificate: &CertificateDer<'static>) -> bool {
    let addr = program.addr;
    let trusted = certificate.clone();
    tokio::task::spawn_blocking(move || get_health(addr, trusted).is_ok())
        .await
        .expect("a finished task")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_presented_without_a_restart() {
    let first = TestCertificate::generate();
    let renewed = TestCertificate::generate();
    let other = TestCertificate::generate();
    let call = serving(&first.pem, &first.key);
    let program = call.start().await;
    assert!(presents(&program, &first.der).await);

    let call = call.file("server.key", &other.key);
    let warning = program.logs("certificate unchanged").await.to_string();
    assert!(warning.contains("SVC-TLS-002") && !warning.contains("PRIVATE KEY"), "{warning}");
    assert!(presents(&program, &first.der).await);

    let call = call.file("server.pem", &renewed.pem).file("server.key", &renewed.key);
    let entry = program.logs("certificate replaced").await.to_string();
    assert!(entry.contains("certificate.expires_at"), "{entry}");
    assert!(presents(&program, &renewed.der).await);
    assert!(!presents(&program, &first.der).await);

    let count_warnings = || program.log().matches("certificate unchanged").count();
    let earlier_warnings = count_warnings();
    let _call = call.file("server.pem", "nonsense");
    until(async || (count_warnings() > earlier_warnings).then_some(())).await;
    assert!(presents(&program, &renewed.der).await);
}

#[test]
fn an_unusable_certificate_prevents_the_start() {
    let TestCertificate { pem, key, .. } = TestCertificate::generate();
    let other_key = TestCertificate::generate().key;

    for (call, code) in [
        (serving("nonsense", &key), "SVC-TLS-00"),
        (serving(&pem, "nonsense"), "SVC-TLS-001"),
        (serving(&pem, &other_key), "SVC-TLS-002"),
        (serving(&pem, &key).with("Server__Tls__KeyPath", "missing"), "SVC-TLS-001"),
    ] {
        let error = call.fails();
        assert!(error.contains(code), "{code}: {error}");
        assert!(!error.contains("PRIVATE KEY"), "{error}");
    }
}
