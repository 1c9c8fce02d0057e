//! Tests of reauthentication.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Secret, SessionId, Timestamp, UserId};
use pia_testkit::ManualClock;

use super::*;
use crate::factors;
use crate::factors::proofs::FactorAnswer;
use crate::fakes::{InMemoryFactors, PASSWORD};

struct World {
    store: Arc<InMemoryFactors>,
    clock: Arc<ManualClock>,
    reauthenticator: Reauthenticator,
    caller: CallerState,
}

fn new_world(store: Arc<InMemoryFactors>) -> World {
    let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH + Duration::from_hours(1)));
    let reauthenticator = Reauthenticator::new(store.proofs(Arc::<ManualClock>::clone(&clock)));
    let caller = CallerState::new(UserId::generate(), SessionId::generate());
    World { store, clock, reauthenticator, caller }
}

fn by_password(text: &str) -> ReauthProof {
    ReauthProof::Password(Secret::new(text.to_owned()))
}

#[tokio::test]
async fn a_sign_in_of_the_last_ten_minutes_is_proof_enough() {
    let world = new_world(Arc::default());
    world.store.state().proved_at = Some(world.clock.now());

    let at_once = world.reauthenticator.check(world.caller, None).await.unwrap();
    world.clock.advance(Duration::from_mins(10));
    let in_time = world.reauthenticator.check(world.caller, None).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    let late = world.reauthenticator.check(world.caller, None).await.unwrap();
    let refusal = world.reauthenticator.require(world.caller, None).await;

    assert_eq!([at_once, in_time], [ReauthenticationOutcome::Fresh; 2]);
    assert_eq!(late, ReauthenticationOutcome::Stale);
    assert!(matches!(refusal, Err(OwnerError::SignInAgain)));
}

#[tokio::test]
async fn a_sign_in_with_an_app_password_is_no_proof() {
    let world = new_world(Arc::default());
    world.store.state().proved_at = Some(world.clock.now());
    let program = CallerState { scope: SessionScope::Data, ..world.caller };

    let outcome = world.reauthenticator.check(program, None).await.unwrap();

    assert_eq!(outcome, ReauthenticationOutcome::Delegated);
}

#[tokio::test]
async fn a_recent_sign_in_of_a_browser_is_proof_and_an_old_one_is_not() {
    let world = new_world(Arc::default());
    world.store.state().proved_at = Some(world.clock.now());
    let browsers = [SessionScope::Console, SessionScope::Account];
    let callers = browsers.map(|scope| CallerState { scope, ..world.caller });

    for caller in callers {
        world.reauthenticator.require(caller, None).await.unwrap();
    }
    world.clock.advance(Duration::from_mins(11));
    for caller in callers {
        let refusal = world.reauthenticator.require(caller, None).await;
        assert!(matches!(refusal, Err(OwnerError::SignInAgain)));
    }
}

#[tokio::test]
async fn a_password_is_proof_and_a_wrong_one_is_counted() {
    let world = new_world(Arc::default());

    let right = world.reauthenticator.require(world.caller, Some(by_password(PASSWORD))).await;
    let refusal = world.reauthenticator.require(world.caller, Some(by_password("guessed"))).await;

    right.unwrap();
    assert!(matches!(refusal, Err(OwnerError::Wrong)));
    assert_eq!(world.store.wrong_proofs(), 1);
}

#[tokio::test]
async fn a_proof_frees_its_session_from_further_ones_for_ten_minutes() {
    let world = new_world(Arc::default());
    let prove = |text| world.reauthenticator.prove(world.caller, by_password(text));

    let wrong = prove("guessed").await;
    let stale_result = world.reauthenticator.require(world.caller, None).await;
    prove(PASSWORD).await.unwrap();
    world.clock.advance(Duration::from_mins(10));
    world.reauthenticator.require(world.caller, None).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    let late = world.reauthenticator.require(world.caller, None).await;

    assert!(matches!(wrong, Err(OwnerError::Wrong)));
    assert!(matches!(stale_result, Err(OwnerError::SignInAgain)));
    assert!(matches!(late, Err(OwnerError::SignInAgain)));
    assert_eq!(world.store.wrong_proofs(), 1);
}

#[tokio::test]
async fn a_recovery_code_is_proof_once() {
    let world = new_world(InMemoryFactors::with_factor_on());
    let code = factors::recovery_codes::fresh().unwrap().remove(0);
    let hash = factors::recovery_codes::hash(world.caller.user, &code).unwrap();
    world.store.state().codes = vec![hash];
    let proof = || Some(ReauthProof::Factor(FactorAnswer::RecoveryCode(code.clone())));

    let outcome = world.reauthenticator.check(world.caller, proof()).await;
    let repeated = world.reauthenticator.check(world.caller, proof()).await;

    assert_eq!(outcome.unwrap(), ReauthenticationOutcome::Fresh);
    assert!(matches!(repeated, Err(OwnerError::Wrong)));
    assert_eq!(world.store.emails(), ["recovery-code-used"]);
}

#[tokio::test]
async fn without_a_factor_no_code_is_proof() {
    let world = new_world(Arc::default());
    let code = FactorAnswer::Code(Secret::new("123456".to_owned()));

    let outcome = world.reauthenticator.check(world.caller, Some(ReauthProof::Factor(code))).await;

    assert!(matches!(outcome, Err(OwnerError::Wrong)));
}
