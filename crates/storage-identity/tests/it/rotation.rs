//! Contract tests of the rotation of refresh tokens.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{
    AccountStore, NewSession, PresentedToken, RotationOutcome, SessionEntry, SessionStore,
    SignInDevice, TokenHash,
};
use pia_kernel::{PageRequest, SessionId, SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::{SqlAccounts, SqlSessions};

use crate::people::{START, count_audited, create_person, deactivate, device, new_session, only};

pia_testkit::contract! {
    concurrent_presentations_of_one_token_have_one_successor,
    a_lost_response_is_repeated_within_the_grace,
    a_replay_after_the_grace_ends_the_session,
    a_replay_after_the_successor_was_used_ends_the_session,
    an_ended_session_stays_ended_despite_concurrent_rotations,
    a_rotation_extends_the_session,
    an_expired_session_is_not_continued,
    a_deactivated_account_is_refused,
    long_spent_tokens_are_deleted,
    omitted_device_properties_stay_unchanged,
}

const GRACE: Duration = Duration::from_secs(30);
const LIFETIME: Duration = Duration::from_hours(1);

/// Session whose token 1 is followed by 2, 2 by 3, and so on.
struct Chain {
    db: Database,
    user: UserId,
    session: SessionId,
    salt: u8,
}

impl Chain {
    async fn start(db: &Database, salt: u8) -> Self {
        let user = create_person(db, &format!("{salt}@example.org")).await;
        let chain = Self { db: db.clone(), user, session: SessionId::generate(), salt };
        let new = new_session(user, chain.hash(1), START);
        let new = NewSession { session: chain.session, ..new };
        chain.sessions().begin(new, 10, SideEffects::default(), only(reuse_effects)).await.unwrap();
        chain
    }

    async fn present(&self, token: u8, after: Duration) -> RotationOutcome {
        self.present_on(SignInDevice::default(), token, after).await
    }

    async fn present_on(
        &self,
        device: SignInDevice,
        token: u8,
        after: Duration,
    ) -> RotationOutcome {
        let presented_token = PresentedToken {
            hash: self.hash(token),
            successor: self.hash(token + 1),
            at: START + after,
            grace: GRACE,
            lifetime: LIFETIME,
            device,
        };
        self.sessions().rotate(presented_token, reuse_effects).await.unwrap()
    }

    /// Returns the session's entry in its user's list.
    async fn entry(&self) -> SessionEntry {
        let page = PageRequest { after: None, limit: 10 };
        let entries = self.sessions().page(self.user, START, page).await.unwrap();
        entries.into_iter().find(|it| it.session == self.session).unwrap()
    }

    fn sessions(&self) -> SqlSessions {
        SqlSessions::new(self.db.clone())
    }

    fn hash(&self, token: u8) -> TokenHash {
        let mut hash = [token; 32];
        hash[0] = self.salt;
        TokenHash(hash)
    }

    fn rotation(&self) -> RotationOutcome {
        RotationOutcome::Rotated { user: self.user, session: self.session }
    }
}

fn reuse_effects(subject: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, subject, "reused")
}

async fn concurrent_presentations_of_one_token_have_one_successor(db: Database) {
    let chain = Chain::start(&db, 0).await;

    let outcomes = join_all((0..64).map(|_| chain.present(1, Duration::ZERO))).await;

    assert_eq!(outcomes, vec![chain.rotation(); 64]);
    assert_eq!(chain.present(2, Duration::ZERO).await, chain.rotation());
}

async fn a_lost_response_is_repeated_within_the_grace(db: Database) {
    let chain = Chain::start(&db, 0).await;
    chain.present(1, Duration::ZERO).await;

    let repeated_outcome = chain.present(1, GRACE).await;

    assert_eq!(repeated_outcome, chain.rotation());
    assert_eq!(chain.present(2, GRACE).await, chain.rotation());
}

async fn a_replay_after_the_grace_ends_the_session(db: Database) {
    let chain = Chain::start(&db, 0).await;
    chain.present(1, Duration::ZERO).await;

    let replay = chain.present(1, GRACE + Duration::from_micros(1)).await;

    assert_eq!(replay, RotationOutcome::Reused);
    assert_eq!(chain.present(2, GRACE).await, RotationOutcome::Refused);
    assert_eq!(count_audited(&db, chain.user, "reused").await, 1);
}

async fn a_replay_after_the_successor_was_used_ends_the_session(db: Database) {
    let chain = Chain::start(&db, 0).await;
    chain.present(1, Duration::ZERO).await;
    chain.present(2, Duration::ZERO).await;

    let replay = chain.present(1, Duration::ZERO).await;

    assert_eq!(replay, RotationOutcome::Reused);
    assert_eq!(chain.present(3, Duration::ZERO).await, RotationOutcome::Refused);
}

async fn an_ended_session_stays_ended_despite_concurrent_rotations(db: Database) {
    let late_delay = GRACE * 2;
    for salt in 0..16 {
        let chain = Chain::start(&db, salt).await;
        chain.present(1, Duration::ZERO).await;

        let outcomes = join_all((0..16).map(|n| chain.present(2 - n % 2, late_delay))).await;

        assert!(outcomes.contains(&RotationOutcome::Reused), "{outcomes:?}");
        for token in 1..4 {
            assert_eq!(
                chain.present(token, late_delay).await,
                RotationOutcome::Refused,
                "token {token}"
            );
        }
        assert_eq!(count_audited(&db, chain.user, "reused").await, 1);
    }
}

async fn a_rotation_extends_the_session(db: Database) {
    let chain = Chain::start(&db, 0).await;
    let half = LIFETIME / 2;
    let accounts = SqlAccounts::new(db);

    chain.present(1, half).await;

    let state = async |after| accounts.caller_state(chain.user, chain.session, START + after).await;
    assert!(state(LIFETIME).await.unwrap().is_some());
    assert!(state(half + LIFETIME).await.unwrap().is_none());
}

async fn an_expired_session_is_not_continued(db: Database) {
    let chain = Chain::start(&db, 0).await;

    let late_outcome = chain.present(1, LIFETIME).await;

    assert_eq!(late_outcome, RotationOutcome::Refused);
}

async fn a_deactivated_account_is_refused(db: Database) {
    let chain = Chain::start(&db, 0).await;
    deactivate(&db, chain.user).await;

    let refused_outcome = chain.present(1, Duration::ZERO).await;

    assert_eq!(refused_outcome, RotationOutcome::Refused);
}

async fn long_spent_tokens_are_deleted(db: Database) {
    let chain = Chain::start(&db, 0).await;
    let step = LIFETIME * 3 / 4;
    let early_delay = Duration::ZERO;

    for (token, after) in [(1, early_delay), (2, step), (3, step * 2)] {
        assert_eq!(chain.present(token, after).await, chain.rotation());
    }

    assert_eq!(chain.present(1, step * 2).await, RotationOutcome::Refused);
    assert_eq!(chain.present(4, step * 2).await, chain.rotation());
    assert_eq!(chain.present(2, step * 2).await, RotationOutcome::Reused);
}

async fn omitted_device_properties_stay_unchanged(db: Database) {
    let chain = Chain::start(&db, 0).await;
    let minute = Duration::from_mins(1);
    let moved_device =
        SignInDevice { address: Some("192.0.2.7".parse().unwrap()), ..SignInDevice::default() };
    let updated_device =
        SignInDevice { app_version: Some("1.5.0.0".to_owned()), ..SignInDevice::default() };

    let at_first = chain.entry().await;
    chain.present_on(moved_device.clone(), 1, minute).await;
    let after_move = chain.entry().await;
    chain.present_on(updated_device.clone(), 2, minute * 2).await;
    let after_update = chain.entry().await;

    assert_eq!(at_first.device, device());
    assert_eq!(at_first.began_at, START);
    assert_eq!(at_first.used_at, START);
    assert_eq!(at_first.method, "password");
    assert_eq!(at_first.signed_in_from.as_deref(), Some("2001:db8::1"));

    let device_after_move = SignInDevice { address: moved_device.address, ..device() };
    assert_eq!(
        after_move,
        SessionEntry { used_at: START + minute, device: device_after_move.clone(), ..at_first }
    );

    let device_after_update =
        SignInDevice { app_version: updated_device.app_version, ..device_after_move };
    assert_eq!(
        after_update,
        SessionEntry { used_at: START + minute * 2, device: device_after_update, ..after_move }
    );
}
