//! Progress that pods report.

use std::time::Duration;

use pia_pods::{CallTarget, PodCall, PodLink, ProgressSink};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::raw_pod::{RawPod, completion};
use crate::server::Server;

/// Returns the report of a call, which expects no reply.
fn report(call_id: &Value, message: &str) -> Value {
    let report = json!({ "callId": call_id, "message": message });
    json!({ "type": 1, "target": "Progress", "arguments": [report] })
}

#[actix_web::test]
async fn the_caller_gets_what_a_pod_reports_of_its_call() {
    let server = Server::start();
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;
    let id = server.links.pods()[0];
    let (sender, mut progress) = watch::channel(String::new());
    let sink = ProgressSink::new(move |it| drop(sender.send_replace(it)));
    let target = CallTarget::Tool { name: "raw".to_owned(), arguments: json!({}) };
    let call = server.links.call(id, PodCall { target, timeout: Duration::from_secs(10) }, sink);
    let answering = async {
        let (invocation, request) = pod.called().await;
        let own = &request["callId"];
        pod.send(&report(&json!("0199f0e0-0000-7000-8000-0000000000ff"), "another")).await;
        pod.send(&report(own, &"x".repeat(1000))).await;
        progress.changed().await.unwrap();
        assert_eq!(progress.borrow_and_update().len(), 500);

        // One that expects a reply gets it, whatever it reports.
        let last = json!({ "callId": own, "message": "Nearly done." });
        pod.invoke("last", "Progress", vec![last]).await;
        assert_eq!(pod.completion_of("last").await["error"], Value::Null);
        assert_eq!(*progress.borrow_and_update(), "Nearly done.");
        for (number, other) in [json!(null), json!({ "callId": 1, "message": "" }), json!("text")]
            .into_iter()
            .enumerate()
        {
            pod.invoke(&number.to_string(), "Progress", vec![other]).await;
            assert!(pod.completion_of(&number.to_string()).await["error"].is_string());
        }
        pod.send(&completion(&invocation, &json!({ "content": "done" }))).await;
    };

    let (reply, ()) = futures_util::future::join(call, answering).await;

    assert_eq!(reply.unwrap().into_text(), "done");
    // Nobody reports any more.
    assert!(progress.changed().await.is_err());
}
