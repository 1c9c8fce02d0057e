//! Tests that faults of an upstream leave no resources open in a server.

mod upstream;

use std::time::Duration;

use pia_server_testkit::ai_client::{
    CHAT, Heard, HeardError, Live, OPTIMIZE, TIMED_OUT, chat_request, streaming_request,
};
use pia_server_testkit::ai_peer::{EVENTS, WHOLE, response};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::time::timeout;

use self::upstream::{Behaviour, Then, Upstream};

on_both_databases!(
    after_every_fault_of_an_upstream_nothing_is_left_open,
    a_call_is_aborted_if_its_upstream_accepts_no_connection,
);

/// Maximum of open calls at the upstream; one of three waits.
const MAX_WAITING_CALLS: u64 = 2;
const JSON: &str = "content-type: application/json\r\n";
const FAILED: (&str, &str) =
    ("Bad Gateway", "The upstream AI provider could not answer the request.");

/// Gauges of calls: reserved, open at the upstream, waiting for it.
const LOAD: [&str; 3] =
    ["pia_ai_reservations_open", "pia_ai_protected_calls_open", "pia_ai_protected_calls_waiting"];

/// Gauges of requests, including the one for metrics, and of unwritten usage.
const REST: [&str; 2] = ["pia_http_requests_in_flight", "pia_ai_usage_waiting"];

/// Expected result for a caller.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Refused(u16, &'static str),
    /// A partial answer, and this error.
    Broken((&'static str, &'static str)),
    Answered,
}

/// Expected results of a full answer and of a stream.
#[derive(Debug, Clone, Copy)]
struct Results {
    full: Expected,
    stream: Expected,
}

impl Results {
    fn both(expected: Expected) -> Self {
        Self { full: expected, stream: expected }
    }
}

/// Fault of an upstream, and its expected results.
struct Fault {
    name: &'static str,
    behaviour: Behaviour,
    results: Results,
}

const REFUSED: Expected = Expected::Refused(502, "upstream_failed");
const TOO_LATE: Expected = Expected::Refused(504, "upstream_timeout");

/// Returns a fault by its full answer, its stream, and what follows them.
fn fault(
    name: &'static str,
    full: impl Into<Vec<u8>>,
    stream: impl Into<Vec<u8>>,
    then: Then,
    results: Results,
) -> Fault {
    let behaviour = Behaviour { full: full.into(), stream: stream.into(), then };
    Fault { name, behaviour, results }
}

/// Returns an event stream with a first event, followed by the rest.
fn started_stream(rest: &str) -> String {
    let event = json!({ "choices": [{ "delta": { "content": "begun" } }] });
    format!("{EVENTS}data: {event}\n\n{rest}")
}

/// Returns an answer whose length is greater than what follows.
fn unfinished(rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{JSON}content-length: 90000\r\n\r\n{rest}")
}

/// Returns the faults that fail without a timeout.
fn faults() -> Vec<Fault> {
    use Then::{HangsUp, HangsUpAfterBytes, Resets};
    let refused = Results::both(REFUSED);
    let broken = Results { full: REFUSED, stream: Expected::Broken(FAILED) };
    let served = Results::both(Expected::Answered);
    let busy = Results::both(Expected::Refused(502, "upstream_busy"));

    let part = unfinished(r#"{"choices":[{"message":{"content":"be"#);
    let half_head = "HTTP/1.1 200 OK\r\ncont";
    let error = r#"{"error":{"message":"down","code":500}}"#;
    let too_many_response = response("429 Too Many", &format!("{JSON}retry-after: 7\r\n"), error);
    let failed_response = response("500 Oh", JSON, error);
    let html = response("200 OK", "content-type: text/html\r\n", "<html>Hello</html>");
    let invalid_text: Vec<u8> = WHOLE
        .replace("Fine", "Fine \u{1}")
        .bytes()
        .map(|byte| if byte == 1 { 0xff } else { byte })
        .collect();
    let head = format!("HTTP/1.1 200 OK\r\n{JSON}connection: close\r\n\r\n");
    let without_length = format!("{head}{WHOLE}");
    let full = [head.into_bytes(), invalid_text].concat();
    let stream = started_stream("").into_bytes();
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n".as_slice();
    let end = started_stream(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    let fine_response = response("200 OK", JSON, WHOLE);
    vec![
        fault("a reset", "", "", Resets, refused),
        fault("a reset in mid-answer", part.clone(), started_stream(""), Resets, broken),
        fault("no word", "", "", HangsUp, refused),
        fault("an answer cut off", part, started_stream("data: {\"choi"), HangsUp, broken),
        fault("half a head", half_head, half_head, HangsUp, refused),
        fault("no UTF-8", full, [&stream, event].concat(), HangsUp, broken),
        fault("429", too_many_response.clone(), too_many_response, HangsUp, busy),
        fault("500", failed_response.clone(), failed_response, HangsUp, refused),
        fault("HTML", html.clone(), html, HangsUp, refused),
        fault(
            "an error within",
            response("200 OK", JSON, error),
            started_stream(&format!("data: {error}\n\n")),
            HangsUp,
            broken,
        ),
        fault(
            "an error at once",
            response("200 OK", JSON, error),
            format!("{EVENTS}data: {error}\n\n"),
            HangsUp,
            refused,
        ),
        fault("no length", without_length, end.clone(), HangsUp, served),
        fault("byte by byte", fine_response, end, HangsUpAfterBytes, served),
    ]
}

/// Returns the faults that only a timeout ends.
fn timeout_faults() -> Vec<Fault> {
    use Then::{Drips, IsSilent};
    let head = "HTTP/1.1 200 OK\r\nx-slow:";
    let refused = Results::both(TOO_LATE);
    let broken = Results { full: TOO_LATE, stream: Expected::Broken(TIMED_OUT) };
    let part = unfinished("{");
    vec![
        fault("half-open", "", "", IsSilent, refused),
        fault("half-open in mid-answer", part.clone(), started_stream(""), IsSilent, broken),
        fault("a head without end", head, head, Drips, refused),
        fault("an answer without end", part, started_stream("data: {"), Drips, broken),
    ]
}

impl Expected {
    fn assert_matches(self, answer: &TestResponse, name: &str) {
        match self {
            Self::Refused(status, code) => {
                assert_eq!(answer.refusal(), (status, code), "{name}");
                let wait = (code == "upstream_busy").then_some("7");
                assert_eq!(answer.header("retry-after"), wait, "{name}");
            }
            Self::Broken((title, text)) => {
                let heard = Heard::of(answer);
                assert_eq!(heard.text, "begun", "{name}");
                assert_eq!(heard.finish, None, "{name}");
                let error = HeardError { title: title.to_owned(), text: text.to_owned() };
                assert_eq!(heard.error, Some(error), "{name}");
            }
            Self::Answered => assert_eq!(answer.status, 200, "{name}: {}", answer.text()),
        }
    }
}

/// Returns a request of each kind: two for full answers, one for a stream.
fn requests() -> [(&'static str, Value); 3] {
    [(CHAT, chat_request("x")), (CHAT, streaming_request("x")), (OPTIMIZE, json!({ "text": "x" }))]
}

/// Sends all requests concurrently and asserts their results.
async fn assert_results(ada: &Client, name: &str, results: Results) {
    let [chat, stream, optimization] = requests();
    let (chat, stream, optimization) = tokio::join!(
        ada.post(chat.0, &chat.1),
        ada.post(stream.0, &stream.1),
        ada.post(optimization.0, &optimization.1),
    );
    results.full.assert_matches(&chat, name);
    results.stream.assert_matches(&stream, name);
    results.full.assert_matches(&optimization, name);
}

/// Reads gauges from `/metrics`.
async fn read_gauges<const N: usize>(app: &TestApp, gauges: [&str; N]) -> [u64; N] {
    let text = app.anonymous().get("/metrics").await.text();
    gauges.map(|name| {
        let mut lines = text.lines().filter_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
        lines.next().and_then(|it| it.parse().ok()).expect("a gauge")
    })
}

/// Waits until ended calls leave nothing open: no reservations, permits,
/// requests, connections and unwritten usage.
async fn wait_until_idle(app: &TestApp, upstream: Option<&Upstream>) {
    until(async || {
        let idle = read_gauges(app, LOAD).await == [0; 3] && read_gauges(app, REST).await == [1, 0];
        let connections = upstream.map_or(0, Upstream::open);
        (idle && connections == 0).then_some(())
    })
    .await;
}

/// Returns the number of tasks of the main runtime, where servers finish calls.
fn alive_tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Starts a server with few permits of its upstream, and signs in a user whose
/// group has limits of every kind.
async fn start(setting: TestConfig) -> (TestApp, Client) {
    let setting =
        setting.with("Ai__Protection__MaxConcurrent", MAX_WAITING_CALLS).with("Ai__MaxWait", "20s");
    let app = setting.start().await;
    let limits = "credits.hourly=1000000 credits.daily=2000000 credits.weekly=3000000 \
                  credits.group-daily=4000000 credits.group-weekly=5000000 credits.pool=true";
    app.admin(&format!("group set default {limits}")).await.expect("limits");
    let ada = app.signed_in().await;
    (app, ada)
}

async fn after_every_fault_of_an_upstream_nothing_is_left_open(database: TestDatabase) {
    let upstream = Upstream::start().await;
    let (app, ada) = start(TestConfig::on(database).with_upstream(&upstream.endpoint)).await;

    // Callers who disconnect while the upstream is silent do move the gauges.
    let mut open_calls = Vec::new();
    for (path, body) in requests() {
        open_calls.push(Live::ask(&ada, path, &body).await);
    }
    until(async || (read_gauges(&app, LOAD).await == [3, MAX_WAITING_CALLS, 1]).then_some(()))
        .await;
    drop(open_calls);
    wait_until_idle(&app, Some(&upstream)).await;
    let tasks = alive_tasks();

    for fault in faults() {
        let previous_calls = upstream.calls();
        upstream.set_behaviour(&fault.behaviour);
        assert_results(&ada, fault.name, fault.results).await;
        assert_eq!(upstream.calls() - previous_calls, 3, "{}: no call is repeated", fault.name);
    }

    let short_timeouts =
        json!({ "FirstByteTimeout": "2s", "SilenceTimeout": "2s", "AnswerTimeout": "2s" });
    app.reload(&json!({ "Ai": short_timeouts }));
    for fault in timeout_faults() {
        upstream.set_behaviour(&fault.behaviour);
        assert_results(&ada, fault.name, fault.results).await;
    }

    wait_until_idle(&app, Some(&upstream)).await;
    upstream.stop().await;
    assert_results(&ada, "refused", Results::both(REFUSED)).await;
    wait_until_idle(&app, None).await;

    // The pool may have opened a connection or two meanwhile.
    assert!(alive_tasks() < tasks + 10, "{tasks} tasks have become {}", alive_tasks());
    nothing_is_reserved(&app).await;
}

async fn nothing_is_reserved(app: &TestApp) {
    assert_eq!(app.count("credit_reservations").await, 0);
    assert_eq!(app.count("credit_windows WHERE reserved <> 0").await, 0);
    assert!(app.count("credit_windows").await > 0);
    let check = app.admin("credits check").await;
    assert!(check.is_ok(), "{check:?}");
}

async fn a_call_is_aborted_if_its_upstream_accepts_no_connection(database: TestDatabase) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let listener = socket.listen(1).expect("a listener");
    let address = listener.local_addr().expect("an address");
    // Connections that are not accepted wait in a short queue; once it is
    // full, further ones get no response at all.
    let mut queue = Vec::new();
    let second = Duration::from_secs(1);
    while let Ok(connected) = timeout(second, TcpStream::connect(address)).await {
        queue.push(connected.expect("a connection"));
        assert!(queue.len() < 10, "the queue has no end");
    }
    let setting = TestConfig::on(database).with_upstream(&format!("http://{address}/v1"));
    let (app, ada) = start(setting.with("Ai__ConnectTimeout", "1s")).await;

    assert_results(&ada, "no connection", Results::both(REFUSED)).await;
    wait_until_idle(&app, None).await;

    nothing_is_reserved(&app).await;
    drop((listener, queue));
}
