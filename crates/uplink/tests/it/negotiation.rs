//! Negotiations without a valid token.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::assert_latency;
use crate::child::ChildServer;
use crate::http::HttpClient;
use crate::server::token;

const TIME: Duration = Duration::from_secs(2);
const CONNECTIONS: u32 = 8;
const MAX_LATENCY: Duration = Duration::from_millis(50);
const NEGOTIATE: &str = "/hubs/pod-uplink/negotiate?negotiateVersion=1";

#[actix_web::test]
async fn refused_negotiations_do_not_delay_other_requests() {
    let server = ChildServer::start();
    assert_latency(MAX_LATENCY, async || latency(&server).await).await;
}

/// Returns the time within which 99 of 100 requests are answered, beside
/// negotiations that are refused.
async fn latency(server: &ChildServer) -> Duration {
    let until = Instant::now() + TIME;
    let count = Cell::new(0_u32);
    let load = join_all((0..CONNECTIONS).map(async |number| {
        let mut client = HttpClient::connect(server.address).await;
        let authorization = match number % 4 {
            0 => String::new(),
            1 => "authorization: Bearer nonsense\r\n".to_owned(),
            2 => format!("authorization: Bearer {}\r\n", "x".repeat(1000)),
            _ => format!("authorization: Bearer {}\r\n", token(1_000_000)),
        };
        while Instant::now() < until {
            assert_eq!(client.send("POST", NEGOTIATE, &authorization).await.0, 401);
            count.set(count.get() + 1);
        }
    }));
    let health = async {
        let mut client = HttpClient::connect(server.address).await;
        let mut times = Vec::new();
        while Instant::now() < until {
            let started = Instant::now();
            assert_eq!(client.get("/health").await.0, 200);
            times.push(started.elapsed());
        }
        times.sort_unstable();
        times[times.len() * 99 / 100]
    };

    let (_, p99) = futures_util::future::join(load, health).await;

    let rate = f64::from(count.get()) / TIME.as_secs_f64();
    crate::measured(&format!("{rate:.0} negotiations in a second, p99 of another route {p99:?}"));
    p99
}
