//! Putting second factors on and taking them off.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    Enrolled, Factor, FactorChange, FactorState, FactorStore, NewSession, RecoveryHash, SessionRef,
    SessionStarted, SessionStore, SignInMethod, Step, TokenHash, VerifiedProof,
};
use pia_kernel::{SessionId, SideEffects, Timestamp, UserId};
use pia_storage::schema::sessions;
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_storage_identity::{SqlFactors, SqlSessions};

use crate::people::{START, audited, begin_as_of, deactivate, device, epoch, only, person, remove};

pia_testkit::contract! {
    a_factor_that_is_begun_again_takes_the_place_of_the_first,
    of_many_first_codes_at_once_one_puts_the_factor_on,
    a_factor_is_put_on_with_the_secret_that_was_confirmed_and_no_other,
    while_a_factor_is_on_none_is_begun,
    a_step_is_good_once_and_none_before_it_is,
    a_recovery_code_is_good_once_however_many_show_it,
    a_code_that_another_store_requests_is_spent_once,
    new_recovery_codes_take_the_place_of_the_ones_before,
    of_many_who_take_it_off_at_once_one_does,
    without_a_factor_that_is_on_nothing_is_good,
    a_change_ends_all_sessions_but_its_own_and_those_of_others,
    nothing_changes_for_a_deactivated_account,
    a_secret_is_sealed_anew_only_where_the_old_one_stands,
    factors_that_were_never_put_on_are_swept,
    all_of_it_goes_with_the_account,
    nothing_changes_from_a_session_that_is_over,
    each_change_outdates_sign_ins_that_are_under_way,
    beside_a_factor_that_is_put_on_no_session_stays_that_began_without_it,
}

/// Tokens of sessions that tests do not ask about.
const ENABLING: u8 = 251;
const SHOWING: u8 = 252;

fn ended(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "ended")
}

fn change(user: UserId, session: SessionId) -> FactorChange {
    let effects = SideEffects::audit(START, user, "changed");
    FactorChange { user, session, at: START, effects, if_ended: ended }
}

fn codes(numbers: std::ops::Range<u8>) -> Vec<RecoveryHash> {
    numbers.map(|it| RecoveryHash([it; 32])).collect()
}

/// Puts a factor on whose first code was of step 10, with codes 0 to 9.
pub(crate) async fn enable(db: &Database, user: UserId) {
    let factors = SqlFactors::new(db.clone());
    assert_eq!(factors.begin(user, b"sealed", START).await.unwrap(), Enrolled::Begun);
    let session = begin_session(db, user, ENABLING).await;
    let change = FactorChange { effects: SideEffects::default(), ..change(user, session) };
    assert!(factors.enable(change, b"sealed", Step(10), &codes(0..10)).await.unwrap());
    end(db, session).await;
}

/// Ends a session without a word.
async fn end(db: &Database, session: SessionId) {
    let session = diesel::delete(sessions::table.find(DbUid(session.0)));
    let done: Result<usize, DbError> = on_conn!(db.writer(), |conn| session.execute(conn).await?);
    assert_eq!(done.unwrap(), 1);
}

async fn begin_session(db: &Database, user: UserId, token: u8) -> SessionId {
    let (session, hash) = (SessionId::generate(), TokenHash([token; 32]));
    let expires_at = START + Duration::from_hours(1);
    let (method, device) = (SignInMethod::Password, device());
    let new = NewSession {
        session,
        user,
        epoch: epoch(db, user).await,
        hash,
        at: START,
        expires_at,
        method,
        app_password: None,
        device,
        console: false,
    };
    SqlSessions::new(db.clone()).begin(new, 10, SideEffects::default(), only(ended)).await.unwrap();
    session
}

async fn alive(db: &Database, token: u8) -> bool {
    let sessions = SqlSessions::new(db.clone());
    sessions.session_of(TokenHash([token; 32])).await.unwrap().is_some()
}

/// Returns whether this evidence is good for new recovery codes.
async fn good(db: &Database, user: UserId, verified: VerifiedProof) -> bool {
    let session = begin_session(db, user, SHOWING).await;
    let change = change(user, session);
    let factors = SqlFactors::new(db.clone());
    let good = factors.replace_codes(change, verified, &codes(0..10)).await.unwrap();
    end(db, session).await;
    good
}

async fn a_factor_that_is_begun_again_takes_the_place_of_the_first(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    let later = START + Duration::from_secs(5);

    let none = factors.factor(user).await.unwrap();
    let begun = [
        factors.begin(user, b"first", START).await.unwrap(),
        factors.begin(user, b"second", later).await.unwrap(),
    ];

    let stored = Factor { sealed: b"second".to_vec(), state: FactorState::Begun { at: later } };
    assert_eq!((none, begun), (None, [Enrolled::Begun; 2]));
    assert_eq!(factors.factor(user).await.unwrap(), Some(stored));
}

async fn of_many_first_codes_at_once_one_puts_the_factor_on(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    factors.begin(user, b"sealed", START).await.unwrap();
    let (session, codes) = (begin_session(&db, user, 1).await, codes(0..10));

    let all = (0..64).map(|_| factors.enable(change(user, session), b"sealed", Step(7), &codes));
    let all = join_all(all).await;

    assert_eq!(all.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    assert_eq!(factors.factor(user).await.unwrap().unwrap().state, FactorState::On);
    assert_eq!(audited(&db, user, "changed").await, 1);
    assert!(!good(&db, user, VerifiedProof::Code(Step(7))).await, "it was used for that");
}

async fn a_factor_is_put_on_with_the_secret_that_was_confirmed_and_no_other(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    factors.begin(user, b"first", START).await.unwrap();
    factors.begin(user, b"second", START).await.unwrap();
    let change = change(user, begin_session(&db, user, 1).await);

    let on = factors.enable(change, b"first", Step(7), &codes(0..10)).await.unwrap();

    assert!(!on);
    assert_ne!(factors.factor(user).await.unwrap().unwrap().state, FactorState::On);
}

async fn while_a_factor_is_on_none_is_begun(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;

    let begun = factors.begin(user, b"another", START).await.unwrap();

    assert_eq!(begun, Enrolled::AlreadyOn);
    assert_eq!(factors.factor(user).await.unwrap().unwrap().sealed, b"sealed");
}

async fn a_step_is_good_once_and_none_before_it_is(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;

    let session = begin_session(&db, user, 1).await;
    let (code, codes) = (|step| VerifiedProof::Code(Step(step)), codes(0..10));
    let all = (0..64).map(|_| factors.replace_codes(change(user, session), code(12), &codes));
    let all = join_all(all).await;

    assert_eq!(all.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    for (step, expected) in [(10, false), (11, false), (12, false), (13, true), (13, false)] {
        assert_eq!(good(&db, user, code(step)).await, expected, "{step}");
    }
}

async fn a_recovery_code_is_good_once_however_many_show_it(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;
    let other = person(&db, "eve@example.org").await;
    enable(&db, other).await;
    let presented = VerifiedProof::RecoveryCode(RecoveryHash([3; 32]));
    let new = codes(100..110);

    let session = begin_session(&db, user, 1).await;
    let all = (0..64).map(|_| factors.replace_codes(change(user, session), presented, &new));
    let all = join_all(all).await;

    assert_eq!(all.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    assert!(good(&db, other, presented).await, "another's equal code is another code");
}

async fn a_code_that_another_store_requests_is_spent_once(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;
    let session_ref = SessionRef { user, session: begin_session(&db, user, 1).await };
    let spent = || SideEffects::audit(START, user, "spent");
    let code = VerifiedProof::RecoveryCode(RecoveryHash([3; 32]));

    let all = join_all((0..64).map(|_| factors.spend(session_ref, code, START, spent()))).await;
    let step =
        factors.spend(session_ref, VerifiedProof::Code(Step(12)), START, spent()).await.unwrap();
    let old =
        factors.spend(session_ref, VerifiedProof::Code(Step(11)), START, spent()).await.unwrap();
    end(&db, session_ref.session).await;
    let over =
        factors.spend(session_ref, VerifiedProof::Code(Step(13)), START, spent()).await.unwrap();

    assert_eq!(all.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    assert_eq!([step, old, over], [true, false, false]);
    assert_eq!(audited(&db, user, "spent").await, 2);
}

async fn new_recovery_codes_take_the_place_of_the_ones_before(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;
    let change = change(user, begin_session(&db, user, 1).await);

    let done =
        factors.replace_codes(change, VerifiedProof::Password, &codes(50..60)).await.unwrap();

    let code = |number| VerifiedProof::RecoveryCode(RecoveryHash([number; 32]));
    assert!(done);
    assert!(!good(&db, user, code(3)).await);
    assert!(good(&db, user, code(53)).await);
}

async fn of_many_who_take_it_off_at_once_one_does(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;
    let session = begin_session(&db, user, 1).await;

    let all =
        join_all((0..64).map(|_| factors.disable(change(user, session), VerifiedProof::Password)))
            .await;

    assert_eq!(all.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    assert_eq!(factors.factor(user).await.unwrap(), None);
    assert_eq!(audited(&db, user, "changed").await, 1);
}

async fn without_a_factor_that_is_on_nothing_is_good(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    let session = begin_session(&db, user, 1).await;
    let verified = [
        VerifiedProof::Password,
        VerifiedProof::Code(Step(20)),
        VerifiedProof::RecoveryCode(RecoveryHash([3; 32])),
    ];

    for begun in [false, true] {
        if begun {
            factors.begin(user, b"sealed", START).await.unwrap();
        }
        for verified in verified {
            let disabled = factors.disable(change(user, session), verified).await;
            assert!(!disabled.unwrap() && !good(&db, user, verified).await, "{verified:?}");
        }
    }

    assert_eq!(audited(&db, user, "changed").await, 0);
}

async fn a_change_ends_all_sessions_but_its_own_and_those_of_others(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    let other = person(&db, "eve@example.org").await;
    enable(&db, user).await;
    for token in [1, 2] {
        begin_session(&db, user, token).await;
    }
    let own = begin_session(&db, user, 3).await;
    begin_session(&db, other, 4).await;
    let wrong = VerifiedProof::Code(Step(10));

    let refused = factors.disable(change(user, own), wrong).await.unwrap();
    let all_alive = alive(&db, 1).await && alive(&db, 2).await;
    let done = factors.disable(change(user, own), VerifiedProof::Password).await.unwrap();

    assert!(!refused && all_alive && done);
    let left = [alive(&db, 1).await, alive(&db, 2).await, alive(&db, 3).await, alive(&db, 4).await];
    assert_eq!(left, [false, false, true, true]);
    assert_eq!(audited(&db, user, "ended").await, 2);
}

async fn nothing_changes_for_a_deactivated_account(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;
    let session = begin_session(&db, user, 1).await;

    deactivate(&db, user).await;

    let change = || change(user, session);
    let exchanged = factors.replace_codes(change(), VerifiedProof::Password, &codes(0..10)).await;
    let disabled = factors.disable(change(), VerifiedProof::Password).await;
    assert!(!exchanged.unwrap() && !disabled.unwrap());
}

async fn a_secret_is_sealed_anew_only_where_the_old_one_stands(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;

    factors.reseal(user, b"another", b"wrong").await.unwrap();
    factors.reseal(user, b"sealed", b"anew").await.unwrap();

    let stored = Factor { sealed: b"anew".to_vec(), state: FactorState::On };
    assert_eq!(factors.factor(user).await.unwrap(), Some(stored));
}

async fn factors_that_were_never_put_on_are_swept(db: Database) {
    let factors = SqlFactors::new(db.clone());
    let (on, old, new) = (
        person(&db, "on@example.org").await,
        person(&db, "old@example.org").await,
        person(&db, "new@example.org").await,
    );
    enable(&db, on).await;
    factors.begin(old, b"sealed", START).await.unwrap();
    factors.begin(new, b"sealed", START + Duration::from_secs(1)).await.unwrap();

    let swept = factors.sweep(START + Duration::from_secs(1)).await.unwrap();

    assert_eq!(swept, 1);
    assert!(factors.factor(old).await.unwrap().is_none());
    assert!(factors.factor(on).await.unwrap().is_some());
    assert!(factors.factor(new).await.unwrap().is_some());
}

async fn all_of_it_goes_with_the_account(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    enable(&db, user).await;

    remove(&db, user).await;

    assert_eq!(factors.factor(user).await.unwrap(), None);
    assert_eq!(factors.begin(user, b"sealed", START).await.unwrap(), Enrolled::Gone);
}

async fn nothing_changes_from_a_session_that_is_over(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    let eve = person(&db, "eve@example.org").await;
    let (ended, hers) = (begin_session(&db, user, 1).await, begin_session(&db, eve, 2).await);
    end(&db, ended).await;
    let late = begin_session(&db, user, 3).await;
    let late = FactorChange { at: START + Duration::from_hours(1), ..change(user, late) };
    let over = [change(user, ended), change(user, hers), late];
    factors.begin(user, b"sealed", START).await.unwrap();
    let codes = codes(0..10);

    for change in over.clone() {
        assert!(!factors.enable(change, b"sealed", Step(7), &codes).await.unwrap());
    }
    let on = change(user, begin_session(&db, user, 4).await);
    assert!(factors.enable(on, b"sealed", Step(10), &codes).await.unwrap());
    for change in over {
        let exchange = factors.replace_codes(change.clone(), VerifiedProof::Password, &codes).await;
        let disabled = factors.disable(change, VerifiedProof::Password).await;
        assert!(!exchange.unwrap() && !disabled.unwrap());
    }

    assert_eq!(audited(&db, user, "changed").await, 1);
}

async fn each_change_outdates_sign_ins_that_are_under_way(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    factors.begin(user, b"sealed", START).await.unwrap();
    let session = begin_session(&db, user, 1).await;
    let (change, codes) = (|| change(user, session), codes(0..10));
    let mut before = vec![epoch(&db, user).await];

    assert!(factors.enable(change(), b"sealed", Step(7), &codes).await.unwrap());
    before.push(epoch(&db, user).await);
    assert!(factors.replace_codes(change(), VerifiedProof::Password, &codes).await.unwrap());
    before.push(epoch(&db, user).await);
    assert!(factors.disable(change(), VerifiedProof::Password).await.unwrap());

    for before in before {
        assert_eq!(begin_as_of(&db, user, before, 9).await, SessionStarted::Stale, "{before:?}");
    }
    assert_eq!(begin_as_of(&db, user, epoch(&db, user).await, 9).await, SessionStarted::Done);
}

async fn beside_a_factor_that_is_put_on_no_session_stays_that_began_without_it(db: Database) {
    let (user, factors) = (person(&db, "ada@example.org").await, SqlFactors::new(db.clone()));
    factors.begin(user, b"sealed", START).await.unwrap();
    let (session, codes) = (begin_session(&db, user, 99).await, codes(0..10));
    let before = epoch(&db, user).await;

    let (_some_begun, enabled) = futures_util::join!(
        join_all((0..16).map(|it| begin_as_of(&db, user, before, it))),
        factors.enable(change(user, session), b"sealed", Step(7), &codes),
    );

    assert!(enabled.unwrap());
    for token in 0..16 {
        assert!(!alive(&db, token).await);
    }
    assert!(alive(&db, 99).await);
}
