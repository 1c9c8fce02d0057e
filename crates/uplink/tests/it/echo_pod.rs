//! Pod that behaves well.

use std::net::SocketAddr;

use actix_web::rt;
use serde_json::json;

use crate::raw_pod::{RawPod, completion};

/// Connects a pod with a tool that returns the text of its arguments. It runs
/// beside the test.
pub(crate) async fn start(address: SocketAddr, number: u32, tool: &str) {
    let mut pod = RawPod::connect(address, number, tool, 10).await;
    rt::spawn(async move {
        loop {
            let Some(mut message) = pod.next().await else { return };
            if message["target"] != "Call" {
                continue;
            }
            let id = message["invocationId"].as_str().unwrap().to_owned();
            let text = message["arguments"][0]["arguments"]["text"].take();
            pod.send(&completion(&id, &json!({ "content": text }))).await;
        }
    });
}
