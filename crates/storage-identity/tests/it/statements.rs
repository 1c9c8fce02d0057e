//! Number of statements a sign-in takes, and how many ways to the database and
//! back: each costs the cores time in which no password is hashed.

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

use crate::people::{START, audited, device, new_session, person};

pia_testkit::contract! {
    a_sign_in_takes_six_ways_to_the_database_and_back,
    to_make_room_for_a_session_takes_no_more_ways,
}

/// Number of times that it is tried: where a core is busy, an answer may be
/// there before the next statement is sent, which looks like one more way.
const TRIES: u8 = 5;

/// Number of connections that are watched; a test uses fewer at once.
const CONNECTIONS: usize = 3;
const QUOTA: RateQuota = RateQuota { burst: 100, window: Duration::from_mins(1) };

/// Queries of a database's connections.
#[derive(Clone, Default)]
struct Requested {
    statements: Arc<Mutex<Vec<String>>>,
    under_way: Arc<AtomicUsize>,
    ways: Arc<AtomicUsize>,
}

impl Requested {
    async fn of(db: &Database) -> Self {
        let requested = Self::default();
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            held.push(db.reader().await.unwrap());
        }
        if db.provider() == DatabaseKind::Sqlite {
            held.push(db.writer().await.unwrap());
        }
        for conn in &mut held {
            requested.watch(conn);
        }
        requested
    }

    fn watch(&self, conn: &mut Conn) {
        let requested = self.clone();
        let note = move |event: InstrumentationEvent<'_>| match event {
            InstrumentationEvent::StartQuery { query, .. } => {
                requested.statements.lock().unwrap().push(query.to_string());
                if requested.under_way.fetch_add(1, Ordering::SeqCst) == 0 {
                    requested.ways.fetch_add(1, Ordering::SeqCst);
                }
            }
            InstrumentationEvent::FinishQuery { .. } => {
                requested.under_way.fetch_sub(1, Ordering::SeqCst);
            }
            _ => {}
        };
        match conn {
            Conn::Sqlite(conn) => conn.set_instrumentation(note),
            Conn::Postgres(conn) => conn.set_instrumentation(note),
        }
    }

    /// The statements since this was asked last, and how often something was
    /// sent while no answer was waited for.
    fn taken(&self) -> (Vec<String>, usize) {
        let statements = std::mem::take(&mut *self.statements.lock().unwrap());
        (statements, self.ways.swap(0, Ordering::SeqCst))
    }
}

/// Runs the queries of gates and use case for somebody who signs in with a
/// password.
async fn sign_in(db: &Database, user: UserId, token: u8) {
    let (rules, now) = (GuessRules::default(), START + Duration::from_secs(token.into()));
    SqlRateLimitStore::new(db.clone()).attempt("192.0.2.1", QUOTA, now).await.unwrap();
    let accounts = SqlAccounts::new(db.clone());
    let from = device().network();
    let found = accounts.candidate("ada@example.org", from, Timestamp::UNIX_EPOCH).await.unwrap();
    let guesses = SqlPasswordThrottleStore::new(db.clone());
    guesses.count("ada", rules, now).await.unwrap();
    guesses.clear("ada").await.unwrap();
    begin(db, user, token, now).await;
    assert_eq!(found.unwrap().credentials.account.user, user);
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

async fn a_sign_in_takes_six_ways_to_the_database_and_back(db: Database) {
    let user = person(&db, "ada@example.org").await;
    let requested = Requested::of(&db).await;
    sign_in(&db, user, 1).await;
    requested.taken();

    let (mut statements, mut ways) = (Vec::new(), usize::MAX);
    for token in 2..2 + TRIES {
        sign_in(&db, user, token).await;
        let taken = requested.taken();
        ways = ways.min(taken.1);
        statements = taken.0;
    }

    // What begins and ends transactions counts too.
    let expected = match db.provider() {
        DatabaseKind::Sqlite => (21, 21),
        DatabaseKind::Postgres => (9, 6),
    };
    assert_eq!((statements.len(), ways), expected, "{statements:#?}");
    assert_eq!(audited(&db, user, "session.started").await, 1 + i64::from(TRIES));
}

async fn to_make_room_for_a_session_takes_no_more_ways(db: Database) {
    let user = person(&db, "ada@example.org").await;
    for token in 0..10 {
        begin(&db, user, token, START).await;
    }
    let requested = Requested::of(&db).await;

    let mut reported = Vec::new();
    for token in 10..10 + TRIES {
        begin(&db, user, token, START + Duration::from_secs(token.into())).await;
        let (statements, ways) = requested.taken();
        reported.push((statements.len(), ways));
    }

    assert_eq!(audited(&db, user, "session.evicted").await, i64::from(TRIES));
    if db.provider() == DatabaseKind::Postgres {
        assert_eq!(reported.into_iter().min(), Some((5, 2)));
    }
}
