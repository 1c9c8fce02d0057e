//! Fakes of the ports: a scripted upstream, a manual clock, and a recorded log.

mod frames;
mod polled;
mod search;
mod sent_call;
mod timer;
mod tokens;
pub(crate) mod turns;

use std::collections::{BTreeMap, VecDeque};
use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use pia_kernel::{BudgetPeriod, GroupId, LiveSetting, SideEffects, Timestamp, Unavailable, UserId};
use pia_testkit::FixedClock;

use self::search::RecordedSearch;
pub(crate) use self::sent_call::open_pieces;
use self::sent_call::{RecordedCall, SentCall};
use crate::ai_caller::AiCaller;
use crate::credits::rates::Micros;
use crate::credits::usage::UsageRecord;
use crate::credits::{
    AdmissionOutcome, AdmissionRequest, CreditHolder, CreditMismatch, CreditSettings, CreditStore,
    CreditWindows, GroupBudget, ReservationGuard, ReservationLine, Settlement, SettlementSink,
    TopUpOutcome, Weeks, Window,
};
use crate::gateway::Gateway;
use crate::guardrail::Guardrail;
use crate::knowledge::NoKnowledge;
use crate::personas::MockPersonas;
use crate::ports::{
    ChatCall, ChatUpstream, Frame, Frames, ModelCall, Timer, TimerFuture, UpstreamError, UsageLog,
};
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::{ProviderType, Target};
use crate::rules::{GroupRules, Rules};
use crate::settings::Settings;
use crate::tools::connectors::NoConnectorTools;
use crate::tools::web_search::SearchResult;

pub(crate) use self::frames::{look, pass};
pub(crate) use self::polled::not_ready;
pub(crate) use self::tokens::{CharTokens, QuarterTokens};

pub(crate) fn target(model: &str) -> Arc<Target> {
    let target = Target::new(ProviderType::OpenAi, "https://models.example/v1", model);
    Arc::new(target.with_key("sk-1"))
}

pub(crate) fn caller() -> AiCaller {
    AiCaller {
        user: UserId::generate(),
        group: GroupId::generate(),
        key: None,
        mode: None,
        persona: None,
        surface: crate::Surface::Desktop,
    }
}

/// Next reaction of the fake upstream.
pub(crate) enum Script {
    /// Streams these frames, and ends.
    Frames(Vec<Result<Frame, UpstreamError>>),
    /// Streams these frames, and then is silent.
    FramesAndSilence(Vec<Result<Frame, UpstreamError>>),
    /// Sends this full response.
    Full(&'static str),
    /// Fails with this error.
    Fails(UpstreamError),
    /// Never responds.
    Silence,
    /// Fails with this error after a minute.
    FailsLater(UpstreamError),
}

/// Ports of a gateway, with recorded calls.
#[derive(Clone)]
pub(crate) struct TestEnv(Arc<Inner>);

struct Inner {
    script: Mutex<VecDeque<Script>>,
    rules: Mutex<GroupRules>,
    fresh: Mutex<Option<GroupRules>>,
    search_results: Mutex<Result<Vec<SearchResult>, UpstreamError>>,
    search_errors: Mutex<VecDeque<UpstreamError>>,
    searches: Mutex<Vec<RecordedSearch>>,
    protects: AtomicBool,
    calls: Mutex<Vec<SentCall>>,
    usage_records: Mutex<Vec<UsageRecord>>,
    credit_windows: Mutex<Option<CreditWindows>>,
    admission_requests: Mutex<Vec<AdmissionRequest>>,
    settlements: Mutex<Vec<Settlement>>,
    time: Mutex<Time>,
}

#[derive(Default)]
struct Time {
    now: Duration,
    stopping: bool,
    wakers: Vec<Waker>,
}

impl TestEnv {
    pub(crate) fn new(script: Script) -> Self {
        Self::with_scripts(vec![script])
    }

    /// Creates an environment with a script for each model call, in order.
    pub(crate) fn with_scripts(scripts: Vec<Script>) -> Self {
        Self(Arc::new(Inner {
            script: Mutex::new(scripts.into()),
            rules: Mutex::default(),
            fresh: Mutex::default(),
            search_results: Mutex::new(Ok(Vec::new())),
            search_errors: Mutex::default(),
            searches: Mutex::default(),
            protects: AtomicBool::default(),
            calls: Mutex::default(),
            usage_records: Mutex::default(),
            credit_windows: Mutex::default(),
            admission_requests: Mutex::default(),
            settlements: Mutex::default(),
            time: Mutex::default(),
        }))
    }

    /// Returns a gateway whose ports this environment plays and records.
    pub(crate) fn gateway(&self) -> Gateway {
        Gateway {
            upstream: Arc::new(self.clone()),
            usage: Arc::new(self.clone()),
            timer: Arc::new(self.clone()),
            clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
            catalogue: LiveSetting::new(ModelCatalogue {
                default: Some(target("m")),
                ..ModelCatalogue::default()
            }),
            settings: LiveSetting::new(Settings::default()),
            rules: Arc::new(self.clone()),
            credit_store: Arc::new(self.clone()),
            credits: LiveSetting::new(CreditSettings::default()),
            tokens: Arc::new(QuarterTokens),
            personas: Arc::new(MockPersonas::new()),
            knowledge: Arc::new(NoKnowledge),
            connectors: Arc::new(NoConnectorTools),
            question_model: None,
            guardrail: Arc::new(self.clone()),
            search: Arc::new(self.clone()),
            keys: Arc::default(),
            upstream_limiter: Arc::default(),
            attempts: Arc::default(),
        }
    }

    pub(crate) fn with_rules(self, rules: GroupRules) -> Self {
        *self.0.rules.lock().unwrap() = rules;
        self
    }

    /// Sets the fresh rules of groups, which differ from the cached ones.
    pub(crate) fn with_fresh_rules(self, rules: GroupRules) -> Self {
        *self.0.fresh.lock().unwrap() = Some(rules);
        self
    }

    /// Sets the result of each web search.
    pub(crate) fn with_results(self, results: Result<Vec<SearchResult>, UpstreamError>) -> Self {
        *self.0.search_results.lock().unwrap() = results;
        self
    }

    /// Sets the failures of the first web searches.
    pub(crate) fn with_search_errors(self, errors: Vec<UpstreamError>) -> Self {
        *self.0.search_errors.lock().unwrap() = errors.into();
        self
    }

    pub(crate) fn protected(self) -> Self {
        self.0.protects.store(true, Ordering::Relaxed);
        self
    }

    /// Returns the web searches in order.
    pub(crate) fn searches(&self) -> Vec<RecordedSearch> {
        self.0.searches.lock().unwrap().clone()
    }

    /// Returns the model calls in order.
    pub(crate) fn calls(&self) -> Vec<RecordedCall> {
        self.0.calls.lock().unwrap().iter().map(RecordedCall::from).collect()
    }

    /// Returns the only request sent upstream, in pieces.
    pub(crate) fn pieces(&self) -> Vec<Bytes> {
        let calls = self.0.calls.lock().unwrap();
        let [call] = calls.as_slice() else { panic!("{} calls", calls.len()) };
        call.body.clone()
    }

    /// Returns the only request sent upstream.
    pub(crate) fn sent(&self) -> String {
        String::from_utf8(self.pieces().concat()).unwrap()
    }

    pub(crate) fn usage_records(&self) -> Vec<UsageRecord> {
        self.0.usage_records.lock().unwrap().clone()
    }

    /// Returns the recorded admission requests.
    pub(crate) fn requests(&self) -> Vec<AdmissionRequest> {
        self.0.admission_requests.lock().unwrap().clone()
    }

    /// Returns the settlements so far, in their order.
    pub(crate) fn settlements(&self) -> Vec<Settlement> {
        self.0.settlements.lock().unwrap().clone()
    }

    /// Returns the last call that was sent upstream.
    pub(crate) fn call(&self) -> SentCall {
        self.0.calls.lock().unwrap().last().cloned().unwrap()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.change(|time| time.now += by);
    }

    pub(crate) fn stop_now(&self) {
        self.change(|time| time.stopping = true);
    }

    fn change(&self, change: impl FnOnce(&mut Time)) {
        let mut time = self.0.time.lock().unwrap();
        change(&mut time);
        time.wakers.drain(..).for_each(Waker::wake);
    }

    fn until(&self, reached: impl Fn(&Time) -> bool + Send + 'static) -> TimerFuture {
        let this = self.clone();
        Box::pin(poll_fn(move |cx| {
            let mut time = this.0.time.lock().unwrap();
            if reached(&time) {
                return Poll::Ready(());
            }
            time.wakers.push(cx.waker().clone());
            Poll::Pending
        }))
    }

    async fn answer(&self, call: SentCall) -> Result<Bytes, UpstreamError> {
        match self.next(call) {
            Script::Full(body) => Ok(Bytes::from_static(body.as_bytes())),
            Script::Fails(err) => Err(err),
            Script::Silence => pending().await,
            _ => panic!("a whole answer was asked for"),
        }
    }

    fn next(&self, call: SentCall) -> Script {
        self.0.calls.lock().unwrap().push(call);
        self.0.script.lock().unwrap().pop_front().unwrap()
    }
}

impl UsageLog for TestEnv {
    fn record(&self, usage: UsageRecord) {
        self.0.usage_records.lock().unwrap().push(usage);
    }
}

#[async_trait]
impl Rules for TestEnv {
    async fn rules_of(&self, _group: GroupId) -> Result<Arc<GroupRules>, Unavailable> {
        Ok(Arc::new(self.0.rules.lock().unwrap().clone()))
    }

    async fn fresh(&self, group: GroupId) -> Result<Arc<GroupRules>, Unavailable> {
        let fresh = self.0.fresh.lock().unwrap().clone();
        match fresh {
            Some(rules) => Ok(Arc::new(rules)),
            None => self.rules_of(group).await,
        }
    }
}

impl Guardrail for TestEnv {
    fn protects(&self, _caller: &AiCaller) -> bool {
        self.0.protects.load(Ordering::Relaxed)
    }
}

impl SettlementSink for TestEnv {
    fn settle(&self, settlement: Settlement) {
        self.0.usage_records.lock().unwrap().extend(settlement.usage.clone());
        let mut credit_windows = self.0.credit_windows.lock().unwrap();
        let lines: &[ReservationLine] = &settlement.lines;
        credit_windows.as_mut().unwrap().settle(lines, settlement.spent, lines);
        self.0.settlements.lock().unwrap().push(settlement);
    }
}

/// Credit store in memory.
#[async_trait]
impl CreditStore for TestEnv {
    async fn admit(&self, request: AdmissionRequest) -> Result<AdmissionOutcome, Unavailable> {
        self.0.admission_requests.lock().unwrap().push(request);
        let mut guard = self.0.credit_windows.lock().unwrap();
        let credit_windows = guard.get_or_insert_with(|| CreditWindows {
            windows: BTreeMap::new(),
            weeks: Weeks::default(),
            now: Timestamp::UNIX_EPOCH,
        });
        for key in request.holder.windows() {
            credit_windows.windows.entry(key).or_insert_with(|| Window::new(key));
        }
        Ok(match credit_windows.admit(&request) {
            Ok(grant) => {
                let id = uuid::Uuid::now_v7();
                let sink = Arc::new(self.clone());
                let reservation = ReservationGuard::new(id, grant.lines, sink);
                AdmissionOutcome::Granted {
                    reservation,
                    output: grant.output,
                    truncation_cause: grant.truncation_cause,
                }
            }
            Err(refusal) => AdmissionOutcome::Refused(refusal),
        })
    }

    async fn load_windows(&self, _: CreditHolder) -> Result<CreditWindows, Unavailable> {
        panic!("the gateway loads no windows")
    }

    async fn top_up(
        &self,
        _: GroupId,
        _: Micros,
        _: Option<Micros>,
        _: SideEffects,
    ) -> Result<TopUpOutcome, Unavailable> {
        panic!("the gateway adds no credits")
    }

    async fn load_top_ups(&self, _: GroupId) -> Result<Micros, Unavailable> {
        panic!("the gateway loads no top-ups")
    }

    async fn load_group_budgets(&self, _: Micros) -> Result<Vec<GroupBudget>, Unavailable> {
        panic!("the gateway loads no budgets")
    }

    async fn load_member_windows(
        &self,
        _: GroupId,
        _: BudgetPeriod,
    ) -> Result<Vec<Window>, Unavailable> {
        panic!("the gateway loads no windows of others")
    }

    async fn find_mismatches(&self) -> Result<Vec<CreditMismatch>, Unavailable> {
        panic!("the gateway checks nothing")
    }
}

#[async_trait]
impl ChatUpstream for TestEnv {
    async fn open(&self, call: ChatCall) -> Result<Frames, UpstreamError> {
        match self.next(call.into()) {
            Script::Frames(frames) => Ok(Box::pin(stream::iter(frames))),
            Script::FramesAndSilence(frames) => {
                Ok(Box::pin(stream::iter(frames).chain(stream::pending())))
            }
            Script::Fails(err) => Err(err),
            Script::FailsLater(err) => {
                self.pause(Duration::from_mins(1)).await;
                Err(err)
            }
            Script::Silence => pending().await,
            Script::Full(_) => panic!("a stream was asked for"),
        }
    }

    async fn complete(&self, call: ChatCall) -> Result<Bytes, UpstreamError> {
        self.answer(call.into()).await
    }

    async fn embed(&self, call: ModelCall) -> Result<Bytes, UpstreamError> {
        self.answer(call.into()).await
    }

    async fn rerank(&self, call: ModelCall) -> Result<Bytes, UpstreamError> {
        self.answer(call.into()).await
    }
}
