//! Tests of admission to an upstream, and of refusals.

use futures_util::FutureExt;
use pia_kernel::LiveSetting;

use super::*;
use crate::fakes::{Script, Surroundings};
use crate::routing::target::ProviderType;

const PATIENCE: Duration = Duration::from_secs(5);

struct LimiterEntry {
    turnstile: Arc<UpstreamLimiter>,
    around: Surroundings,
    waits: Arc<dyn Timer>,
    target: Target,
}

type EnterFuture<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Permit, LimitReached>> + 'a>>;

impl LimiterEntry {
    fn new(protection: Protection) -> Self {
        let around = Surroundings::new(Script::Silence);
        let target = Target { protection, ..Target::new(ProviderType::OpenAi, "http://h", "m") };
        Self { turnstile: Arc::default(), waits: Arc::new(around.clone()), around, target }
    }

    fn enter(&self, group: GroupId, tokens: i64) -> EnterFuture<'_> {
        Box::pin(self.turnstile.acquire(&self.target, (group, tokens), PATIENCE, &self.waits))
    }

    fn now(&self, tokens: i64) -> Option<Permit> {
        self.enter(GroupId::generate(), tokens).now_or_never().map(Result::unwrap)
    }
}

fn concurrent(max: u32) -> Protection {
    Protection { concurrent: Some(max), ..Protection::default() }
}

#[test]
fn without_limits_everybody_is_let_in_and_nothing_is_stored() {
    let door = LimiterEntry::new(Protection::default());
    let slots: Vec<_> = (0..100).map(|_| door.now(1_000_000)).collect();

    assert!(slots.iter().all(Option::is_some));
    assert_eq!(door.turnstile.load(), (0, 0));
}

#[test]
fn so_many_are_let_in_at_once_and_others_as_they_leave() {
    let door = LimiterEntry::new(concurrent(2));
    let first = door.now(1).unwrap();
    let _second = door.now(1).unwrap();
    let mut third = door.enter(GroupId::generate(), 1);
    assert!((&mut third).now_or_never().is_none());
    assert_eq!(door.turnstile.load(), (2, 1));

    drop(first);

    let slot = third.now_or_never().unwrap().unwrap();
    assert_eq!(door.turnstile.load(), (2, 0));
    drop(slot);
    assert_eq!(door.turnstile.load(), (1, 0));
}

#[test]
fn groups_are_let_in_by_turns() {
    let door = LimiterEntry::new(concurrent(1));
    let (many, few) = (GroupId::generate(), GroupId::generate());
    let mut slot = Some(door.now(1).unwrap());
    let mut waiting: Vec<_> =
        [many, many, many, few].map(|it| (it, door.enter(it, 1))).into_iter().collect();
    for (_, entering) in &mut waiting {
        assert!(entering.now_or_never().is_none());
    }

    let mut order = Vec::new();
    while !waiting.is_empty() {
        drop(slot.take());
        let let_in = waiting.iter_mut().enumerate().find_map(|(at, (group, entering))| {
            entering.now_or_never().map(|it| (at, *group, it.unwrap()))
        });
        let (at, group, next) = let_in.unwrap();
        drop(waiting.remove(at));
        order.push(group);
        slot = Some(next);
    }

    assert_eq!(order, [many, few, many, many]);
}

#[test]
fn who_waits_for_too_long_is_informed_when_to_come_again() {
    let limits = Protection { requests_per_minute: Some(2), ..Protection::default() };
    let door = LimiterEntry::new(limits);
    let _slots = [door.now(1).unwrap(), door.now(1).unwrap()];
    let mut third = door.enter(GroupId::generate(), 1);
    assert!((&mut third).now_or_never().is_none());

    door.around.advance(PATIENCE);

    let crowded = third.now_or_never().unwrap().unwrap_err();
    assert_eq!(crowded.retry_after, Duration::from_secs(25));
    assert_eq!(door.turnstile.load(), (2, 0));
    door.around.advance(Duration::from_secs(25));
    assert!(door.now(1).is_some());
}

#[test]
fn tokens_are_counted_as_they_were_taken() {
    let limits = Protection { tokens_per_minute: Some(1000), ..Protection::default() };
    let door = LimiterEntry::new(limits);
    let mut slot = door.now(900).unwrap();
    slot.took = 100;
    drop(slot);
    assert!(door.now(900).is_some());

    // One that requests more than there ever is waits until there is all.
    let mut large = door.enter(GroupId::generate(), 5000);
    assert!((&mut large).now_or_never().is_none());
}

#[test]
fn several_instances_share_what_there_is() {
    let instances = LiveSetting::new(2);
    let turnstile = Arc::new(UpstreamLimiter::shared_by(instances.clone()));
    let door = LimiterEntry { turnstile, ..LimiterEntry::new(concurrent(5)) };

    let slots: Vec<_> = (0..3).map(|_| door.now(1)).collect();
    instances.set(1);
    let alone: Vec<_> = (0..4).map(|_| door.now(1)).collect();

    let let_in = |slots: &[Option<Permit>]| slots.iter().flatten().count();
    assert_eq!((let_in(&slots), let_in(&alone)), (2, 3));
}

#[test]
fn requests_and_tokens_of_a_minute_are_shared_too_but_each_may_ask_something() {
    let allowed = |protection: Protection, instances: u32, tokens: i64| {
        let turnstile = Arc::new(UpstreamLimiter::shared_by(LiveSetting::new(instances)));
        let door = LimiterEntry { turnstile, ..LimiterEntry::new(protection) };
        (0..20).map_while(|_| door.now(tokens)).count()
    };
    let requests = Protection { requests_per_minute: Some(9), ..Protection::default() };
    let tokens = Protection { tokens_per_minute: Some(1000), ..Protection::default() };

    assert_eq!([1, 2, 4, 100].map(|it| allowed(requests, it, 1)), [9, 4, 2, 1]);
    assert_eq!([1, 2, 4].map(|it| allowed(tokens, it, 100)), [10, 5, 2]);
}

#[test]
fn who_stops_waiting_makes_room_for_the_next() {
    let door = LimiterEntry::new(concurrent(1));
    let slot = door.now(1).unwrap();
    let (mut first, mut second) =
        (door.enter(GroupId::generate(), 1), door.enter(GroupId::generate(), 1));
    assert!((&mut first).now_or_never().is_none());
    assert!((&mut second).now_or_never().is_none());

    drop(first);
    drop(slot);

    assert!(second.now_or_never().unwrap().is_ok());
}
