//! Tests of pulls.

use super::*;
use crate::channel::Channel;
use crate::item::ItemKey;
use crate::ports::{MockPendingDevices, MockSyncReader, Row};

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn head() -> Head {
    Head {
        epoch: vec![7; 16],
        version: 3,
        last_stamp: at(100),
        group: Uuid::from_u128(1),
        catalogue: 5,
        preferences: None,
        has_pending_devices: false,
    }
}

fn pull_state(head: Head, since: Timestamp) -> PullState {
    PullState { head, since }
}

fn pull_service(reader: MockSyncReader) -> PullService {
    PullService::new(Arc::new(reader), Arc::new(MockPendingDevices::new()), StampGaps::default())
}

async fn pull(reader: MockSyncReader, since: Timestamp, head: Head) -> Pulled {
    let state = pull_state(head, since);
    let catalogue = Some(state.catalogue_version());
    let request = PullRequest { since, limit: Some(500), catalogue };
    let service = pull_service(reader);
    service.pull(UserId::generate(), &request, &state).await.unwrap()
}

fn returning(page: ItemPage) -> MockSyncReader {
    let mut reader = MockSyncReader::new();
    reader.expect_page().once().return_once(move |_, _, _| Ok(page));
    reader
}

#[tokio::test]
async fn an_up_to_date_device_gets_nothing_and_no_row_is_read() {
    let pulled = pull(MockSyncReader::new(), at(100), head()).await;

    assert_eq!(pulled.watermark, at(100));
    assert!(!pulled.has_more);
    assert_eq!(pulled.page, ItemPage::default());
}

#[tokio::test]
async fn a_cursor_from_the_future_is_reset_to_the_watermark() {
    let pulled = pull(MockSyncReader::new(), at(900), head()).await;

    assert_eq!(pulled.watermark, at(100));
    assert!(!pulled.has_more);
}

/// Pull while there is a stamp gap from 50 to 70, before which the account's last
/// stamp is 40.
struct GapPull {
    since: i64,
    limit: Option<u32>,
    /// Stamp of the only row of each page.
    row_stamp: i64,
    /// Stamps after which pages are expected to be read, in their order.
    page_starts: Vec<i64>,
}

impl GapPull {
    /// Pulls in both ways, which must return the same.
    async fn run(&self) -> Pulled {
        let key = ItemKey { channel: Channel::Todos, id: Uuid::nil() };
        let stamp = at(self.row_stamp);
        let row = Row { key, stamp, body: None };
        let page = ItemPage { rows: vec![row], up_to: Some(stamp), is_truncated: true };
        let stamp_gaps = StampGaps::new(vec![StampGap { began_at: at(50), ended_at: at(70) }]);
        let service = PullService::new(
            Arc::new(self.expect_reads(&page)),
            Arc::new(MockPendingDevices::new()),
            stamp_gaps,
        );
        let user = UserId::generate();
        let since = at(self.since);
        let state = pull_state(head(), since);
        let catalogue = Some(state.catalogue_version());
        let request = PullRequest { since, limit: self.limit, catalogue };

        let pulled = service.pull(user, &request, &state).await.unwrap();
        let (_, pulled_at_once) = service.pull_at_once(user, &request).await.unwrap();

        assert_eq!(pulled_at_once, pulled);
        assert_eq!(pulled.page, page);
        pulled
    }

    fn expect_reads(&self, page: &ItemPage) -> MockSyncReader {
        let first_start = at(self.page_starts[0]);
        let first_page = page.clone();
        let page_with_head = page.clone();
        let mut reader = MockSyncReader::new();
        reader
            .expect_page()
            .withf(move |_, since, _| *since == first_start)
            .once()
            .return_once(move |_, _, _| Ok(first_page));
        // A pull at once reads its first page together with the head.
        reader
            .expect_head_and_page()
            .withf(move |_, since, _| *since == first_start)
            .once()
            .return_once(move |_, _, _| Ok(Some((head(), page_with_head))));

        for start in self.page_starts[1..].iter().map(|it| at(*it)) {
            let later_page = page.clone();
            reader
                .expect_page()
                .withf(move |_, since, _| *since == start)
                .times(2)
                .returning(move |_, _, _| Ok(later_page.clone()));
        }

        reader.expect_last_until().returning(|_, until| Ok((until == at(50)).then_some(at(40))));
        reader
    }
}

#[tokio::test]
async fn a_stamp_in_a_gap_is_reset_to_the_accounts_last_before_it() {
    let gap_pull = GapPull { since: 60, limit: Some(500), row_stamp: 80, page_starts: vec![50] };

    let pulled = gap_pull.run().await;

    assert_eq!(pulled.watermark, at(40));
    assert!(!pulled.has_more);
}

#[tokio::test]
async fn issued_stamps_and_times_of_old_devices_are_continued() {
    for (since, limit) in [(50, Some(500)), (70, Some(500)), (60, None)] {
        let gap_pull = GapPull { since, limit, row_stamp: 80, page_starts: vec![since] };

        let pulled = gap_pull.run().await;

        assert_eq!(pulled.watermark, at(80));
        assert!(pulled.has_more);
    }
}

#[tokio::test]
async fn a_gap_does_not_apply_to_an_account_with_stamps_in_it() {
    let gap_pull =
        GapPull { since: 60, limit: Some(500), row_stamp: 65, page_starts: vec![50, 60] };

    let pulled = gap_pull.run().await;

    // Otherwise a page that ends there would be requested again and again.
    assert_eq!(pulled.watermark, at(65));
    assert!(pulled.has_more);
}

#[tokio::test]
async fn a_truncated_page_is_continued_after_its_last_row() {
    let truncated_page = ItemPage { rows: vec![], up_to: Some(at(60)), is_truncated: true };
    let complete_page = ItemPage { rows: vec![], up_to: Some(at(60)), is_truncated: false };
    let newer_page = ItemPage { rows: vec![], up_to: Some(at(130)), is_truncated: false };

    for (page, watermark, has_more) in [
        (truncated_page, at(60), true),
        (complete_page, at(100), false),
        (newer_page, at(130), false),
    ] {
        let pulled = pull(returning(page), at(10), head()).await;

        assert_eq!(pulled.watermark, watermark);
        assert_eq!(pulled.has_more, has_more);
    }
}

#[tokio::test]
async fn a_device_without_paging_gets_everything_at_once() {
    let mut reader = MockSyncReader::new();
    let is_large = |limit: &PageLimit| limit.rows >= 100_000 && limit.bytes > MAX_PAGE_BYTES;
    reader
        .expect_page()
        .withf(move |_, _, limit| is_large(limit))
        .once()
        .returning(|_, _, _| Ok(ItemPage::default()));
    let service = pull_service(reader);
    let state = pull_state(head(), at(10));

    let catalogue = Some(state.catalogue_version());
    let request = PullRequest { since: at(10), limit: None, catalogue };
    let pulled = service.pull(UserId::generate(), &request, &state).await.unwrap();

    assert!(!pulled.has_more);
}

async fn pull_at_once(head: Option<Head>, page: ItemPage, since: Timestamp) -> Option<Pulled> {
    let mut reader = MockSyncReader::new();
    let expected_state = head.clone().map(|it| pull_state(it, since));
    let catalogue = expected_state.as_ref().map(PullState::catalogue_version);
    reader
        .expect_head_and_page()
        .withf(move |_, it, limit| *it == since && limit.rows == 500)
        .once()
        .return_once(move |_, _, _| Ok(head.map(|it| (it, page))));
    let service = pull_service(reader);
    let request = PullRequest { since, limit: Some(9_000), catalogue };
    match service.pull_at_once(UserId::generate(), &request).await {
        Ok((state, pulled)) => {
            assert_eq!(Some(state), expected_state);
            Some(pulled)
        }
        Err(PullError::Gone) => None,
        Err(PullError::Unavailable(err)) => panic!("{err}"),
    }
}

#[tokio::test]
async fn both_ways_of_pulling_return_the_same() {
    let page = ItemPage { rows: vec![], up_to: Some(at(60)), is_truncated: true };

    let at_once = pull_at_once(Some(head()), page.clone(), at(10)).await.unwrap();

    assert_eq!(at_once, pull(returning(page), at(10), head()).await);
    assert_eq!(at_once.watermark, at(60));
    assert!(at_once.has_more);
    assert_eq!(pull_at_once(None, ItemPage::default(), at(10)).await, None);
}

#[tokio::test]
async fn later_writes_wait_if_the_state_was_up_to_date() {
    let newer_page = ItemPage { rows: vec![], up_to: Some(at(950)), is_truncated: false };

    for since in [at(100), at(900)] {
        let pulled = pull_at_once(Some(head()), newer_page.clone(), since).await.unwrap();

        assert_eq!(pulled.watermark, at(100));
        assert!(!pulled.has_more);
        assert_eq!(pulled.page, ItemPage::default());
    }
}

#[test]
fn the_tag_changes_with_any_part_of_the_state() {
    let tag = |head| pull_state(head, at(10)).tag();
    let original = tag(head());

    assert_eq!(tag(head()), original);
    for changed in [
        Head { epoch: vec![8; 16], ..head() },
        Head { version: 4, ..head() },
        Head { last_stamp: at(101), ..head() },
        Head { group: Uuid::from_u128(2), ..head() },
        Head { catalogue: 6, ..head() },
        Head { preferences: Some(at(1)), ..head() },
    ] {
        assert_ne!(tag(changed.clone()), original, "{changed:?}");
    }
    assert_ne!(pull_state(head(), at(11)).tag(), original);
}

#[tokio::test]
async fn the_catalogue_is_sent_unless_the_device_has_it() {
    let mut reader = MockSyncReader::new();
    reader.expect_catalogue().once().returning(|_, _| Ok(Catalogue::default()));
    reader.expect_preferences().once().returning(|_| Ok(vec![(Uuid::from_u128(9), false)]));
    let service = pull_service(reader);
    let state = pull_state(Head { preferences: Some(at(1)), ..head() }, at(100));

    let request = PullRequest { since: at(100), limit: Some(500), catalogue: Some(1) };
    let pulled = service.pull(UserId::generate(), &request, &state).await.unwrap();

    let snapshot = pulled.catalogue.unwrap();
    assert_eq!(snapshot.plugin_preferences, HashMap::from([(Uuid::from_u128(9), false)]));
    assert!(pulled.catalogue_version > 0);
}

#[tokio::test]
async fn waiting_devices_are_loaded_only_if_there_are_any() {
    let mut pending = MockPendingDevices::new();
    let device = PendingDevice { id: Uuid::nil(), name: "laptop".to_owned(), created_at: at(1) };
    pending.expect_waiting_devices().once().return_once(move |_| Ok(vec![device]));
    let service =
        PullService::new(Arc::new(MockSyncReader::new()), Arc::new(pending), StampGaps::default());
    let state = pull_state(Head { has_pending_devices: true, ..head() }, at(100));

    let catalogue = Some(state.catalogue_version());
    let request = PullRequest { since: at(100), limit: Some(500), catalogue };
    let pulled = service.pull(UserId::generate(), &request, &state).await.unwrap();

    assert_eq!(pulled.pending.len(), 1);
}
