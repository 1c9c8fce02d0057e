//! Links to pods. `LocalLinks` of `uplink` reaches the pods of one instance;
//! `PodRelay` of `storage-pods` is built over it and reaches those of all.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::connected_pod::PodId;
use crate::error::ToolCallError;

/// Links to pods.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PodLink: Send + Sync {
    /// Returns whether no pod is connected.
    fn is_idle(&self) -> bool;

    /// Returns the pods that are connected to this instance.
    fn pods(&self) -> Vec<PodId>;

    /// Returns whether a pod is connected to this instance.
    fn holds(&self, pod: PodId) -> bool;

    /// Returns whether a pod can be called, as far as this instance knows.
    fn is_linked(&self, pod: PodId) -> bool;

    /// Calls a pod, whose progress is reported meanwhile. If the caller goes away, the pod is
    /// told to cancel the call.
    async fn call(
        &self,
        pod: PodId,
        call: PodCall,
        progress: ProgressSink,
    ) -> Result<PodReply, ToolCallError>;
}

/// Recipient of the progress of a call; the default one discards it.
#[derive(Clone)]
pub struct ProgressSink(Arc<dyn Fn(String) + Send + Sync>);

impl ProgressSink {
    /// Creates a recipient that handles each report, a sentence for a person. It must not
    /// wait.
    pub fn new(handle: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handle))
    }

    /// Passes on a report.
    pub fn report(&self, progress: String) {
        (self.0)(progress);
    }
}

impl Default for ProgressSink {
    fn default() -> Self {
        Self::new(drop)
    }
}

/// Call of a pod.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodCall {
    /// Tool or skill.
    pub target: CallTarget,
    /// Time after which the call fails as timed out.
    pub timeout: Duration,
}

/// Tool or skill that is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CallTarget {
    /// Tool of the pod.
    Tool {
        /// Name of the tool.
        name: String,
        /// Arguments, an object.
        arguments: Value,
    },
    /// Skill of the pod.
    Skill {
        /// Name of the skill.
        name: String,
        /// Request and its material.
        material: String,
    },
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodReply {
    /// Text, or another value, which models read as JSON.
    pub content: Value,
    /// True if the pod says that it failed.
    pub is_error: bool,
}

impl PodReply {
    /// Returns the name of the outcome in the audit log.
    pub fn outcome(&self) -> &'static str {
        if self.is_error { "failed" } else { "completed" }
    }

    /// Returns the content as models read it.
    pub fn into_text(self) -> String {
        match self.content {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }
}
