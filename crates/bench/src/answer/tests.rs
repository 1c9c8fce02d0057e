//! Tests for the response parser.

use super::*;

const SIZED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-Length: 5\r\nx: y\r\n\r\nhello";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
    3\r\nhel\r\n2;note=1\r\nlo\r\n0\r\nx-after: 1\r\n\r\n";

fn hello() -> Response {
    Response { status: 200, tag: None, body: b"hello".to_vec() }
}

#[test]
fn a_response_may_arrive_in_pieces_of_any_size() {
    for bytes in [SIZED, CHUNKED] {
        for step in 1..=bytes.len() {
            let mut reader = ResponseReader::default();

            let responses: Vec<Response> =
                bytes.chunks(step).filter_map(|it| reader.push(it).unwrap()).collect();

            assert_eq!(responses, [hello()], "in steps of {step}");
            assert!(reader.is_between_responses());
        }
    }
}

#[test]
fn a_connection_carries_several_responses() {
    let mut reader = ResponseReader::default();

    let responses = [CHUNKED, SIZED, CHUNKED].map(|bytes| reader.push(bytes).unwrap());

    assert_eq!(responses, [Some(hello()), Some(hello()), Some(hello())]);
}

#[test]
fn a_response_without_a_body_ends_with_its_head() {
    let response = ResponseReader::default().push(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();

    assert_eq!(response, Some(Response { status: 204, tag: None, body: vec![] }));
}

#[test]
fn the_entity_tag_of_each_response_is_returned() {
    let mut reader = ResponseReader::default();
    let tagged = b"HTTP/1.1 304 Not Modified\r\nETag: W/\"v1\"\r\n\r\n";

    let tags = [tagged.as_slice(), SIZED].map(|it| reader.push(it).unwrap().unwrap().tag);

    assert_eq!(tags, [Some("W/\"v1\"".to_owned()), None]);
}

#[test]
fn bytes_that_are_no_response_are_rejected() {
    let wrong: [&[u8]; 6] = [
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
    ];

    for bytes in wrong {
        let result = ResponseReader::default().push(bytes);

        assert!(result.is_err(), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn an_endless_response_is_rejected() {
    let mut reader = ResponseReader::default();
    let announced = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", usize::MAX);

    assert_eq!(reader.push(announced.as_bytes()), Err(TOO_LONG));
    assert!(ResponseReader::default().push(&vec![b'a'; MAX_HEAD_BYTES + 1]).is_err());
}
