//! Worker at a task queue. `work` repeats `poll` until it is stopped; `poll` runs
//! the SDK's worker on a thread of its own. A stop ends polling at once and waits
//! for steps in progress for at most `FINISH_TIMEOUT`.

use std::thread;
use std::time::Duration;

use pia_assignments::{Runs, WorkerId};
use temporalio_client::Client;
use temporalio_common::worker::WorkerDeploymentOptions;
use temporalio_sdk::runtime::RuntimeOptions;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::engine::TemporalEngine;
use crate::steps::{HEARTBEAT_INTERVAL, Steps};
use crate::workflow::AssignmentWorkflow;

/// Delay before the next attempt to connect.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of workflow tasks that are processed at once.
const WORKFLOW_SLOTS: usize = 100;
/// Time after which a worker that has cached a workflow is no longer preferred for
/// it.
const STICKY_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum time for running steps to end when the worker is stopped; the server
/// waits for ten seconds.
const FINISH_TIMEOUT: Duration = Duration::from_secs(8);
/// Name of the thread that decides on workflows.
const THREAD_NAME: &str = "temporal-worker";

type WorkError = Box<dyn std::error::Error + Send + Sync>;

/// Worker that executes the steps that workflows schedule. Every instance has one.
pub struct TemporalWorker {
    /// Engine whose task queue is polled.
    pub engine: TemporalEngine,
    /// Runs that are advanced.
    pub runs: Runs,
    /// Id under which runs are claimed.
    pub id: WorkerId,
    /// Maximum number of steps at once.
    pub concurrency: usize,
}

impl TemporalWorker {
    /// Works until stopped, and until running steps have ended then. The server
    /// may be unavailable for any time.
    pub async fn work(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            match self.poll(stop).await {
                Ok(()) if stop.is_cancelled() => return,
                Ok(()) => tracing::warn!("the worker at the workflow server ended"),
                Err(err) => tracing::warn!(error = %err, "the workflow server cannot be polled"),
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(RETRY_DELAY) => {}
            }
        }
    }

    async fn poll(&self, stop: &CancellationToken) -> Result<(), WorkError> {
        // A client whose worker ended abnormally refuses another one.
        let client = self.engine.connection.connect().await?;
        let options = self.options()?;
        let stop = stop.clone();
        let runtime = Handle::current();
        let (sender, ended) = oneshot::channel();
        // The SDK's worker must stay on one thread; steps run on all. A thread
        // of the runtime would keep the process from ending before its steps.
        let work = move || sender.send(runtime.block_on(poll(client, options, stop)));
        thread::Builder::new().name(THREAD_NAME.to_owned()).spawn(work)?;
        ended.await?
    }

    fn options(&self) -> Result<WorkerOptions, WorkError> {
        let slots = FixedSizeSlotSupplier::new;
        let tuner = TunerHolder::builder()
            .workflow_task_slot_supplier(slots(WORKFLOW_SLOTS))
            .activity_task_slot_supplier(slots(self.concurrency))
            .local_activity_task_slot_supplier(slots(1))
            .nexus_task_slot_supplier(slots(1))
            .build();

        let version = WorkerDeploymentOptions::from_build_id(env!("CARGO_PKG_VERSION").to_owned());
        let options = WorkerOptions::new(&self.engine.connection.task_queue)
            .register_activities(Steps::new(self.runs.clone(), self.id))
            .register_workflow::<AssignmentWorkflow>()?
            .client_identity_override(self.id.0.to_string())
            .deployment_options(version)
            .tuner(tuner)
            .max_heartbeat_throttle_interval(HEARTBEAT_INTERVAL)
            .sticky_queue_schedule_to_start_timeout(STICKY_TIMEOUT)
            .build();

        Ok(options)
    }
}

async fn poll(
    client: Client,
    options: WorkerOptions,
    stop: CancellationToken,
) -> Result<(), WorkError> {
    let runtime_options = RuntimeOptions::builder().heartbeat_interval(None).build()?;
    let runtime = Runtime::from_current_tokio(runtime_options)?;
    let mut worker = Worker::new(&runtime, client, options)?;
    let shut_down = worker.shutdown_handle();
    let mut work = Box::pin(worker.run());
    tokio::select! {
        outcome = &mut work => return Ok(outcome?),
        () = stop.cancelled() => shut_down(),
    }
    // Steps that take longer go on until the process ends.
    timeout(FINISH_TIMEOUT, work).await.map_or(Ok(()), |outcome| Ok(outcome?))
}
