//! Contract tests of enabling and disabling second factors.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    EnrolmentOutcome, Factor, FactorChange, FactorState, FactorStore, NewSession, RecoveryHash,
    SessionRef, SessionStartOutcome, SessionStore, SignInMethod, Step, TokenHash, VerifiedProof,
};
use pia_kernel::{SessionId, SideEffects, Timestamp, UserId};
use pia_storage::schema::sessions;
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_storage_identity::{SqlFactors, SqlSessions};

use crate::people::{
    START, begin_as_of, count_audited, create_person, deactivate, device, epoch, only, remove,
};

pia_testkit::contract! {
    a_second_enrolment_replaces_the_first,
    one_of_concurrent_first_codes_enables_the_factor,
    a_factor_is_enabled_with_the_confirmed_secret_only,
    an_enabled_factor_is_not_replaced,
    a_step_is_accepted_once_and_none_before_it,
    a_recovery_code_is_accepted_once_of_concurrent_uses,
    a_code_spent_for_another_store_is_accepted_once,
    new_recovery_codes_replace_the_old_ones,
    one_of_concurrent_calls_disables_the_factor,
    without_an_enabled_factor_no_proof_is_accepted,
    a_change_ends_the_other_sessions_of_its_user,
    nothing_changes_for_a_deactivated_account,
    a_secret_is_resealed_only_if_unchanged,
    factors_that_were_never_enabled_are_swept,
    factors_are_deleted_with_their_account,
    an_ended_session_changes_nothing,
    each_change_outdates_pending_sign_ins,
    enabling_a_factor_ends_concurrently_started_sessions,
}

/// Token number of the session that enables a factor in tests.
const ENABLING: u8 = 251;
const SHOWING: u8 = 252;

fn end_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "ended")
}

fn change(user: UserId, session: SessionId) -> FactorChange {
    let effects = SideEffects::audit(START, user, "changed");
    FactorChange { user, session, at: START, effects, if_ended: end_effects }
}

fn codes(numbers: std::ops::Range<u8>) -> Vec<RecoveryHash> {
    numbers.map(|it| RecoveryHash([it; 32])).collect()
}

/// Enables a factor whose first code was of step 10, with codes 0 to 9.
pub(crate) async fn enable(db: &Database, user: UserId) {
    let factors = SqlFactors::new(db.clone());
    assert_eq!(factors.begin(user, b"sealed", START).await.unwrap(), EnrolmentOutcome::Pending);
    let session = begin_session(db, user, ENABLING).await;
    let change = FactorChange { effects: SideEffects::default(), ..change(user, session) };
    assert!(factors.enable(change, b"sealed", Step(10), &codes(0..10)).await.unwrap());
    end(db, session).await;
}

/// Deletes a session without side effects.
async fn end(db: &Database, session: SessionId) {
    let session = diesel::delete(sessions::table.find(DbUid(session.0)));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| session.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
}

async fn begin_session(db: &Database, user: UserId, token: u8) -> SessionId {
    let session = SessionId::generate();
    let hash = TokenHash([token; 32]);
    let expires_at = START + Duration::from_hours(1);
    let method = SignInMethod::Password;
    let device = device();
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
        browser: None,
    };
    SqlSessions::new(db.clone())
        .begin(new, 10, SideEffects::default(), only(end_effects))
        .await
        .unwrap();
    session
}

async fn alive(db: &Database, token: u8) -> bool {
    let sessions = SqlSessions::new(db.clone());
    sessions.session_of(TokenHash([token; 32])).await.unwrap().is_some()
}

/// Returns whether this proof is accepted for new recovery codes.
async fn is_accepted(db: &Database, user: UserId, verified: VerifiedProof) -> bool {
    let session = begin_session(db, user, SHOWING).await;
    let change = change(user, session);
    let factors = SqlFactors::new(db.clone());
    let accepted = factors.replace_codes(change, verified, &codes(0..10)).await.unwrap();
    end(db, session).await;
    accepted
}

async fn a_second_enrolment_replaces_the_first(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    let later_time = START + Duration::from_secs(5);

    let missing_factor = factors.factor(user).await.unwrap();
    let enrolled = [
        factors.begin(user, b"first", START).await.unwrap(),
        factors.begin(user, b"second", later_time).await.unwrap(),
    ];

    let stored_factor =
        Factor { sealed: b"second".to_vec(), state: FactorState::Pending { at: later_time } };
    assert_eq!(missing_factor, None);
    assert_eq!(enrolled, [EnrolmentOutcome::Pending; 2]);
    assert_eq!(factors.factor(user).await.unwrap(), Some(stored_factor));
}

async fn one_of_concurrent_first_codes_enables_the_factor(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    factors.begin(user, b"sealed", START).await.unwrap();
    let session = begin_session(&db, user, 1).await;
    let codes = codes(0..10);

    let calls = (0..64).map(|_| factors.enable(change(user, session), b"sealed", Step(7), &codes));
    let outcomes = join_all(calls).await;

    assert_eq!(outcomes.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    assert_eq!(factors.factor(user).await.unwrap().unwrap().state, FactorState::On);
    assert_eq!(count_audited(&db, user, "changed").await, 1);
    assert!(!is_accepted(&db, user, VerifiedProof::Code(Step(7))).await, "it was used for that");
}

async fn a_factor_is_enabled_with_the_confirmed_secret_only(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    factors.begin(user, b"first", START).await.unwrap();
    factors.begin(user, b"second", START).await.unwrap();
    let change = change(user, begin_session(&db, user, 1).await);

    let on = factors.enable(change, b"first", Step(7), &codes(0..10)).await.unwrap();

    assert!(!on);
    assert_ne!(factors.factor(user).await.unwrap().unwrap().state, FactorState::On);
}

async fn an_enabled_factor_is_not_replaced(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;

    let enrolled = factors.begin(user, b"another", START).await.unwrap();

    assert_eq!(enrolled, EnrolmentOutcome::AlreadyOn);
    assert_eq!(factors.factor(user).await.unwrap().unwrap().sealed, b"sealed");
}

async fn a_step_is_accepted_once_and_none_before_it(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;

    let session = begin_session(&db, user, 1).await;
    let code = |step| VerifiedProof::Code(Step(step));
    let codes = codes(0..10);
    let calls = (0..64).map(|_| factors.replace_codes(change(user, session), code(12), &codes));
    let outcomes = join_all(calls).await;

    assert_eq!(outcomes.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    for (step, expected) in [(10, false), (11, false), (12, false), (13, true), (13, false)] {
        assert_eq!(is_accepted(&db, user, code(step)).await, expected, "{step}");
    }
}

async fn a_recovery_code_is_accepted_once_of_concurrent_uses(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;
    let other_user = create_person(&db, "eve@example.org").await;
    enable(&db, other_user).await;
    let code = VerifiedProof::RecoveryCode(RecoveryHash([3; 32]));
    let new_codes = codes(100..110);

    let session = begin_session(&db, user, 1).await;
    let calls = (0..64).map(|_| factors.replace_codes(change(user, session), code, &new_codes));
    let outcomes = join_all(calls).await;

    assert_eq!(outcomes.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    assert!(is_accepted(&db, other_user, code).await, "another's equal code is another code");
}

async fn a_code_spent_for_another_store_is_accepted_once(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;
    let session_ref = SessionRef { user, session: begin_session(&db, user, 1).await };
    let spent = || SideEffects::audit(START, user, "spent");
    let code = VerifiedProof::RecoveryCode(RecoveryHash([3; 32]));

    let outcomes =
        join_all((0..64).map(|_| factors.spend(session_ref, code, START, spent()))).await;
    let step =
        factors.spend(session_ref, VerifiedProof::Code(Step(12)), START, spent()).await.unwrap();
    let accepts_old_step =
        factors.spend(session_ref, VerifiedProof::Code(Step(11)), START, spent()).await.unwrap();
    end(&db, session_ref.session).await;
    let over =
        factors.spend(session_ref, VerifiedProof::Code(Step(13)), START, spent()).await.unwrap();

    assert_eq!(outcomes.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    assert_eq!([step, accepts_old_step, over], [true, false, false]);
    assert_eq!(count_audited(&db, user, "spent").await, 2);
}

async fn new_recovery_codes_replace_the_old_ones(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;
    let change = change(user, begin_session(&db, user, 1).await);

    let is_done =
        factors.replace_codes(change, VerifiedProof::Password, &codes(50..60)).await.unwrap();

    let code = |number| VerifiedProof::RecoveryCode(RecoveryHash([number; 32]));
    assert!(is_done);
    assert!(!is_accepted(&db, user, code(3)).await);
    assert!(is_accepted(&db, user, code(53)).await);
}

async fn one_of_concurrent_calls_disables_the_factor(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;
    let session = begin_session(&db, user, 1).await;

    let outcomes =
        join_all((0..64).map(|_| factors.disable(change(user, session), VerifiedProof::Password)))
            .await;

    assert_eq!(outcomes.into_iter().map(Result::unwrap).filter(|it| *it).count(), 1);
    assert_eq!(factors.factor(user).await.unwrap(), None);
    assert_eq!(count_audited(&db, user, "changed").await, 1);
}

async fn without_an_enabled_factor_no_proof_is_accepted(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    let session = begin_session(&db, user, 1).await;
    let verified = [
        VerifiedProof::Password,
        VerifiedProof::Code(Step(20)),
        VerifiedProof::RecoveryCode(RecoveryHash([3; 32])),
    ];

    for enrol in [false, true] {
        if enrol {
            factors.begin(user, b"sealed", START).await.unwrap();
        }
        for verified in verified {
            let disabled = factors.disable(change(user, session), verified).await;
            assert!(!disabled.unwrap() && !is_accepted(&db, user, verified).await, "{verified:?}");
        }
    }

    assert_eq!(count_audited(&db, user, "changed").await, 0);
}

async fn a_change_ends_the_other_sessions_of_its_user(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    let other_user = create_person(&db, "eve@example.org").await;
    enable(&db, user).await;
    for token in [1, 2] {
        begin_session(&db, user, token).await;
    }
    let own_session = begin_session(&db, user, 3).await;
    begin_session(&db, other_user, 4).await;
    let wrong_proof = VerifiedProof::Code(Step(10));

    let was_disabled = factors.disable(change(user, own_session), wrong_proof).await.unwrap();
    let all_alive = alive(&db, 1).await && alive(&db, 2).await;
    let is_done =
        factors.disable(change(user, own_session), VerifiedProof::Password).await.unwrap();

    assert!(!was_disabled);
    assert!(all_alive);
    assert!(is_done);
    let alive_sessions =
        [alive(&db, 1).await, alive(&db, 2).await, alive(&db, 3).await, alive(&db, 4).await];
    assert_eq!(alive_sessions, [false, false, true, true]);
    assert_eq!(count_audited(&db, user, "ended").await, 2);
}

async fn nothing_changes_for_a_deactivated_account(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;
    let session = begin_session(&db, user, 1).await;

    deactivate(&db, user).await;

    let change = || change(user, session);
    let exchanged = factors.replace_codes(change(), VerifiedProof::Password, &codes(0..10)).await;
    let disabled = factors.disable(change(), VerifiedProof::Password).await;
    assert!(!exchanged.unwrap() && !disabled.unwrap());
}

async fn a_secret_is_resealed_only_if_unchanged(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;

    factors.reseal(user, b"another", b"wrong").await.unwrap();
    factors.reseal(user, b"sealed", b"anew").await.unwrap();

    let stored_factor = Factor { sealed: b"anew".to_vec(), state: FactorState::On };
    assert_eq!(factors.factor(user).await.unwrap(), Some(stored_factor));
}

async fn factors_that_were_never_enabled_are_swept(db: Database) {
    let factors = SqlFactors::new(db.clone());
    let on = create_person(&db, "on@example.org").await;
    let old_user = create_person(&db, "old@example.org").await;
    let new_user = create_person(&db, "new@example.org").await;
    enable(&db, on).await;
    factors.begin(old_user, b"sealed", START).await.unwrap();
    factors.begin(new_user, b"sealed", START + Duration::from_secs(1)).await.unwrap();

    let swept = factors.sweep(START + Duration::from_secs(1)).await.unwrap();

    assert_eq!(swept, 1);
    assert!(factors.factor(old_user).await.unwrap().is_none());
    assert!(factors.factor(on).await.unwrap().is_some());
    assert!(factors.factor(new_user).await.unwrap().is_some());
}

async fn factors_are_deleted_with_their_account(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    enable(&db, user).await;

    remove(&db, user).await;

    assert_eq!(factors.factor(user).await.unwrap(), None);
    assert_eq!(factors.begin(user, b"sealed", START).await.unwrap(), EnrolmentOutcome::Gone);
}

async fn an_ended_session_changes_nothing(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    let eve = create_person(&db, "eve@example.org").await;
    let ended = begin_session(&db, user, 1).await;
    let eves_session = begin_session(&db, eve, 2).await;
    end(&db, ended).await;
    let expired_session = begin_session(&db, user, 3).await;
    let late_change =
        FactorChange { at: START + Duration::from_hours(1), ..change(user, expired_session) };
    let refused_changes = [change(user, ended), change(user, eves_session), late_change];
    factors.begin(user, b"sealed", START).await.unwrap();
    let codes = codes(0..10);

    for change in refused_changes.clone() {
        assert!(!factors.enable(change, b"sealed", Step(7), &codes).await.unwrap());
    }

    let on = change(user, begin_session(&db, user, 4).await);
    assert!(factors.enable(on, b"sealed", Step(10), &codes).await.unwrap());
    for change in refused_changes {
        let replaced = factors.replace_codes(change.clone(), VerifiedProof::Password, &codes).await;
        let disabled = factors.disable(change, VerifiedProof::Password).await;
        assert!(!replaced.unwrap());
        assert!(!disabled.unwrap());
    }

    assert_eq!(count_audited(&db, user, "changed").await, 1);
}

async fn each_change_outdates_pending_sign_ins(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    factors.begin(user, b"sealed", START).await.unwrap();
    let session = begin_session(&db, user, 1).await;
    let change = || change(user, session);
    let codes = codes(0..10);
    let mut before = vec![epoch(&db, user).await];

    assert!(factors.enable(change(), b"sealed", Step(7), &codes).await.unwrap());
    before.push(epoch(&db, user).await);
    assert!(factors.replace_codes(change(), VerifiedProof::Password, &codes).await.unwrap());
    before.push(epoch(&db, user).await);
    assert!(factors.disable(change(), VerifiedProof::Password).await.unwrap());

    for before in before {
        assert_eq!(
            begin_as_of(&db, user, before, 9).await,
            SessionStartOutcome::Stale,
            "{before:?}"
        );
    }
    assert_eq!(begin_as_of(&db, user, epoch(&db, user).await, 9).await, SessionStartOutcome::Done);
}

async fn enabling_a_factor_ends_concurrently_started_sessions(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    factors.begin(user, b"sealed", START).await.unwrap();
    let session = begin_session(&db, user, 99).await;
    let codes = codes(0..10);
    let previous_epoch = epoch(&db, user).await;

    let (_started, enabled) = futures_util::join!(
        join_all((0..16).map(|it| begin_as_of(&db, user, previous_epoch, it))),
        factors.enable(change(user, session), b"sealed", Step(7), &codes),
    );

    assert!(enabled.unwrap());
    for token in 0..16 {
        assert!(!alive(&db, token).await);
    }
    assert!(alive(&db, 99).await);
}
