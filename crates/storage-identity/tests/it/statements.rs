//! Contract tests of the number of statements and round trips of a sign-in: each costs
//! the cores time in which no password is hashed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diesel::connection::InstrumentationEvent;
use diesel_async::AsyncConnection;
use pia_identity::{
    AccountStore, GuessRules, PasswordThrottleStore, RateLimitStore, RateQuota,
    SessionStartEffects, SessionStore, TokenHash,
};
use pia_kernel::{QueuedEmail, SideEffects, Timestamp, UserId};
use pia_storage::{Conn, Database, DatabaseKind};
use pia_storage_identity::{SqlAccounts, SqlPasswordThrottleStore, SqlRateLimitStore, SqlSessions};

use crate::people::{START, count_audited, create_person, device, new_session};

pia_testkit::contract! {
    a_sign_in_takes_six_round_trips_to_the_database,
    evicting_a_session_takes_no_more_round_trips,
}

/// Number of attempts: if a core is busy, a response may arrive before the next
/// statement is sent, which looks like one more round trip.
const TRIES: u8 = 5;

/// Number of observed connections; a test uses fewer at once.
const CONNECTIONS: usize = 3;
const QUOTA: RateQuota = RateQuota { burst: 100, window: Duration::from_mins(1) };

/// Counter of the queries of a database's connections.
#[derive(Clone, Default)]
struct QueryCounter {
    statements: Arc<Mutex<Vec<String>>>,
    under_way: Arc<AtomicUsize>,
    round_trips: Arc<AtomicUsize>,
}

impl QueryCounter {
    async fn of(db: &Database) -> Self {
        let counter = Self::default();
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            held.push(db.reader().await.unwrap());
        }
        if db.provider() == DatabaseKind::Sqlite {
            held.push(db.writer().await.unwrap());
        }
        for conn in &mut held {
            counter.watch(conn);
        }
        counter
    }

    fn watch(&self, conn: &mut Conn) {
        let counter = self.clone();
        let record = move |event: InstrumentationEvent<'_>| match event {
            InstrumentationEvent::StartQuery { query, .. } => {
                counter.statements.lock().unwrap().push(query.to_string());
                if counter.under_way.fetch_add(1, Ordering::SeqCst) == 0 {
                    counter.round_trips.fetch_add(1, Ordering::SeqCst);
                }
            }
            InstrumentationEvent::FinishQuery { .. } => {
                counter.under_way.fetch_sub(1, Ordering::SeqCst);
            }
            _ => {}
        };
        match conn {
            Conn::Sqlite(conn) => conn.set_instrumentation(record),
            Conn::Postgres(conn) => conn.set_instrumentation(record),
        }
    }

    /// Returns the statements since the last call, and the number of round
    /// trips: sends while no response was awaited.
    fn taken(&self) -> (Vec<String>, usize) {
        let statements = std::mem::take(&mut *self.statements.lock().unwrap());
        (statements, self.round_trips.swap(0, Ordering::SeqCst))
    }
}

/// Runs the queries of gates and use case of a sign-in with a password.
async fn sign_in(db: &Database, user: UserId, token: u8) {
    let rules = GuessRules::default();
    let now = START + Duration::from_secs(token.into());
    SqlRateLimitStore::new(db.clone()).attempt("192.0.2.1", QUOTA, now).await.unwrap();
    let accounts = SqlAccounts::new(db.clone());
    let from = device().network();
    let candidate =
        accounts.candidate("ada@example.org", from, Timestamp::UNIX_EPOCH).await.unwrap();
    let guesses = SqlPasswordThrottleStore::new(db.clone());
    guesses.count("ada", rules, now).await.unwrap();
    guesses.clear("ada").await.unwrap();
    begin(db, user, token, now).await;

    assert_eq!(candidate.unwrap().credentials.account.user, user);
}

async fn begin(db: &Database, user: UserId, token: u8, now: Timestamp) {
    let others = SessionStartEffects {
        if_ended: |user, at| SideEffects::about(at, user, "session.evicted"),
        if_new_device: |user, at| {
            SideEffects::default().and_mail(QueuedEmail::new("new-device").to_user(at, user))
        },
    };
    let new = new_session(user, TokenHash([token; 32]), now);
    let started = SideEffects::audit(now, user, "session.started");
    SqlSessions::new(db.clone()).begin(new, 10, started, others).await.unwrap();
}

async fn a_sign_in_takes_six_round_trips_to_the_database(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let counter = QueryCounter::of(&db).await;
    sign_in(&db, user, 1).await;
    counter.taken();

    let mut statements = Vec::new();
    let mut round_trips = usize::MAX;
    for token in 2..2 + TRIES {
        sign_in(&db, user, token).await;
        let taken = counter.taken();
        round_trips = round_trips.min(taken.1);
        statements = taken.0;
    }

    // Statements that begin and end transactions count too.
    let (expected_statements, expected_round_trips) = match db.provider() {
        DatabaseKind::Sqlite => (21, 21),
        DatabaseKind::Postgres => (9, 6),
    };
    assert_eq!(statements.len(), expected_statements, "{statements:#?}");
    assert_eq!(round_trips, expected_round_trips, "{statements:#?}");
    assert_eq!(count_audited(&db, user, "session.started").await, 1 + i64::from(TRIES));
}

async fn evicting_a_session_takes_no_more_round_trips(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    for token in 0..10 {
        begin(&db, user, token, START).await;
    }
    let counter = QueryCounter::of(&db).await;

    let mut costs = Vec::new();
    for token in 10..10 + TRIES {
        begin(&db, user, token, START + Duration::from_secs(token.into())).await;
        let (statements, round_trips) = counter.taken();
        costs.push((statements.len(), round_trips));
    }

    assert_eq!(count_audited(&db, user, "session.evicted").await, i64::from(TRIES));
    if db.provider() == DatabaseKind::Postgres {
        assert_eq!(costs.into_iter().min(), Some((5, 2)));
    }
}
