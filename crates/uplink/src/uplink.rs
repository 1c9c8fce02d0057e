//! Services of the hub, and the table of its connections. `endpoint.rs` attaches
//! each WebSocket by `Connections::attach`; the table is of this instance, so
//! that a pod can resume only here.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pia_kernel::Clock;
use pia_pods::{Connectors, PodIdentity, PodRegistry};
use pia_web::Runner;
use tokio::sync::mpsc::UnboundedSender;

use crate::input::Input;
use crate::links::LocalLinks;

/// Services of the hub.
#[derive(Clone)]
pub struct Uplink {
    /// Connectors, whose tokens pods present.
    pub connectors: Connectors,
    /// Registry of connected pods.
    pub registry: Arc<dyn PodRegistry>,
    /// Links to the pods of this instance.
    pub links: Arc<LocalLinks>,
    /// Name of this machine.
    pub host: Arc<str>,
    /// Clock of the times that the registry of pods records.
    pub clock: Arc<dyn Clock>,
    /// Runner of use cases.
    pub runner: Runner,
}

/// Connections of this instance, by their tokens: a pod whose WebSocket was lost
/// may resume its connection with another one.
#[derive(Default)]
pub struct Connections(Mutex<HashMap<String, Owner>>);

/// Task that owns a connection.
pub(crate) struct Owner {
    pub(crate) identity: PodIdentity,
    pub(crate) inputs: UnboundedSender<Input>,
    /// Number of WebSockets that it has had, which is that of the present one.
    pub(crate) transports: u32,
}

impl Connections {
    /// Lets pods connect to another instance, once their calls have ended.
    pub fn stop(&self) {
        for owner in self.0.lock().values() {
            owner.inputs.send(Input::Stopping).ok();
        }
    }

    /// Returns the next number and the inputs of a connection that a pod resumes, or
    /// those of a new one. `None` if the connection is another pod's.
    pub(crate) fn attach(
        &self,
        token: String,
        identity: PodIdentity,
        spawn: impl FnOnce() -> UnboundedSender<Input>,
    ) -> Option<(u32, UnboundedSender<Input>)> {
        let mut owners = self.0.lock();
        owners.retain(|_, it| !it.inputs.is_closed());

        let owner = owners.entry(token).or_insert_with(|| Owner {
            identity,
            inputs: spawn(),
            transports: 0,
        });

        // The token may have been replaced since.
        if owner.identity.connector != identity.connector {
            return None;
        }

        owner.transports += 1;

        Some((owner.transports, owner.inputs.clone()))
    }
}
