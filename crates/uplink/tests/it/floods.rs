//! Floods of messages from a pod that reads no answers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::yield_now;

use crate::child::ChildServer;
use crate::echo_pod;
use crate::http::HttpClient;
use crate::raw_pod::{RawPod, description, record};
use crate::{alone, assert_latency};

const FLOOD: usize = 10_000;
const MAX_LATENCY: Duration = Duration::from_millis(100);
/// Maximum growth of the memory in use, in KiB.
const MAX_GROWTH: u64 = 24 * 1024;
const MAX_GROWTH_OF_VALUES: u64 = 128 * 1024;

/// Returns the time within which 99 of 100 calls of the echo tool were answered,
/// while `flood` goes on.
async fn p99_beside(server: &ChildServer, flood: impl Future<Output = ()>) -> Duration {
    let mut client = HttpClient::connect(server.address).await;
    let mut flood = std::pin::pin!(flood);
    let mut times = Vec::new();
    let mut is_over = false;
    while !is_over || times.len() < 200 {
        let started = Instant::now();
        let call = async {
            assert_eq!(client.get("/call?tool=echo&text=Hi").await, (200, "Hi".to_owned()));
        };
        let mut call = std::pin::pin!(call);
        tokio::select! {
            () = &mut flood, if !is_over => {
                is_over = true;
                call.await;
            }
            () = &mut call => {}
        }
        times.push(started.elapsed());
    }
    times.sort_unstable();
    let p99 = times[times.len() * 99 / 100];
    crate::measured(&format!(
        "{} calls, p99 {p99:?}, longest {:?}",
        times.len(),
        times[times.len() - 1]
    ));
    p99
}

/// Floods a server, whose other pods are not slower than they may be.
async fn flooded(name: &str, messages: impl Iterator<Item = Value>) {
    let messages: Vec<_> = messages.map(|it| record(&it)).collect();
    assert_latency(MAX_LATENCY, async || {
        let (p99, growth) = flooded_with(name, messages.clone()).await;
        assert!(growth < MAX_GROWTH, "{growth} KiB");
        p99
    })
    .await;
}

/// Floods a server. Returns the time of calls beside it, and the growth of the
/// server's memory in KiB.
async fn flooded_with(name: &str, messages: Vec<String>) -> (Duration, u64) {
    let server = ChildServer::start();
    echo_pod::start(server.address, 2, "echo").await;
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;
    let before = server.resident_kib();
    let flood = async {
        for message in messages {
            if pod.send_text(message).await.is_err() {
                return;
            }
            // The client shares this thread.
            yield_now().await;
        }
        // Its answer follows those of the flood, unless the connection has ended.
        let end = json!({ "type": 1, "invocationId": "end", "target": "", "arguments": [] });
        pod.send_text(record(&end)).await.ok();
        while let Some(message) = pod.next().await {
            if message["invocationId"] == "end" {
                return;
            }
        }
    };

    let p99 = p99_beside(&server, flood).await;

    let growth = server.peak_kib().saturating_sub(before);
    crate::measured(&format!("{name}: growth {growth} KiB"));
    (p99, growth)
}

#[actix_web::test]
async fn a_flood_of_pings_harms_no_other_pod() {
    flooded("pings", std::iter::repeat_n(json!({ "type": 6 }), FLOOD)).await;
}

#[actix_web::test]
async fn a_flood_of_hellos_harms_no_other_pod() {
    let hellos = (0..FLOOD).map(|number| {
        json!({
            "type": 1, "invocationId": number.to_string(), "target": "Hello",
            "arguments": [description("raw", 10)],
        })
    });
    flooded("hellos", hellos).await;
}

#[actix_web::test]
async fn a_flood_of_unknown_methods_harms_no_other_pod() {
    let calls = (0..FLOOD).map(|number| {
        json!({
            "type": 1, "invocationId": number.to_string(), "target": "Unknown",
            "arguments": ["x".repeat(200)],
        })
    });
    flooded("unknown methods", calls).await;
}

#[actix_web::test]
async fn a_flood_of_progress_harms_no_other_pod() {
    let report =
        json!({ "callId": "0199f0e0-0000-7000-8000-0000000000ff", "message": "x".repeat(200) });
    let reports = (0..FLOOD).map(|number| {
        json!({
            "type": 1, "invocationId": number.to_string(), "target": "Progress",
            "arguments": [report],
        })
    });
    flooded("progress", reports).await;
}

#[actix_web::test]
async fn a_flood_of_streams_harms_no_other_pod() {
    let streams = (0..FLOOD).map(|number| match number % 3 {
        0 => json!({ "type": 4, "invocationId": number.to_string(), "target": "Unknown", "arguments": [] }),
        1 => json!({ "type": 2, "invocationId": number.to_string(), "item": [1, 2, 3] }),
        _ => json!({ "type": 5, "invocationId": (number - 2).to_string() }),
    });
    flooded("streams", streams).await;
}

#[actix_web::test]
async fn a_flood_of_uploads_ends_the_connection() {
    let uploads = (0..FLOOD).map(|number| {
        json!({
            "type": 1, "target": "Hello", "arguments": [], "streamIds": [number.to_string()],
        })
    });
    flooded("uploads", uploads).await;
}

#[actix_web::test]
async fn a_flood_of_large_values_harms_no_other_pod() {
    // A frame is as long as permitted, and each message in it too.
    let arguments = vec![json!({ "": 0 }); 36_000];
    let call = json!({ "type": 1, "target": "Unknown", "arguments": arguments });
    let frame = record(&call).repeat(3);
    let _alone = alone().await;
    let (_, growth) = flooded_with("large values", vec![frame; 10]).await;

    assert!(growth < MAX_GROWTH_OF_VALUES, "{growth} KiB");
}
