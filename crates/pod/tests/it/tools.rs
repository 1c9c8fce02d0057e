//! Tools of the tests.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pia_pod::{CallContext, Tool, ToolDescription};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// Tool that returns its arguments, or fails as they want.
pub(crate) struct Echo;

#[async_trait]
impl Tool for Echo {
    fn description(&self) -> ToolDescription {
        let parameters = json!({ "type": "object" });
        ToolDescription {
            output_schema: Some(parameters.clone()),
            idempotent: true,
            ..ToolDescription::new("echo", "Echoes.", parameters)
        }
    }

    async fn call(&self, arguments: Value, _: CallContext) -> Result<Value, String> {
        match arguments["fail"].as_str() {
            Some("error") => Err("it failed".to_owned()),
            Some("panic") => panic!("it panicked"),
            Some("large") => Ok("x".repeat(300_000).into()),
            _ => Ok(arguments),
        }
    }
}

/// Tool whose calls end when the test opens its gate or when they are cancelled.
pub(crate) struct Gated {
    gate: Arc<Semaphore>,
    events: UnboundedSender<&'static str>,
}

/// Handle of the test.
pub(crate) struct Gate {
    gate: Arc<Semaphore>,
    events: UnboundedReceiver<&'static str>,
}

impl Gated {
    pub(crate) fn new() -> (Self, Gate) {
        let gate = Arc::new(Semaphore::new(0));
        let (sender, events) = unbounded_channel();
        (Self { gate: Arc::clone(&gate), events: sender }, Gate { gate, events })
    }
}

impl Gate {
    /// Lets one call end.
    pub(crate) fn open(&self) {
        self.gate.add_permits(1);
    }

    /// Waits for the next event of a call.
    pub(crate) async fn next(&mut self) -> &'static str {
        let next = timeout(Duration::from_secs(20), self.events.recv()).await;
        next.expect("an event within twenty seconds").expect("a tool")
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.events.is_empty()
    }
}

/// Event of a call that is dropped before it ends.
struct ReportDrop<'a>(&'a Gated);

impl Drop for ReportDrop<'_> {
    fn drop(&mut self) {
        self.0.events.send("dropped").ok();
    }
}

#[async_trait]
impl Tool for Gated {
    fn description(&self) -> ToolDescription {
        ToolDescription::new("gated", "Waits.", json!({ "type": "object" }))
    }

    async fn call(&self, arguments: Value, context: CallContext) -> Result<Value, String> {
        self.events.send("started").ok();
        if arguments["stubborn"] == true {
            let _report = ReportDrop(self);
            return pending().await;
        }
        tokio::select! {
            permit = self.gate.acquire() => permit.expect("an open semaphore").forget(),
            () = context.cancelled.cancelled() => {
                self.events.send("cancelled").ok();
                return Err("it was cancelled".to_owned());
            }
        }
        Ok("done".into())
    }
}
