//! Tests of admission to an upstream, and of refusals.

use futures_util::FutureExt;
use pia_kernel::LiveSetting;

use super::*;
use crate::fakes::{Script, TestEnv};
use crate::routing::target::ProviderType;

const MAX_WAIT: Duration = Duration::from_secs(5);

struct LimiterFixture {
    limiter: Arc<UpstreamLimiter>,
    env: TestEnv,
    timer: Arc<dyn Timer>,
    target: Target,
}

type AcquireFuture<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Permit, LimitReached>> + 'a>>;

impl LimiterFixture {
    fn new(protection: Protection) -> Self {
        let env = TestEnv::new(Script::Silence);
        let target = Target { protection, ..Target::new(ProviderType::OpenAi, "http://h", "m") };
        Self { limiter: Arc::default(), timer: Arc::new(env.clone()), env, target }
    }

    fn acquire_for(&self, group: GroupId, tokens: i64) -> AcquireFuture<'_> {
        let demand = CallDemand { group, tokens };
        Box::pin(self.limiter.acquire(&self.target, demand, MAX_WAIT, &self.timer))
    }

    fn try_acquire(&self, tokens: i64) -> Option<Permit> {
        self.acquire_for(GroupId::generate(), tokens).now_or_never().map(Result::unwrap)
    }
}

fn load(open_calls: u64, waiting_calls: u64) -> UpstreamLoad {
    UpstreamLoad { open_calls, waiting_calls }
}

fn concurrent(max: u32) -> Protection {
    Protection { concurrent: Some(max), ..Protection::default() }
}

#[test]
fn without_limits_all_calls_are_admitted_and_not_counted() {
    let fixture = LimiterFixture::new(Protection::default());
    let permits: Vec<_> = (0..100).map(|_| fixture.try_acquire(1_000_000)).collect();

    assert!(permits.iter().all(Option::is_some));
    assert_eq!(fixture.limiter.load(), load(0, 0));
}

#[test]
fn concurrent_calls_are_limited() {
    let fixture = LimiterFixture::new(concurrent(2));
    let first_permit = fixture.try_acquire(1).unwrap();
    let _second_permit = fixture.try_acquire(1).unwrap();
    let mut third_call = fixture.acquire_for(GroupId::generate(), 1);
    assert!((&mut third_call).now_or_never().is_none());
    assert_eq!(fixture.limiter.load(), load(2, 1));

    drop(first_permit);
    let third_permit = third_call.now_or_never().unwrap().unwrap();
    assert_eq!(fixture.limiter.load(), load(2, 0));

    drop(third_permit);
    assert_eq!(fixture.limiter.load(), load(1, 0));
}

#[test]
fn groups_are_admitted_in_turns() {
    let fixture = LimiterFixture::new(concurrent(1));
    let busy_group = GroupId::generate();
    let quiet_group = GroupId::generate();
    let mut open_permit = Some(fixture.try_acquire(1).unwrap());
    let mut waiting_calls: Vec<_> = [busy_group, busy_group, busy_group, quiet_group]
        .map(|group| (group, fixture.acquire_for(group, 1)))
        .into();
    for (_, call) in &mut waiting_calls {
        assert!(call.now_or_never().is_none());
    }

    let mut order = Vec::new();
    while !waiting_calls.is_empty() {
        drop(open_permit.take());
        let (at, permit) = waiting_calls
            .iter_mut()
            .enumerate()
            .find_map(|(at, (_, call))| Some((at, call.now_or_never()?.unwrap())))
            .unwrap();
        let (group, _) = waiting_calls.remove(at);
        order.push(group);
        open_permit = Some(permit);
    }

    assert_eq!(order, [busy_group, quiet_group, busy_group, busy_group]);
}

#[test]
fn a_call_that_waits_too_long_gets_a_retry_time() {
    let limits = Protection { requests_per_minute: Some(2), ..Protection::default() };
    let fixture = LimiterFixture::new(limits);
    let _permits = [fixture.try_acquire(1).unwrap(), fixture.try_acquire(1).unwrap()];
    let mut third_call = fixture.acquire_for(GroupId::generate(), 1);
    assert!((&mut third_call).now_or_never().is_none());

    fixture.env.advance(MAX_WAIT);

    // One of two requests a minute is free after thirty seconds, five of which are over.
    let err = third_call.now_or_never().unwrap().unwrap_err();
    assert_eq!(err.retry_after, Duration::from_secs(30 - 5));
    assert_eq!(fixture.limiter.load(), load(2, 0));
    fixture.env.advance(Duration::from_secs(25));
    assert!(fixture.try_acquire(1).is_some());
}

#[test]
fn tokens_are_counted_as_used() {
    let limits = Protection { tokens_per_minute: Some(1000), ..Protection::default() };
    let fixture = LimiterFixture::new(limits);
    let mut permit = fixture.try_acquire(900).unwrap();
    permit.used_tokens = 100;
    drop(permit);
    assert!(fixture.try_acquire(900).is_some());

    // A request beyond the limit waits until the bucket is full.
    let mut large_call = fixture.acquire_for(GroupId::generate(), 5000);
    assert!((&mut large_call).now_or_never().is_none());
}

#[test]
fn several_instances_divide_the_limits() {
    let instances = LiveSetting::new(2);
    let limiter = Arc::new(UpstreamLimiter::shared_by(instances.clone()));
    let fixture = LimiterFixture { limiter, ..LimiterFixture::new(concurrent(5)) };

    let permits_of_two: Vec<_> = (0..3).filter_map(|_| fixture.try_acquire(1)).collect();
    assert_eq!(permits_of_two.len(), 2);

    instances.set(1);
    let further_permits: Vec<_> = (0..4).filter_map(|_| fixture.try_acquire(1)).collect();
    assert_eq!(further_permits.len(), 3);
}

#[test]
fn limits_per_minute_are_divided_with_a_minimum_of_one() {
    let allowed = |protection: Protection, instances: u32, tokens: i64| {
        let limiter = Arc::new(UpstreamLimiter::shared_by(LiveSetting::new(instances)));
        let fixture = LimiterFixture { limiter, ..LimiterFixture::new(protection) };
        (0..20).map_while(|_| fixture.try_acquire(tokens)).count()
    };
    let requests = Protection { requests_per_minute: Some(9), ..Protection::default() };
    let tokens = Protection { tokens_per_minute: Some(1000), ..Protection::default() };

    assert_eq!([1, 2, 4, 100].map(|it| allowed(requests, it, 1)), [9, 4, 2, 1]);
    assert_eq!([1, 2, 4].map(|it| allowed(tokens, it, 100)), [10, 5, 2]);
}

#[test]
fn a_dropped_waiter_admits_the_next() {
    let fixture = LimiterFixture::new(concurrent(1));
    let permit = fixture.try_acquire(1).unwrap();
    let mut leaving_call = fixture.acquire_for(GroupId::generate(), 1);
    let mut next_call = fixture.acquire_for(GroupId::generate(), 1);
    assert!((&mut leaving_call).now_or_never().is_none());
    assert!((&mut next_call).now_or_never().is_none());

    drop(leaving_call);
    drop(permit);

    assert!(next_call.now_or_never().unwrap().is_ok());
}
