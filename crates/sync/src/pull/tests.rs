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

fn standing(head: Head, since: Timestamp) -> PullState {
    PullState { head, since }
}

async fn pull(reader: MockSyncReader, since: Timestamp, head: Head) -> Pulled {
    let standing = standing(head, since);
    let catalogue = Some(standing.catalogue_version());
    let ask = PullRequest { since, limit: Some(500), catalogue };
    let pulling = PullService::new(
        Arc::new(reader),
        Arc::new(MockPendingDevices::new()),
        StampGaps::default(),
    );
    pulling.pull(UserId::generate(), &ask, &standing).await.unwrap()
}

fn giving(page: ItemPage) -> MockSyncReader {
    let mut reader = MockSyncReader::new();
    reader.expect_page().once().return_once(move |_, _, _| Ok(page));
    reader
}

#[tokio::test]
async fn a_device_that_has_everything_is_granted_nothing_and_no_row_is_read() {
    let pulled = pull(MockSyncReader::new(), at(100), head()).await;

    assert_eq!((pulled.watermark, pulled.has_more), (at(100), false));
    assert_eq!(pulled.page, ItemPage::default());
}

#[tokio::test]
async fn a_cursor_from_the_future_is_answered_with_the_watermark() {
    let pulled = pull(MockSyncReader::new(), at(900), head()).await;

    assert_eq!((pulled.watermark, pulled.has_more), (at(100), false));
}

/// Pulls where nobody is known to have been given a stamp from 50 to 70, and
/// the first row after 50 has this one.
async fn pull_after_a_silence(
    since: i64,
    limit: Option<u32>,
    first: i64,
    reads: &[i64],
) -> (Timestamp, bool) {
    let key = ItemKey { channel: Channel::Todos, id: Uuid::nil() };
    let row = Row { key, stamp: at(first), body: None };
    let page = ItemPage { rows: vec![row], up_to: Some(at(first)), is_truncated: true };
    let (rows, both, from) = (page.clone(), page.clone(), at(reads[0]));
    let mut reader = MockSyncReader::new();
    for read in reads.iter().chain(&reads[1..]).copied() {
        let rows = rows.clone();
        reader
            .expect_page()
            .withf(move |_, since, _| *since == at(read))
            .once()
            .return_once(move |_, _, _| Ok(rows));
    }
    reader
        .expect_head_and_page()
        .withf(move |_, since, _| *since == from)
        .once()
        .return_once(move |_, _, _| Ok(Some((head(), both))));
    reader.expect_last_until().returning(|_, until| Ok((until == at(50)).then_some(at(40))));
    let stamp_gaps = StampGaps::new(vec![StampGap { began_at: at(50), ended_at: at(70) }]);
    let pulling =
        PullService::new(Arc::new(reader), Arc::new(MockPendingDevices::new()), stamp_gaps);
    let (user, standing) = (UserId::generate(), standing(head(), at(since)));
    let ask =
        PullRequest { since: at(since), limit, catalogue: Some(standing.catalogue_version()) };

    let reported = pulling.pull(user, &ask, &standing).await.unwrap();
    assert_eq!(pulling.pull_at_once(user, &ask).await.unwrap().1, reported);
    assert_eq!(reported.page, page);
    (reported.watermark, reported.has_more)
}

#[tokio::test]
async fn a_stamp_of_a_time_without_any_is_answered_with_the_persons_last_before_it() {
    assert_eq!(pull_after_a_silence(60, Some(500), 80, &[50]).await, (at(40), false));
}

#[tokio::test]
async fn stamps_that_were_granted_are_gone_on_from_and_so_are_times_of_old_devices() {
    for (since, limit) in [(50, Some(500)), (70, Some(500)), (60, None)] {
        let reported = pull_after_a_silence(since, limit, 80, &[since]).await;

        assert_eq!(reported, (at(80), true));
    }
}

#[tokio::test]
async fn it_was_no_time_without_stamps_for_who_was_granted_some() {
    // Else a page that ends there would be requested again and again.
    assert_eq!(pull_after_a_silence(60, Some(500), 65, &[50, 60]).await, (at(65), true));
}

#[tokio::test]
async fn a_page_that_is_cut_is_gone_on_with_after_its_last_row() {
    let cut = ItemPage { rows: vec![], up_to: Some(at(60)), is_truncated: true };
    let whole = ItemPage { rows: vec![], up_to: Some(at(60)), is_truncated: false };
    let newer = ItemPage { rows: vec![], up_to: Some(at(130)), is_truncated: false };

    for (page, expected) in
        [(cut, (at(60), true)), (whole, (at(100), false)), (newer, (at(130), false))]
    {
        let pulled = pull(giving(page), at(10), head()).await;

        assert_eq!((pulled.watermark, pulled.has_more), expected);
    }
}

#[tokio::test]
async fn a_device_that_knows_no_pages_is_granted_all_at_once() {
    let mut reader = MockSyncReader::new();
    let large = |room: &PageLimit| room.rows >= 100_000 && room.bytes > MAX_PAGE_BYTES;
    reader
        .expect_page()
        .withf(move |_, _, room| large(room))
        .once()
        .returning(|_, _, _| Ok(ItemPage::default()));
    let pulling = PullService::new(
        Arc::new(reader),
        Arc::new(MockPendingDevices::new()),
        StampGaps::default(),
    );
    let standing = standing(head(), at(10));

    let catalogue = Some(standing.catalogue_version());
    let ask = PullRequest { since: at(10), limit: None, catalogue };
    let pulled = pulling.pull(UserId::generate(), &ask, &standing).await.unwrap();

    assert!(!pulled.has_more);
}

async fn pull_at_once(head: Option<Head>, page: ItemPage, since: Timestamp) -> Option<Pulled> {
    let mut reader = MockSyncReader::new();
    let standing = head.clone().map(|it| standing(it, since));
    let catalogue = standing.as_ref().map(PullState::catalogue_version);
    reader
        .expect_head_and_page()
        .withf(move |_, it, room| *it == since && room.rows == 500)
        .once()
        .return_once(move |_, _, _| Ok(head.map(|it| (it, page))));
    let pulling = PullService::new(
        Arc::new(reader),
        Arc::new(MockPendingDevices::new()),
        StampGaps::default(),
    );
    let ask = PullRequest { since, limit: Some(9_000), catalogue };
    match pulling.pull_at_once(UserId::generate(), &ask).await {
        Ok((stands, pulled)) => {
            assert_eq!(Some(stands), standing);
            Some(pulled)
        }
        Err(PullError::Gone) => None,
        Err(PullError::Unavailable(err)) => panic!("{err}"),
    }
}

#[tokio::test]
async fn at_once_is_granted_what_is_granted_one_after_the_other() {
    let page = ItemPage { rows: vec![], up_to: Some(at(60)), is_truncated: true };

    let at_once = pull_at_once(Some(head()), page.clone(), at(10)).await.unwrap();

    assert_eq!(at_once, pull(giving(page), at(10), head()).await);
    assert_eq!((at_once.watermark, at_once.has_more), (at(60), true));
    assert_eq!(pull_at_once(None, ItemPage::default(), at(10)).await, None);
}

#[tokio::test]
async fn what_was_written_after_the_look_waits_if_the_look_saw_nothing_new() {
    let newer = ItemPage { rows: vec![], up_to: Some(at(950)), is_truncated: false };

    for since in [at(100), at(900)] {
        let pulled = pull_at_once(Some(head()), newer.clone(), since).await.unwrap();

        assert_eq!((pulled.watermark, pulled.has_more), (at(100), false));
        assert_eq!(pulled.page, ItemPage::default());
    }
}

#[test]
fn an_answer_has_another_tag_as_soon_as_anything_is_another() {
    let tag = |head| standing(head, at(10)).tag();
    let same = tag(head());

    assert_eq!(tag(head()), same);
    for other in [
        Head { epoch: vec![8; 16], ..head() },
        Head { version: 4, ..head() },
        Head { last_stamp: at(101), ..head() },
        Head { group: Uuid::from_u128(2), ..head() },
        Head { catalogue: 6, ..head() },
        Head { preferences: Some(at(1)), ..head() },
    ] {
        assert_ne!(tag(other.clone()), same, "{other:?}");
    }
    assert_ne!(standing(head(), at(11)).tag(), same);
}

#[tokio::test]
async fn the_operators_part_comes_unless_the_device_has_it() {
    let mut reader = MockSyncReader::new();
    reader.expect_catalogue().once().returning(|_, _| Ok(Catalogue::default()));
    reader.expect_preferences().once().returning(|_| Ok(vec![(Uuid::from_u128(9), false)]));
    let pulling = PullService::new(
        Arc::new(reader),
        Arc::new(MockPendingDevices::new()),
        StampGaps::default(),
    );
    let standing = standing(Head { preferences: Some(at(1)), ..head() }, at(100));

    let ask = PullRequest { since: at(100), limit: Some(500), catalogue: Some(1) };
    let pulled = pulling.pull(UserId::generate(), &ask, &standing).await.unwrap();

    let offered = pulled.catalogue.unwrap();
    assert_eq!(offered.plugin_preferences, HashMap::from([(Uuid::from_u128(9), false)]));
    assert!(pulled.catalogue_version > 0);
}

#[tokio::test]
async fn devices_that_wait_are_called_for_only_if_there_are_any() {
    let mut pending = MockPendingDevices::new();
    let device = PendingDevice { id: Uuid::nil(), name: "laptop".to_owned(), created_at: at(1) };
    pending.expect_waiting_devices().once().return_once(move |_| Ok(vec![device]));
    let pulling =
        PullService::new(Arc::new(MockSyncReader::new()), Arc::new(pending), StampGaps::default());
    let standing = standing(Head { has_pending_devices: true, ..head() }, at(100));

    let catalogue = Some(standing.catalogue_version());
    let ask = PullRequest { since: at(100), limit: Some(500), catalogue };
    let pulled = pulling.pull(UserId::generate(), &ask, &standing).await.unwrap();

    assert_eq!(pulled.pending.len(), 1);
}
