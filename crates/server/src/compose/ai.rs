//! The AI use cases over their adapters.

use std::sync::Arc;

use pia_assistant::{Gateway, NoPersonas, NoRules, NoSearch, Unguarded};
use pia_http::AiApi;
use pia_kernel::{Clock, Live};
use pia_storage_assistant::SqlUsageLog;
use pia_upstream::{Limits, SetupError, Tls, TokioWaits, Upstream};
use pia_web::Metrics;
use tokio_util::sync::CancellationToken;

use super::ComposeError;
use crate::config::{Config, LiveConfig};

/// Makes the AI use cases of one worker, with connections of its own.
#[derive(Clone)]
pub struct AiFactory {
    gateway: Gateway,
    limits: Live<Limits>,
    tls: Tls,
}

impl AiFactory {
    /// The use cases of the worker that this is called on.
    pub fn on_worker(&self) -> Result<AiApi, SetupError> {
        let upstream = Arc::new(Upstream::new(self.limits.clone(), &self.tls)?);
        Ok(AiApi::new(Gateway { upstream, ..self.gateway.clone() }))
    }
}

impl AiFactory {
    pub(super) fn compose(
        config: &LiveConfig,
        usage: &SqlUsageLog,
        (stop, tls): (CancellationToken, Tls),
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ComposeError> {
        let limits = config.follow(|it| it.ai.limits.clone());
        // Entries are read once: what names them must find what it named.
        let started = config.latest();
        let catalogue =
            move |it: &Config| it.ai.catalogue.clone().with_entries_of(&started.ai.catalogue);
        let gateway = Gateway {
            // Of the main runtime; each worker puts its own in the place.
            upstream: Arc::new(Upstream::new(limits.clone(), &tls)?),
            usage: Arc::new(usage.clone()),
            waits: Arc::new(TokioWaits::new(stop)),
            clock: Arc::clone(clock),
            catalogue: config.follow(catalogue),
            settings: config.follow(|it| it.ai.settings.clone()),
            rules: Arc::new(NoRules),
            personas: Arc::new(NoPersonas),
            guardrail: Arc::new(Unguarded),
            search: Arc::new(NoSearch),
            keys: Arc::default(),
            attempts: Arc::default(),
        };
        Ok(Self { gateway, limits, tls })
    }
}

/// Counts what becomes of the usage that is written.
pub(super) fn count(metrics: &Metrics, usage: &SqlUsageLog) {
    let (written, waiting) = (usage.clone(), usage.clone());
    let (dropped, failures) = (usage.clone(), usage.clone());
    metrics.counter(
        "ai_usage_written",
        "AI calls whose usage is in the database",
        Box::new(move || written.written()),
    );
    metrics.gauge(
        "ai_usage_waiting",
        "AI calls whose usage waits for the database",
        Box::new(move || waiting.waiting()),
    );
    metrics.counter(
        "ai_usage_dropped",
        "AI calls whose usage was lost, the database being away for too long",
        Box::new(move || dropped.dropped()),
    );
    metrics.counter(
        "ai_usage_write_failures",
        "Times that usage could not be written and was tried again",
        Box::new(move || failures.failures()),
    );
}
