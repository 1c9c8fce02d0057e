//! Sessions whose bytes arrive in pieces.

use futures_util::future::join;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::HttpClient;
use crate::raw_pod::{completion, description, record};
use crate::server::{Server, token};

/// Array of an invocation of `Hello`: one tool, `raw`.
const HELLO_PACK: &[u8] = b"\x96\x01\x80\xa1h\xa5Hello\x91\
    \x83\xa8protocol\x01\xa4name\xa3raw\xa5tools\x91\
    \x83\xa4name\xa3raw\xabdescription\xa1d\xaaparameters\x80\x90";

/// Array of the completion of the first call.
const RESULT_PACK: &[u8] = b"\x95\x03\x80\xa2s1\x03\x81\xa7content\xa4fine";

/// Returns a frame of a client, with the mask zero.
fn frame(is_text: bool, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![if is_text { 0x81 } else { 0x82 }];
    if let Ok(length @ ..0x7e) = u8::try_from(content.len()) {
        frame.push(0x80 | length);
    } else {
        frame.push(0xfe);
        frame.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
    }
    frame.extend([0; 4]);
    frame.extend(content);
    frame
}

/// Returns a handshake and a hello.
fn beginning(protocol: &str) -> Vec<u8> {
    let shake = record(&json!({ "protocol": protocol, "version": 1 }));
    let hello = if protocol == "json" {
        let hello = json!({
            "type": 1, "invocationId": "h", "target": "Hello", "arguments": [description("raw", 10)],
        });
        frame(true, record(&hello).as_bytes())
    } else {
        frame(false, &packed(HELLO_PACK))
    };
    [frame(true, shake.as_bytes()), hello].concat()
}

fn packed(body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len()).unwrap();
    assert!(length < 0x80);
    [&[length], body].concat()
}

fn result(protocol: &str) -> Vec<u8> {
    if protocol == "json" {
        frame(true, record(&completion("s1", &json!({ "content": "fine" }))).as_bytes())
    } else {
        frame(false, &packed(RESULT_PACK))
    }
}

/// Connection of a pod, without its encoding.
struct Bytes {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Bytes {
    async fn upgraded(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut bytes = Self { stream, received: Vec::new() };
        let request = format!(
            "GET /hubs/pod-uplink HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\n\
             connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            token(1)
        );
        bytes.stream.write_all(request.as_bytes()).await.unwrap();
        bytes.until(b"\r\n\r\n").await;
        bytes
    }

    /// Reads until these bytes have arrived.
    async fn until(&mut self, part: &[u8]) {
        while !self.received.windows(part.len()).any(|it| it == part) {
            let count = self.stream.read_buf(&mut self.received).await.unwrap();
            assert!(count > 0, "the connection has ended: {:?}", self.received);
        }
    }

    /// Sends two pieces. The server has been idle between them.
    async fn send(&mut self, bytes: &[u8], cut: usize, probe: &mut HttpClient) {
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        self.stream.write_all(first).await.unwrap();
        probe.get("/health").await;
        self.stream.write_all(second).await.unwrap();
    }
}

async fn works_in_pieces(protocol: &str) {
    let server = Server::start();
    let mut probe = HttpClient::connect(server.address).await;
    let beginning = beginning(protocol);
    let result = result(protocol);
    for cut in 0..beginning.len().max(result.len()) {
        let mut pod = Bytes::upgraded(&server).await;
        pod.send(&beginning, cut, &mut probe).await;
        pod.until(b"connectorId").await;
        let (reply, ()) = join(server.call("raw", ""), async {
            pod.until(b"timeoutSeconds").await;
            pod.send(&result, cut, &mut probe).await;
        })
        .await;
        assert_eq!(reply.expect("a reply").into_text(), "fine", "cut at {cut}");
        drop(pod);
        server.registry.until(Vec::is_empty).await;
    }
}

#[actix_web::test]
async fn a_session_in_json_works_in_pieces() {
    works_in_pieces("json").await;
}

#[actix_web::test]
async fn a_session_in_message_pack_works_in_pieces() {
    works_in_pieces("messagepack").await;
}

#[actix_web::test]
async fn a_session_that_ends_at_any_byte_leaves_nothing() {
    let server = Server::start();
    for protocol in ["json", "messagepack"] {
        let session = [beginning(protocol), result(protocol)].concat();
        for end in 0..session.len() {
            let mut pod = Bytes::upgraded(&server).await;
            pod.stream.write_all(&session[..end]).await.unwrap();
        }
    }
    server.registry.until(Vec::is_empty).await;
}
