//! Memory of pods that are connected and not called.

use futures_util::future::join_all;
use serde_json::json;

use crate::child::ChildServer;
use crate::raw_pod::{RawPod, completion};

/// Maximum memory of a connection, in bytes.
const MAX_BYTES: u64 = 30 * 1024;
/// Maximum memory of a connection that had a long result: that of a read buffer of
/// the server for HTTP.
const MAX_BYTES_AFTER_RESULT: u64 = 300 * 1024;
const PODS: u64 = 1000;

async fn connected(server: &ChildServer, count: u64, tool: &str) -> Vec<RawPod> {
    let mut pods = Vec::new();
    for _ in 0..count / 20 {
        let some = (0..20).map(|number| RawPod::connect(server.address, number, tool, 10));
        pods.extend(join_all(some).await);
    }
    pods
}

#[actix_web::test]
async fn a_thousand_idle_pods_take_little_memory() {
    let _alone = crate::alone().await;
    let server = ChildServer::start();
    let warm = connected(&server, 100, "warm").await;
    let before = server.resident_kib();

    let pods = connected(&server, PODS, "idle").await;

    let each = (server.resident_kib() - before) * 1024 / PODS;
    crate::measured(&format!("memory of an idle pod: {each} bytes"));
    assert!(each <= MAX_BYTES, "{each} bytes for each pod");
    drop((warm, pods));
}

#[actix_web::test]
async fn a_result_takes_little_memory_once_it_was_read() {
    let _alone = crate::alone().await;
    let server = ChildServer::start();
    let mut pods = connected(&server, 100, "idle").await;
    let before = server.resident_kib();
    let text = "x".repeat(199 * 1024);
    for pod in &mut pods {
        pod.send(&completion("s1", &json!({ "content": text }))).await;
        // The server has read it, and this message too.
        for id in ["one", "two"] {
            pod.invoke(id, "Nothing", Vec::new()).await;
            pod.completion_of(id).await;
        }
    }
    let each = (server.resident_kib() - before) * 1024 / 100;
    crate::measured(&format!("memory of a pod after a long result: {each} bytes"));

    assert!(each <= MAX_BYTES_AFTER_RESULT, "{each} bytes for each pod");
}
