//! Number of statements of an operation: each is a round trip to the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use diesel::connection::InstrumentationEvent;
use diesel_async::AsyncConnection;
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_storage::{Conn, Database, DatabaseKind};
use pia_sync::{
    Channel, Item, ItemLimits, PendingDevice, PendingDevices, PullRequest, PullService, Pulled,
    PushSettings, StampGaps,
};

use crate::person::{Person, START, item, todo};

pia_testkit::contract! {
    a_device_that_has_everything_costs_one_statement,
    a_pull_costs_two_statements_and_with_preferences_three,
    a_push_costs_no_more_statements_for_more_items,
}

/// Fake without pending devices.
struct NoPendingDevices;

#[async_trait]
impl PendingDevices for NoPendingDevices {
    async fn waiting_devices(&self, _user: UserId) -> Result<Vec<PendingDevice>, Unavailable> {
        Ok(Vec::new())
    }
}

/// Counter of the queries of sequentially used connections: a pool hands out the
/// one that was returned last.
struct Counter(Arc<AtomicUsize>);

impl Counter {
    async fn of(db: &Database) -> Self {
        let count = Arc::<AtomicUsize>::default();
        count_on(&mut db.reader().await.unwrap(), &count);
        count_on(&mut db.writer().await.unwrap(), &count);
        Self(count)
    }

    /// Returns the count since the last call.
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

fn count_on(conn: &mut Conn, count: &Arc<AtomicUsize>) {
    let count = Arc::clone(count);
    let note = move |event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { query, .. } = event {
            let sql = query.to_string();
            if !["BEGIN", "COMMIT"].iter().any(|it| sql.starts_with(it)) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    };
    match conn {
        Conn::Sqlite(conn) => conn.set_instrumentation(note),
        Conn::Postgres(conn) => conn.set_instrumentation(note),
    }
}

fn pull_service(person: &Person) -> PullService {
    PullService::new(
        Arc::new(person.reader.clone()),
        Arc::new(NoPendingDevices),
        StampGaps::default(),
    )
}

/// Pulls with outdated knowledge.
async fn pull(person: &Person, since: Timestamp, catalogue: Option<i64>) -> Pulled {
    let service = pull_service(person);
    let request = PullRequest { since, limit: Some(500), catalogue };
    let state = service.pull_state(person.user, since).await.unwrap();
    service.pull(person.user, &request, &state).await.unwrap()
}

async fn pull_at_once(person: &Person, since: Timestamp, catalogue: Option<i64>) -> Pulled {
    let request = PullRequest { since, limit: Some(500), catalogue };
    pull_service(person).pull_at_once(person.user, &request).await.unwrap().1
}

async fn a_device_that_has_everything_costs_one_statement(db: Database) {
    let person = Person::of(db).await;
    let last_stamp = person.push(10, vec![todo(1, 5)]).await.last_stamp;
    let counter = Counter::of(&person.db).await;

    pull_service(&person).pull_state(person.user, last_stamp).await.unwrap();

    assert_eq!(counter.take(), 1);
}

async fn a_pull_costs_two_statements_and_with_preferences_three(db: Database) {
    let person = Person::of(db).await;
    person.push(10, (1..=100).map(|it| todo(it, 5)).collect()).await;
    // The group's catalogue is cached from pull to pull.
    let first = pull(&person, START, None).await;
    let counter = Counter::of(&person.db).await;

    let known_pull = pull(&person, START, Some(first.catalogue_version)).await;
    let with_known = counter.take();
    let plugin = first.catalogue.unwrap().catalogue.plugins[0].id.as_u128();
    person.push(20, vec![item(Channel::PluginPreferences, plugin, 15)]).await;
    counter.take();
    let offered = pull(&person, START, None).await;
    let with_preferences = counter.take();
    let at_once = pull_at_once(&person, START, Some(offered.catalogue_version)).await;
    let at_once_count = counter.take();
    let all_at_once = pull_at_once(&person, START, None).await;
    let all_at_once_count = counter.take();

    assert_eq!(known_pull.page.rows.len(), 100);
    assert_eq!(with_known, 2);
    assert_eq!(at_once.page, offered.page);
    assert_eq!(at_once_count, 2);
    assert_eq!(all_at_once, offered);
    assert_eq!(with_preferences, 3);
    assert_eq!(all_at_once_count, 3);
}

async fn a_push_costs_no_more_statements_for_more_items(db: Database) {
    let limits = ItemLimits::default().with(Channel::Todos, 10_000);
    let settings = PushSettings { limits, ..PushSettings::default() };
    let person = Person { settings, ..Person::of(db).await };
    person.push(10, vec![todo(1, 5)]).await;
    let counter = Counter::of(&person.db).await;
    let todos = |ids: std::ops::Range<u128>| ids.map(|it| todo(it, 15)).collect::<Vec<Item>>();

    person.push(20, todos(100..105)).await;
    let count_of_few = counter.take();
    person.push(30, todos(1_000..1_500)).await;
    let count_of_many = counter.take();

    // On SQLite rows are written one by one: there is no round trip to save.
    let by_row = if person.db.provider() == DatabaseKind::Sqlite { 495 } else { 0 };
    assert_eq!(count_of_many, count_of_few + by_row);
    assert!(count_of_few > 0 && count_of_few < 15, "{count_of_few}");
}
