//! Model with scripted answers.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use pia_assignments::{
    SkillMode, StepError, StepExecutor, StepProgress, StepRequest, StepResponse,
};
use pia_kernel::{Unavailable, UserId};
use tokio::sync::Semaphore;

type Answer = dyn Fn(u32) -> Result<StepResponse, StepError> + Send + Sync;

/// Model that answers each call, numbered from 0, when it is permitted.
pub(crate) struct Script {
    answer: Box<Answer>,
    permits: Semaphore,
    called: AtomicU32,
}

impl Script {
    pub(crate) fn new(
        permits: usize,
        answer: impl Fn(u32) -> Result<StepResponse, StepError> + Send + Sync + 'static,
    ) -> Self {
        let permits = Semaphore::new(permits);
        Self { answer: Box::new(answer), permits, called: AtomicU32::new(0) }
    }

    /// Creates a model that answers at once.
    pub(crate) fn answering() -> Self {
        Self::new(Semaphore::MAX_PERMITS, |_| Ok(response()))
    }

    /// Creates a model that answers when [`Script::permit`] is called.
    pub(crate) fn silent() -> Self {
        Self::new(0, |_| Ok(response()))
    }

    pub(crate) fn permit(&self, calls: usize) {
        self.permits.add_permits(calls);
    }

    /// Returns the number of calls.
    pub(crate) fn called(&self) -> u32 {
        self.called.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl StepExecutor for Script {
    async fn tools(
        &self,
        _user: UserId,
        _mode: SkillMode,
    ) -> Result<Option<Vec<String>>, Unavailable> {
        Ok(Some(Vec::new()))
    }

    async fn execute(
        &self,
        _request: StepRequest,
        _progress: StepProgress,
    ) -> Result<StepResponse, StepError> {
        let call = self.called.fetch_add(1, Ordering::SeqCst);
        self.permits.acquire().await.unwrap().forget();
        (self.answer)(call)
    }
}

/// Returns an answer with ten tokens.
pub(crate) fn response() -> StepResponse {
    StepResponse {
        text: Some("Findings".to_owned()),
        raw: "{}".to_owned(),
        tokens: 10,
        tool_calls: Vec::new(),
    }
}
