//! Tests of two instances whose database hangs or restarts, and of rolling
//! restarts.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use pia_server_testkit::ai_client::{CHAT, Live, chat_request, streaming_request};
use pia_server_testkit::ai_peer::Peer;
use pia_server_testkit::client::{Client, TestResponse, parse};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::polling::until;
use pia_server_testkit::program::Invocation;
use pia_testkit::databases::TestDatabase;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Maximum duration of a request: the timeout of a statement, and a margin.
const MAX_WAIT: Duration = Duration::from_secs(6);
const LOGIN: &str = "/auth/login/local";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Traffic {
    Flows,
    /// Connections stay open without responses, as of a stopped process.
    Halted,
    /// Connections are closed, and so are new ones, as during a restart.
    Closed,
}

/// Proxy of a database that can block its traffic.
struct DatabaseProxy {
    traffic: watch::Sender<Traffic>,
}

impl DatabaseProxy {
    /// Starts a proxy and redirects the database's URL to it.
    async fn start(database: &mut TestDatabase) -> Self {
        let (scheme, location) = database.url.split_once('@').expect("a user");
        let (address, name) = location.split_once('/').expect("a database");
        let server: SocketAddr = address.parse().expect("an address");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        database.url = format!("{scheme}@{addr}/{name}");
        let (traffic, receiver) = watch::channel(Traffic::Flows);
        #[expect(clippy::disallowed_methods, reason = "ends with the test")]
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(forward(near, server, receiver.clone()));
            }
        });
        Self { traffic }
    }

    fn set(&self, traffic: Traffic) {
        self.traffic.send_replace(traffic);
    }
}

async fn forward(near: TcpStream, server: SocketAddr, mut traffic: watch::Receiver<Traffic>) {
    let mut traffic_changes = traffic.clone();
    let forwarding = async {
        let open = traffic.wait_for(|it| *it == Traffic::Flows).await.is_ok();
        if !open {
            return;
        }
        let far = TcpStream::connect(server).await.expect("a database");
        let (near_in, near_out) = near.into_split();
        let (far_in, far_out) = far.into_split();
        tokio::select! {
            () = copy(near_in, far_out, traffic.clone()) => {}
            () = copy(far_in, near_out, traffic.clone()) => {}
        }
    };
    tokio::select! {
        () = forwarding => {}
        _ = traffic_changes.wait_for(|it| *it == Traffic::Closed) => {}
    }
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut traffic: watch::Receiver<Traffic>,
) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let open = traffic.wait_for(|it| *it == Traffic::Flows).await.is_ok();
        if !open || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// Two instances on one database behind a proxy.
struct TwoInstances {
    proxy: DatabaseProxy,
    first_server: TestApp,
    second_server: TestApp,
}

impl TwoInstances {
    async fn start(upstream: &str) -> Self {
        let mut database = TestDatabase::postgres().await;
        let proxy = DatabaseProxy::start(&mut database).await;
        let first_server = TestConfig::on(database).with_upstream(upstream).start().await;
        let second_server = TestConfig::beside(&first_server).with_upstream(upstream).start().await;
        Self { proxy, first_server, second_server }
    }
}

async fn timed(answer: impl Future<Output = TestResponse>) -> (TestResponse, Duration) {
    let start = Instant::now();
    (answer.await, start.elapsed())
}

/// Runs a client's operations concurrently, and returns their durations.
async fn all_operations(app: &TestApp, ada: &Client) -> Vec<(TestResponse, Duration)> {
    let stranger = app.anonymous();
    let ada = ada.clone().at(app.addr);
    let login = json!({ "email": "ada@example.org", "password": PASSWORD });
    let push = json!({ "memories": [{ "label": "x" }] });
    let chat =
        pia_server_testkit::chats::chat(&uuid::Uuid::now_v7().to_string(), "2026-08-01T09:14:02Z");
    let (one, two) = join(
        join_all([timed(ada.get("/auth/me")), timed(ada.get("/auth/sessions"))]),
        join_all([timed(stranger.post(LOGIN, &login)), timed(ada.post("/api/sync/push", &push))]),
    )
    .await;
    let three = timed(pia_server_testkit::chats::put(&ada, &chat)).await;
    one.into_iter().chain(two).chain([three]).collect()
}

async fn all_succeed(app: &TestApp, ada: &Client) -> bool {
    let answers = all_operations(app, ada).await;
    let ready = app.anonymous().get("/ready").await.status == 200;
    ready && answers.iter().all(|(answer, _)| answer.status < 300)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_database_blocks_no_caller_and_service_resumes_after_it() {
    let upstream = Peer::start().await;
    let TwoInstances { proxy, first_server, second_server } =
        TwoInstances::start(&upstream.endpoint).await;
    let ada = first_server.sign_up("ada@example.org").await;
    first_server.admin("group set default credits.daily=100000").await.expect("a limit");
    let mut stream = Live::ask(&ada, CHAT, &streaming_request("Hello")).await;
    let mut call = upstream.call().await;
    let first = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"before\"}}]}\n\n";
    call.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
    call.write(first).await;
    stream.until("before").await;

    proxy.set(Traffic::Halted);
    let halted = join(all_operations(&first_server, &ada), all_operations(&second_server, &ada));
    let streaming = async {
        call.write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"meanwhile\"}}]}\n\n")
            .await;
        stream.until("meanwhile").await
    };
    let stranger = second_server.anonymous();
    let ready = timed(stranger.get("/ready"));
    let request = chat_request("Hello");
    let chat = timed(ada.post(CHAT, &request));
    let ((mut here, there), _, (ready, waited), chat) =
        tokio::join!(halted, streaming, ready, chat);
    here.push(chat);

    assert_eq!(ready.status, 503);
    assert!(waited < Duration::from_secs(2), "{waited:?}");
    for (answer, waited) in here.iter().chain(&there) {
        assert!(*waited < MAX_WAIT, "{waited:?}: {}", answer.text());
        if answer.status >= 300 {
            let (status, code) = answer.refusal();
            assert!(status == 503 && ["overloaded", "unavailable"].contains(&code), "{code}");
        }
    }
    for answers in [&here, &there] {
        assert!(answers.iter().any(|(it, _)| it.status == 503), "no request was refused");
    }

    proxy.set(Traffic::Flows);
    let resumed = Instant::now();
    for app in [&first_server, &second_server] {
        until(async || all_succeed(app, &ada).await.then_some(())).await;
    }
    assert!(resumed.elapsed() < Duration::from_secs(5), "{:?}", resumed.elapsed());

    call.write("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
        .await;
    call.write("data: [DONE]\n\n").await;
    stream.until("[DONE]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_database_is_reconnected() {
    let upstream = Peer::start().await;
    let TwoInstances { proxy, first_server, second_server } =
        TwoInstances::start(&upstream.endpoint).await;
    let ada = first_server.sign_up("ada@example.org").await;
    assert!(all_succeed(&first_server, &ada).await && all_succeed(&second_server, &ada).await);

    proxy.set(Traffic::Closed);
    let (here, there) =
        join(all_operations(&first_server, &ada), all_operations(&second_server, &ada)).await;
    proxy.set(Traffic::Flows);

    for (answer, waited) in here.iter().chain(&there) {
        assert!(*waited < MAX_WAIT, "{waited:?}: {}", answer.text());
        assert!(answer.status < 300 || answer.status == 503, "{}", answer.text());
    }
    let back = Instant::now();
    for app in [&first_server, &second_server] {
        until(async || all_succeed(app, &ada).await.then_some(())).await;
    }

    assert!(back.elapsed() < Duration::from_secs(5), "{:?}", back.elapsed());
}

/// Sends a request to an instance; `None` if it stops before it answers.
async fn send_request(addr: SocketAddr, request: &str) -> Option<TestResponse> {
    let mut socket = TcpStream::connect(addr).await.ok()?;
    socket.write_all(request.as_bytes()).await.ok()?;
    let mut raw = Vec::new();
    socket.read_to_end(&mut raw).await.ok()?;
    (!raw.is_empty()).then(|| parse(&raw))
}

/// Sends a request repeatedly to all instances, like a load balancer, until
/// `ended`. Returns the number of answers.
async fn send_repeatedly(
    instances: &watch::Receiver<[SocketAddr; 2]>,
    request: &str,
    ended: &AtomicBool,
) -> usize {
    let mut answered = 0;
    while !ended.load(Ordering::Relaxed) {
        let addrs = *instances.borrow();
        for addr in addrs {
            if let Some(answer) = send_request(addr, request).await {
                assert_eq!(answer.status, 200, "{}", answer.text());
                answered += 1;
            }
        }
    }
    answered
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_fails_no_request() {
    let database = TestDatabase::postgres().await;
    let call = || {
        Invocation::new()
            .licensed()
            .with("Database__Provider", "postgresql")
            .with("Database__ConnectionString", &database.url)
            .with("RateLimits__Global", "1000000")
    };
    let mut first_server = call().start().await;
    let mut second_server = call().start().await;
    let [ada, bob] = ["ada@example.org", "bob@example.org"]
        .map(|email| json!({ "email": email, "password": PASSWORD }));
    for person in [&ada, &bob] {
        assert_eq!(first_server.anonymous().post("/auth/register", person).await.status, 200);
    }
    let envelope = first_server.anonymous().post(LOGIN, &ada).await;
    let token = envelope.body["accessToken"].as_str().expect("a token");
    let (addresses, instances) = watch::channel([first_server.addr, second_server.addr]);
    let ended = AtomicBool::new(false);
    let body = bob.to_string();
    let head = "host: x\r\nconnection: close\r\n";
    let length = body.len();
    let requests = [
        format!("GET /auth/me HTTP/1.1\r\n{head}authorization: Bearer {token}\r\n\r\n"),
        format!(
            "POST {LOGIN} HTTP/1.1\r\n{head}content-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        ),
    ];
    let clients = join_all(requests.iter().map(|it| send_repeatedly(&instances, it, &ended)));
    let restarting = async {
        for _ in 0..2 {
            let next_server = call().start().await;
            addresses.send_replace([second_server.addr, next_server.addr]);
            first_server.signal("TERM");
            assert!(first_server.end().await.success());
            (first_server, second_server) = (second_server, next_server);
        }
        ended.store(true, Ordering::Relaxed);
    };

    let (answered, ()) = join(clients, restarting).await;

    assert!(answered.iter().all(|it| *it > 3), "{answered:?}");
}
