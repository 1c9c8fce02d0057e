//! Tests for the response parser.

use super::*;

const SIZED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-Length: 5\r\nx: y\r\n\r\nhello";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
    3\r\nhel\r\n2;note=1\r\nlo\r\n0\r\nx-after: 1\r\n\r\n";

fn hello() -> Answer {
    Answer { status: 200, tag: None, body: b"hello".to_vec() }
}

#[test]
fn an_answer_is_the_same_wherever_it_is_cut() {
    for whole in [SIZED, CHUNKED] {
        for step in 1..=whole.len() {
            let mut reader = AnswerReader::default();

            let answers: Vec<Answer> =
                whole.chunks(step).filter_map(|it| reader.push(it).unwrap()).collect();

            assert_eq!(answers, [hello()], "in steps of {step}");
            assert!(reader.is_between_answers());
        }
    }
}

#[test]
fn answers_follow_one_another_on_a_connection() {
    let mut reader = AnswerReader::default();

    let answers = [CHUNKED, SIZED, CHUNKED].map(|whole| reader.push(whole).unwrap());

    assert_eq!(answers, [Some(hello()), Some(hello()), Some(hello())]);
}

#[test]
fn an_answer_without_a_body_ends_with_its_head() {
    let answer = AnswerReader::default().push(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();

    assert_eq!(answer, Some(Answer { status: 204, tag: None, body: vec![] }));
}

#[test]
fn an_answer_is_known_again_by_its_tag() {
    let mut reader = AnswerReader::default();
    let tagged = b"HTTP/1.1 304 Not Modified\r\nETag: W/\"v1\"\r\n\r\n";

    let tags = [tagged.as_slice(), SIZED].map(|it| reader.push(it).unwrap().unwrap().tag);

    assert_eq!(tags, [Some("W/\"v1\"".to_owned()), None]);
}

#[test]
fn what_is_no_answer_is_refused() {
    let wrong: [&[u8]; 6] = [
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
    ];

    for bytes in wrong {
        let result = AnswerReader::default().push(bytes);

        assert!(result.is_err(), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn an_endless_answer_is_refused() {
    let mut reader = AnswerReader::default();
    let announced = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", usize::MAX);

    assert_eq!(reader.push(announced.as_bytes()), Err(TOO_LONG));
    assert!(AnswerReader::default().push(&vec![b'a'; MAX_HEAD_BYTES + 1]).is_err());
}
