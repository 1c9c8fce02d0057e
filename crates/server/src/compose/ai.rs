//! The AI use cases over their adapters.
//!
//! `compose` builds one `Gateway` on the main runtime, for background work;
//! `set_knowledge` and `set_connectors` complete it, as those parts need the gateway
//! themselves. `on_worker` then clones it for each worker with an HTTP client of the
//! worker's own.

use std::sync::Arc;

use pia_assistant::{
    ConnectorTools, CreditSettings, Credits, Gateway, Knowledge, NoConnectorTools, NoGuardrail,
    NoKnowledge, Rules, Settings, TokenCounter, UpstreamLimiter,
};
use pia_http::AiApi;
use pia_kernel::LiveSetting;
use pia_policy::ManagedPersonas;
use pia_settings::{Config, LiveConfig};
use pia_storage_assistant::{Counts, SqlCreditStore};
use pia_upstream::{
    MaxTokensSupport, O200k, SamplingSupport, Tls, TokioTimer, Upstream, UpstreamLimits,
    UpstreamSetupError,
};
use pia_web::Metrics;
use tokio_util::sync::CancellationToken;

use super::ComposeError;
use super::infrastructure::Infrastructure;
use crate::bridges::PolicyPersonas;

/// Factory of a worker's AI use cases, which have their own connections.
#[derive(Clone)]
pub struct AiFactory {
    gateway: Gateway,
    limits: LiveSetting<UpstreamLimits>,
    tls: Tls,
    max_tokens: Arc<MaxTokensSupport>,
    sampling: Arc<SamplingSupport>,
}

impl AiFactory {
    /// Creates the use cases of the current worker.
    pub fn on_worker(&self) -> Result<AiApi, UpstreamSetupError> {
        let upstream = Arc::new(
            Upstream::new(self.limits.clone(), &self.tls)?
                .with_max_tokens_support(Arc::clone(&self.max_tokens))
                .with_sampling(Arc::clone(&self.sampling)),
        );
        let search = Arc::<Upstream>::clone(&upstream);
        Ok(AiApi::new(Gateway { upstream, search, ..self.gateway.clone() }))
    }

    /// Returns the gateway of the main runtime.
    pub(super) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Returns the budgets that calls are admitted against.
    pub(super) fn credits(&self) -> Credits {
        let Gateway { rules, credit_store, credits, clock, .. } = &self.gateway;
        Credits::new(
            Arc::clone(rules),
            Arc::clone(credit_store),
            credits.clone(),
            Arc::clone(clock),
        )
    }

    /// Sets the knowledge bases that chats are answered from.
    pub(super) fn set_knowledge(&mut self, knowledge: Arc<dyn Knowledge>) {
        self.gateway.knowledge = knowledge;
    }

    /// Sets the connectors whose tools chats may call.
    pub(super) fn set_connectors(&mut self, connectors: Arc<dyn ConnectorTools>) {
        self.gateway.connectors = connectors;
    }

    pub(super) fn compose(
        base: &Infrastructure<'_>,
        credit_store: &SqlCreditStore,
        rules: &Arc<dyn Rules>,
        personas: ManagedPersonas,
        stop: CancellationToken,
    ) -> Result<Self, ComposeError> {
        let config = base.config;
        let tls = base.tls.clone();
        let limits = config.follow(|it| it.ai.limits.clone());
        // Entries are read once, so that references to them stay valid.
        let started = config.latest();
        let question_model = started.knowledge.question_model.clone();
        let catalogue =
            move |it: &Config| it.ai.catalogue.clone().with_entries_of(&started.ai.catalogue);
        // Used on the main runtime; each worker replaces it by its own.
        let upstream = Arc::new(Upstream::new(limits.clone(), &tls)?);
        let gateway = Gateway {
            search: Arc::<Upstream>::clone(&upstream),
            upstream,
            usage: Arc::new(credit_store.clone()),
            timer: Arc::new(TokioTimer::new(stop)),
            clock: base.clock(),
            catalogue: config.follow(catalogue),
            settings: config
                .follow(|it| Settings { knowledge: it.knowledge.mode, ..it.ai.settings.clone() }),
            rules: Arc::clone(rules),
            credit_store: Arc::new(credit_store.clone()),
            credits: credit_settings(config),
            tokens: Arc::new(O200k::default()) as Arc<dyn TokenCounter>,
            personas: Arc::new(PolicyPersonas(personas)),
            knowledge: Arc::new(NoKnowledge),
            connectors: Arc::new(NoConnectorTools),
            question_model,
            guardrail: Arc::new(NoGuardrail),
            keys: Arc::default(),
            upstream_limiter: Arc::new(UpstreamLimiter::shared_by(credit_store.instances())),
            attempts: Arc::default(),
        };

        Ok(Self { gateway, limits, tls, max_tokens: Arc::default(), sampling: Arc::default() })
    }

    /// Registers the metrics of calls, admissions and usage.
    pub(super) fn register_metrics(&self, metrics: &Metrics, credit_store: &SqlCreditStore) {
        register_usage_metrics(metrics, credit_store);
        register_admission_metrics(metrics, credit_store);
        let attempts = Arc::clone(&self.gateway.attempts);
        metrics.counters(
            "ai_attempts",
            "Attempts to have an AI call answered, by catalogue entry and outcome",
            Box::new(move || {
                let mut samples = Vec::new();
                for (entry, entry_attempts) in attempts.by_entry() {
                    for (outcome, count) in entry_attempts.counts {
                        let outcome_name = outcome.name().to_owned();
                        let labels = vec![("entry", entry.clone()), ("outcome", outcome_name)];
                        samples.push((labels, count));
                    }
                }
                samples
            }),
        );

        let limiter = Arc::clone(&self.gateway.upstream_limiter);
        metrics.gauge(
            "ai_protected_calls_open",
            "AI calls that are open at upstreams which are protected",
            Box::new(move || limiter.load().open_calls),
        );

        let limiter = Arc::clone(&self.gateway.upstream_limiter);
        metrics.gauge(
            "ai_protected_calls_waiting",
            "AI calls that wait for room at an upstream",
            Box::new(move || limiter.load().waiting_calls),
        );

        let instances = credit_store.instances();
        metrics.gauge(
            "ai_instances",
            "Instances that share what protected upstreams may be asked",
            Box::new(move || u64::from(*instances.get())),
        );
    }
}

/// Returns the operator's settings of credits.
fn credit_settings(config: &LiveConfig) -> LiveSetting<CreditSettings> {
    config.follow(|it| CreditSettings {
        max_output: it.ai.max_output.map(i64::from),
        free_tier: it.free_tier,
        weeks: it.token_usage.weeks,
    })
}

/// Accessor of one count.
type CountFn = fn(Counts) -> u64;

/// Registers the metrics of admissions.
fn register_admission_metrics(metrics: &Metrics, credit_store: &SqlCreditStore) {
    let reader = |count: CountFn| {
        let credit_store = credit_store.clone();
        Box::new(move || count(credit_store.counts()))
    };

    metrics.gauge(
        "ai_reservations_open",
        "AI calls for which credits are reserved",
        reader(|it| it.open),
    );

    let counters: [(&str, &str, CountFn); 9] = [
        ("ai_admissions", "AI calls admitted out of a budget", |it| it.admitted),
        ("ai_refusals", "AI calls refused because a budget was used up", |it| it.refused),
        (
            "ai_late_settlements",
            "AI calls charged after their reservation had been released",
            |it| it.late_settlements,
        ),
        (
            "ai_hidden_microcredits",
            "Millionths of a credit that AI calls cost beyond what was reserved",
            |it| it.hidden_cost,
        ),
        (
            "ai_uncharged_microcredits",
            "Millionths of a credit that AI calls cost beyond what was reserved, and were not charged",
            |it| it.uncharged,
        ),
        (
            "ai_reaped_reservations",
            "Reservations of dead instances that were released, one a budget",
            |it| it.reaped_reservations,
        ),
        ("ai_sequencer_batches", "Transactions that booked AI calls", |it| it.batches),
        ("ai_sequencer_entries", "Admissions and ends of AI calls that they booked", |it| {
            it.booked_entries
        }),
        (
            "ai_sequencer_guesses",
            "Transactions that took one statement, nobody else having changed the budgets",
            |it| it.optimistic_transactions,
        ),
    ];

    for (name, help, count) in counters {
        metrics.counter(name, help, reader(count));
    }
}

/// Registers the metrics of recorded usage.
fn register_usage_metrics(metrics: &Metrics, usage: &SqlCreditStore) {
    let reader = |count: fn(&SqlCreditStore) -> u64| {
        let usage = usage.clone();
        Box::new(move || count(&usage))
    };

    metrics.counter(
        "ai_usage_written",
        "AI calls whose usage is in the database",
        reader(SqlCreditStore::written_count),
    );

    metrics.gauge(
        "ai_usage_waiting",
        "AI calls whose usage waits for the database",
        reader(SqlCreditStore::waiting_count),
    );

    metrics.counter(
        "ai_usage_dropped",
        "AI calls whose usage was lost, the database being away for too long",
        reader(SqlCreditStore::dropped_count),
    );

    metrics.counter(
        "ai_usage_write_failures",
        "Times that usage could not be written and was tried again",
        reader(SqlCreditStore::failure_count),
    );
}
