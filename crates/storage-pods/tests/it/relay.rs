//! Tests of the relay of calls between instances, which share a PostgreSQL.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::{Either, select};
use pia_kernel::{Clock as _, SystemClock};
use pia_pods::{
    CallTarget, ConnectedPod, PodCall, PodId, PodLink, PodRegistry, PodReply, ProgressSink,
    ToolCallError,
};
use pia_storage::schema::pod_calls;
use pia_storage::{Database, on_conn};
use pia_storage_pods::{PodRelay, SqlPodRegistry};
use pia_testkit::databases::TestDatabase;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::connectors::{at, create_connector};
use crate::registry::pod;

/// Pods of an instance, which echo arguments, or never answer.
struct Pods {
    ids: Vec<PodId>,
    cancelled: UnboundedSender<()>,
}

/// Reports that a call was cancelled.
struct ReportOnDrop(UnboundedSender<()>);

impl Drop for ReportOnDrop {
    fn drop(&mut self) {
        self.0.send(()).ok();
    }
}

#[async_trait]
impl PodLink for Pods {
    fn is_idle(&self) -> bool {
        self.ids.is_empty()
    }

    fn pods(&self) -> Vec<PodId> {
        self.ids.clone()
    }

    fn holds(&self, pod: PodId) -> bool {
        self.ids.contains(&pod)
    }

    fn is_linked(&self, pod: PodId) -> bool {
        self.holds(pod)
    }

    async fn call(
        &self,
        _: PodId,
        call: PodCall,
        progress: ProgressSink,
    ) -> Result<PodReply, ToolCallError> {
        let CallTarget::Tool { name, arguments } = call.target else {
            return Err(ToolCallError::Failed);
        };
        if name == "echo" {
            return Ok(PodReply { content: arguments, is_error: false });
        }
        let _report = ReportOnDrop(self.cancelled.clone());
        progress.report("Halfway.".to_owned());
        pending().await
    }
}

fn call(tool: &str) -> PodCall {
    let target = CallTarget::Tool { name: tool.to_owned(), arguments: json!({ "a": 1 }) };
    PodCall { target, timeout: Duration::from_secs(30) }
}

/// Starts the relay of an instance.
fn relay(db: &Database, pods: Vec<PodId>) -> (Arc<PodRelay>, UnboundedReceiver<()>) {
    let (cancelled, reports) = unbounded_channel();
    let local = Arc::new(Pods { ids: pods, cancelled });
    (Arc::new(PodRelay::new(db.clone(), local, Arc::new(SystemClock))), reports)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_reaches_the_pod_of_another_instance_and_ends_with_its_caller() {
    let fresh = TestDatabase::postgres().await;
    let first_db = fresh.connect().await;
    let second_db = fresh.connect().await;
    let alive_until = SystemClock.now() + Duration::from_mins(1);
    let pod =
        ConnectedPod { alive_until, ..pod(create_connector(&first_db, "Weather", 1).await, 1) };
    let registry = SqlPodRegistry::new(first_db.clone(), TaskTracker::new());
    registry.put(pod.clone(), at(1)).await.expect("a database");
    let (calling, _) = relay(&first_db, Vec::new());
    let (answering, mut cancelled) = relay(&second_db, vec![pod.id]);
    let mut tasks = JoinSet::new();
    for relay in [&calling, &answering] {
        let relay = Arc::clone(relay);
        tasks.spawn(async move { relay.run().await });
    }

    let reply = calling.call(pod.id, call("echo"), ProgressSink::default()).await;
    assert_eq!(reply.map(PodReply::into_text), Ok(r#"{"a":1}"#.to_owned()));

    // The caller goes away in the middle of the call.
    let (sender, mut progress) = watch::channel(String::new());
    let sink = ProgressSink::new(move |it| drop(sender.send_replace(it)));
    let waiting = calling.call(pod.id, call("never"), sink);
    let reported = timeout(Duration::from_secs(5), progress.changed());
    let Either::Right((reported, _)) = select(waiting, pin!(reported)).await else {
        panic!("the call has ended")
    };
    reported.expect("a report").expect("a call");
    assert_eq!(*progress.borrow(), "Halfway.");
    timeout(Duration::from_secs(5), cancelled.recv()).await.expect("cancelled").expect("a report");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_claim_is_lost_is_not_begun_again() {
    let fresh = TestDatabase::postgres().await;
    let first_db = fresh.connect().await;
    let second_db = fresh.connect().await;
    let alive_until = SystemClock.now() + Duration::from_mins(1);
    let pod =
        ConnectedPod { alive_until, ..pod(create_connector(&first_db, "Weather", 1).await, 1) };
    let registry = SqlPodRegistry::new(first_db.clone(), TaskTracker::new());
    registry.put(pod.clone(), at(1)).await.expect("a database");
    let (calling, _) = relay(&first_db, Vec::new());
    let (answering, mut cancelled) = relay(&second_db, vec![pod.id]);
    let mut tasks = JoinSet::new();
    for relay in [&calling, &answering] {
        let relay = Arc::clone(relay);
        tasks.spawn(async move { relay.run().await });
    }
    let caller = Arc::clone(&calling);
    let waiting = tasks.spawn(async move {
        drop(caller.call(pod.id, call("never"), ProgressSink::default()).await);
    });
    let claimed = async |is_claimed: bool| {
        let calls = pod_calls::table.filter(pod_calls::is_claimed.eq(is_claimed)).count();
        while on_conn!(first_db.reader(), |conn| calls.get_result::<i64>(conn).await?).unwrap() == 0
        {
            yield_now().await;
        }
    };
    claimed(true).await;

    // PostgreSQL crashes before the claim is on the disk.
    let lose = diesel::update(pod_calls::table).set(pod_calls::is_claimed.eq(false));
    on_conn!(first_db.writer(), |conn| lose.execute(conn).await?).unwrap();
    claimed(true).await;
    assert_eq!(
        calling.call(pod.id, call("echo"), ProgressSink::default()).await.map(|it| it.is_error),
        Ok(false)
    );
    waiting.abort();

    timeout(Duration::from_secs(5), cancelled.recv()).await.expect("cancelled").expect("a report");
    drop((calling, answering));
    tasks.shutdown().await;
    assert!(cancelled.recv().await.is_none(), "begun twice");
}
