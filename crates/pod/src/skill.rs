//! Skills that a pod runs.

use async_trait::async_trait;
use serde_json::Value;

use crate::call_context::CallContext;

/// Skill that assignments of its operator run.
#[async_trait]
pub trait PodSkill: Send + Sync + 'static {
    /// Returns the name: letters, digits, hyphens, underscores and dots, at
    /// most 100.
    fn name(&self) -> &str;

    /// Returns the time limit of a run in seconds, from 1 to 86,400; `None` for that
    /// of the assignment.
    fn timeout_seconds(&self) -> Option<u32> {
        None
    }

    /// Runs the skill with the material of an assignment. The value becomes the
    /// result of the assignment, the error the reason why it has none. The user sees
    /// the progress that it reports, one report in ten seconds at most.
    async fn run(&self, material: String, context: CallContext) -> Result<Value, String>;
}
