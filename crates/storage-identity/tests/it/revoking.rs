//! Contract tests of listing and revoking a user's sessions.

use std::time::Duration;

use futures_util::future::{join, join_all};
use pia_identity::{
    PresentedToken, Revoked, RotationOutcome, SessionRef, SessionStore, SignInDevice, TokenHash,
};
use pia_kernel::{Cursor, PageRequest, SessionId, SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::SqlSessions;

use crate::people::{HOUR, START, count_audited, create_person, new_session, only};

pia_testkit::contract! {
    live_sessions_are_listed_in_pages_newest_first,
    revoking_one_session_ends_no_other,
    foreign_and_ended_sessions_are_not_found,
    revoking_the_others_ends_no_foreign_sessions,
    an_ended_session_revokes_nothing,
    one_of_concurrently_revoking_sessions_stays,
    a_revoked_session_stays_ended_despite_concurrent_refreshes,
    earlier_sessions_are_revoked_despite_concurrent_starts,
}

fn revocation_effects(subject: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, subject, "revoked")
}

fn no_effects(_: UserId, _: Timestamp) -> SideEffects {
    SideEffects::default()
}

/// User with a store of their sessions.
struct Person {
    sessions: SqlSessions,
    user: UserId,
    salt: u8,
}

impl Person {
    async fn new(db: &Database, salt: u8) -> Self {
        let user = create_person(db, &format!("{salt}@example.org")).await;
        Self { sessions: SqlSessions::new(db.clone()), user, salt }
    }

    /// Starts a session with this token.
    async fn begin(&self, token: u8, at: Timestamp) -> SessionRef {
        let new = new_session(self.user, self.hash(token), at);
        let session_ref = SessionRef { user: self.user, session: new.session };
        self.sessions.begin(new, 200, SideEffects::default(), only(no_effects)).await.unwrap();
        session_ref
    }

    async fn revoke(&self, by: SessionRef, targets: Revoked) -> Option<u64> {
        self.sessions.revoke(by, targets, START, revocation_effects).await.unwrap()
    }

    async fn refresh(&self, token: u8) -> RotationOutcome {
        let presented_token = PresentedToken {
            hash: self.hash(token),
            successor: self.hash(token + 1),
            at: START,
            grace: Duration::from_secs(30),
            lifetime: HOUR,
            device: SignInDevice::default(),
        };
        self.sessions.rotate(presented_token, revocation_effects).await.unwrap()
    }

    async fn page(&self, after: Option<Cursor>, limit: u16) -> Vec<SessionId> {
        let page =
            self.sessions.page(self.user, START, PageRequest { after, limit }).await.unwrap();
        page.into_iter().map(|it| it.session).collect()
    }

    /// Returns the live sessions.
    async fn live(&self) -> Vec<SessionId> {
        self.page(None, 200).await
    }

    fn hash(&self, token: u8) -> TokenHash {
        let mut hash = [token; 32];
        hash[0] = self.salt;
        TokenHash(hash)
    }
}

async fn live_sessions_are_listed_in_pages_newest_first(db: Database) {
    let ada = Person::new(&db, 0).await;
    let bob = Person::new(&db, 1).await;
    let mut started = Vec::new();
    // Two at a time, so that the time alone does not sort them.
    for token in 0..6 {
        let at = START + Duration::from_secs(u64::from(token) / 2);
        started.push((at, ada.begin(token, at).await.session));
    }
    bob.begin(0, START).await;
    ada.begin(100, START - HOUR).await;

    let mut listed_sessions = Vec::new();
    let mut after = None;
    for _ in 0..3 {
        let page = ada.page(after, 2).await;
        let last_session = page.last().unwrap();
        let at = started.iter().find(|it| it.1 == *last_session).unwrap().0;
        after = Some(Cursor { at, id: last_session.0 });
        listed_sessions.extend(page);
    }

    started.sort();
    let newest_first: Vec<_> = started.into_iter().rev().map(|it| it.1).collect();
    assert_eq!(listed_sessions, newest_first);
    assert_eq!(ada.page(after, 2).await, []);
}

async fn revoking_one_session_ends_no_other(db: Database) {
    let ada = Person::new(&db, 0).await;
    let first_session = ada.begin(1, START).await;
    let second_session = ada.begin(10, START).await;

    let ended = ada.revoke(first_session, Revoked::One(second_session.session)).await;
    let repeated_count = ada.revoke(first_session, Revoked::One(second_session.session)).await;
    let own_count = ada.revoke(first_session, Revoked::One(first_session.session)).await;

    assert_eq!(ended, Some(1));
    assert_eq!(repeated_count, Some(0));
    assert_eq!(own_count, Some(1));
    assert_eq!(ada.live().await, []);
    assert_eq!([ada.refresh(1).await, ada.refresh(10).await], [RotationOutcome::Refused; 2]);
    assert_eq!(count_audited(&db, ada.user, "revoked").await, 2);
}

async fn foreign_and_ended_sessions_are_not_found(db: Database) {
    let ada = Person::new(&db, 0).await;
    let bob = Person::new(&db, 1).await;
    let own_session = ada.begin(1, START).await;
    let foreign_session = bob.begin(1, START).await;
    let expired_session = ada.begin(2, START - HOUR).await;

    for session in [foreign_session.session, expired_session.session, SessionId::generate()] {
        assert_eq!(ada.revoke(own_session, Revoked::One(session)).await, Some(0));
    }

    assert_eq!(bob.live().await, [foreign_session.session]);
    assert_eq!(count_audited(&db, ada.user, "revoked").await, 0);
    assert_eq!(count_audited(&db, bob.user, "revoked").await, 0);
}

async fn revoking_the_others_ends_no_foreign_sessions(db: Database) {
    let ada = Person::new(&db, 0).await;
    let bob = Person::new(&db, 1).await;
    let own_session = ada.begin(0, START).await;
    for token in 1..5 {
        ada.begin(token * 10, START).await;
        bob.begin(token * 10, START).await;
    }
    ada.begin(90, START - HOUR).await;

    let ended = ada.revoke(own_session, Revoked::Others).await;
    let repeated_count = ada.revoke(own_session, Revoked::Others).await;

    assert_eq!(ended, Some(4));
    assert_eq!(repeated_count, Some(0));
    assert_eq!(ada.live().await, [own_session.session]);
    assert_eq!(bob.live().await.len(), 4);
    assert_eq!(count_audited(&db, ada.user, "revoked").await, 4);
}

async fn an_ended_session_revokes_nothing(db: Database) {
    let ada = Person::new(&db, 0).await;
    let bob = Person::new(&db, 1).await;
    let live_session = ada.begin(1, START).await;
    let ended = ada.begin(2, START).await;
    let expired_session = ada.begin(3, START - HOUR).await;
    ada.revoke(live_session, Revoked::One(ended.session)).await;
    let foreign_session_ref = SessionRef { user: ada.user, ..bob.begin(1, START).await };

    for by in [ended, expired_session, foreign_session_ref] {
        assert_eq!(ada.revoke(by, Revoked::Others).await, None);
        assert_eq!(ada.revoke(by, Revoked::One(live_session.session)).await, None);
    }

    assert_eq!(ada.live().await, [live_session.session]);
}

async fn one_of_concurrently_revoking_sessions_stays(db: Database) {
    let ada = Person::new(&db, 0).await;
    let mut claims = Vec::new();
    for token in 0..16 {
        claims.push(ada.begin(token, START).await);
    }

    let outcomes = join_all(claims.iter().map(|it| ada.revoke(*it, Revoked::Others))).await;

    let winners = outcomes.iter().filter(|it| **it == Some(15)).count();
    let too_late = outcomes.iter().filter(|it| it.is_none()).count();
    assert_eq!(winners, 1, "{outcomes:?}");
    assert_eq!(too_late, 15, "{outcomes:?}");
    assert_eq!(ada.live().await.len(), 1);
}

async fn a_revoked_session_stays_ended_despite_concurrent_refreshes(db: Database) {
    for salt in 0..16 {
        let ada = Person::new(&db, salt).await;
        let own_session = ada.begin(100, START).await;
        let ended = ada.begin(1, START).await;

        let refreshes = join_all((0..8).map(|_| ada.refresh(1)));
        let which = if salt % 2 == 0 { Revoked::Others } else { Revoked::One(ended.session) };
        let (refreshed, revoked) = join(refreshes, ada.revoke(own_session, which)).await;

        let went_on = RotationOutcome::Rotated { user: ended.user, session: ended.session };
        assert!(
            refreshed.iter().all(|it| [went_on, RotationOutcome::Refused].contains(it)),
            "{refreshed:?}"
        );
        assert_eq!(revoked, Some(1));
        assert_eq!([ada.refresh(1).await, ada.refresh(2).await], [RotationOutcome::Refused; 2]);
        assert_eq!(ada.live().await, [own_session.session]);
    }
}

async fn earlier_sessions_are_revoked_despite_concurrent_starts(db: Database) {
    for salt in 0..8 {
        let ada = Person::new(&db, salt).await;
        let own_session = ada.begin(0, START).await;
        let mut before = Vec::new();
        for token in 1..5 {
            before.push(ada.begin(token, START).await.session);
        }

        let begins = join_all((10..20).map(|token| ada.begin(token, START)));
        let (started, revoked) = join(begins, ada.revoke(own_session, Revoked::Others)).await;

        let live_sessions = ada.live().await;
        let stayed = started.iter().filter(|it| live_sessions.contains(&it.session)).count();
        assert!(live_sessions.contains(&own_session.session));
        assert!(before.iter().all(|it| !live_sessions.contains(it)), "{live_sessions:?}");
        assert_eq!(live_sessions.len(), 1 + stayed);
        assert_eq!(revoked, Some((before.len() + started.len() - stayed) as u64));
    }
}
