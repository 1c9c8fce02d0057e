//! Round: calls of a pod on one instance, and from another one.

use std::future::pending;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use futures_util::{SinkExt as _, StreamExt as _};
use pia_identity::DEFAULT_GROUP;
use pia_kernel::{SideEffects, UserId};
use pia_pods::{
    CallRecord, CallTarget, ConnectedPod, PodCall, PodCallOutcome, ProgressSink, ToolCaller,
    ToolPlane,
};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use super::Plan;
use super::figures::Metric;
use super::instance::{Instance, MAX_CONCURRENT_CALLS};
use crate::answer::Response;
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::stats::{count, percentile};

const ARGUMENTS: &str = r#"{"text":"Hello!"}"#;
/// Time for the pod to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct Round<'a> {
    pub(super) plan: Plan,
    pub(super) runtime: &'a Runtime,
    pub(super) instance: &'a Instance,
    /// Another instance, on the same database.
    pub(super) other: Option<&'a Instance>,
}

impl Round<'_> {
    /// Waits until the pod can be called.
    pub(super) fn until_ready(&self) -> Outcome<()> {
        let start = Instant::now();
        for instance in [Some(self.instance), self.other].into_iter().flatten() {
            while let Err(err) = self.runtime.block_on(call(&instance.plane)) {
                if start.elapsed() > CONNECT_TIMEOUT {
                    return Err(err);
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    pub(super) fn run(&self, mut record: impl FnMut(Metric, f64)) -> Outcome<()> {
        let raw = self.raw_echo()?;
        record(Metric::RawEcho, raw);
        let pod = self.pod()?;
        let plane = &self.instance.plane;
        record(Metric::Record, self.p50(|| record_call(self.instance, &pod))?);
        record(Metric::Link, self.p50(|| linked(plane, &pod))?);
        let called = self.p50(|| call(plane))?;
        record(Metric::Call, called);
        record(Metric::CallOverRaw, called - raw);

        let read = self.p50(async || {
            self.instance.granted.invalidate();
            call(plane).await
        })?;

        record(Metric::ReadCall, read);
        let start = Instant::now();
        let each = self.plan.requests / MAX_CONCURRENT_CALLS;
        self.runtime.block_on(try_join_all((0..MAX_CONCURRENT_CALLS).map(|_| async {
            for _ in 0..each {
                call(plane).await?;
            }
            Outcome::Ok(())
        })))?;
        record(Metric::Calls, count(each * MAX_CONCURRENT_CALLS) / start.elapsed().as_secs_f64());

        if let Some(other) = self.other {
            record(Metric::Across, self.p50(|| call(&other.plane))?);
            record(Metric::Direct, self.direct(&pod)?);
        }

        Ok(())
    }

    fn pod(&self) -> Outcome<ConnectedPod> {
        let plane = &self.instance.plane;
        let connected = plane.registry.list_connected(None, plane.clock.now());
        self.runtime.block_on(connected)?.pop().ok_or_else(|| "no pod".into())
    }

    /// Returns the median of the times of requests in milliseconds, one after the
    /// other.
    fn p50(&self, request: impl AsyncFn() -> Outcome<()>) -> Outcome<f64> {
        let times = (0..self.plan.requests).map(|_| {
            let start = Instant::now();
            self.runtime.block_on(request())?;
            Ok(start.elapsed().as_secs_f64() * 1e3)
        });
        median(&times.collect::<Outcome<Vec<_>>>()?)
    }

    fn raw_echo(&self) -> Outcome<f64> {
        let url = format!("ws://{}/echo", self.instance.address);
        let times = self.runtime.block_on(async {
            let (mut socket, _) = connect_async(url).await?;
            let mut times = Vec::new();
            for _ in 0..self.plan.requests {
                let start = Instant::now();
                socket.send(Message::text(ARGUMENTS)).await?;
                let echoed = socket.next().await.ok_or("the echo was closed")??;
                times.push(start.elapsed().as_secs_f64() * 1e3);
                if echoed != Message::text(ARGUMENTS) {
                    return Err("the echo is another text".into());
                }
            }

            Outcome::Ok(times)
        });

        median(&times?)
    }

    fn direct(&self, pod: &ConnectedPod) -> Outcome<f64> {
        let body = json!([pod.id.0, echo_call()]).to_string();
        let address = self.instance.address;
        let request = format!(
            "POST /direct HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );

        let mut connection = Connection::open(address)?;
        let times = (0..self.plan.requests).map(|_| {
            let start = Instant::now();
            let Response { status, .. } = connection.exchange(request.as_bytes())?;
            match status {
                200 => Ok(start.elapsed().as_secs_f64() * 1e3),
                other => Err(format!("a direct call was answered with {other}").into()),
            }
        });

        median(&times.collect::<Outcome<Vec<_>>>()?)
    }
}

fn median(times: &[f64]) -> Outcome<f64> {
    percentile(times, 0.5).ok_or_else(|| "no requests".into())
}

fn echo_call() -> PodCall {
    let arguments = json!({ "text": "Hello!" });
    let target = CallTarget::Tool { name: "echo".to_owned(), arguments };
    PodCall { target, timeout: Duration::from_secs(30) }
}

/// Calls the tool as a chat does.
async fn call(plane: &ToolPlane) -> Outcome<()> {
    let caller = ToolCaller { user: UserId::generate(), group: DEFAULT_GROUP };
    let reply = plane.call(caller, "echo", ARGUMENTS, pending()).await?;
    if reply.into_text() == ARGUMENTS { Ok(()) } else { Err("another reply".into()) }
}

async fn linked(plane: &ToolPlane, pod: &ConnectedPod) -> Outcome<()> {
    plane.link.call(pod.id, echo_call(), ProgressSink::default()).await?;
    Ok(())
}

async fn record_call(instance: &Instance, pod: &ConnectedPod) -> Outcome<()> {
    let plane = &instance.plane;
    let record = CallRecord { pod: pod.id, outcome: PodCallOutcome::Completed, milliseconds: 1 };
    let object = format!("connector:{}", pod.connector);
    let user = Some(UserId::generate());
    let effects = SideEffects::of_object(plane.clock.now(), user, object, "Pod.ToolCalled");
    plane.registry.record(record, effects).await;
    instance.until_recorded().await;
    Ok(())
}
