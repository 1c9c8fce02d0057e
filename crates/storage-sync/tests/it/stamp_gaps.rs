//! Contract tests of stamp gaps.

use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::Timestamp;
use pia_storage::Database;
use pia_storage_sync::SqlStampGaps;

use crate::person::{Person, at, todo};

pia_testkit::contract! {
    without_accounts_no_gap_is_recorded,
    gaps_between_stamps_are_recorded,
    concurrent_starts_record_one_gap,
}

const MICRO: Duration = Duration::from_micros(1);

async fn without_accounts_no_gap_is_recorded(db: Database) {
    let stamp_gaps = SqlStampGaps::new(db);

    assert_eq!(stamp_gaps.record_gap_until(at(100)).await.unwrap().containing(at(50)), None);
}

async fn gaps_between_stamps_are_recorded(db: Database) {
    let person = Person::of(db.clone()).await;
    let stamp_gaps = SqlStampGaps::new(db);
    let before_gap = person.push(50, vec![todo(1, 5)]).await.last_stamp;

    stamp_gaps.record_gap_until(at(100)).await.unwrap();
    stamp_gaps.record_gap_until(at(200)).await.unwrap();
    let between_gaps = person.push(250, vec![todo(2, 5)]).await.last_stamp;
    stamp_gaps.record_gap_until(at(300)).await.unwrap();
    // A wrong clock removes no gap.
    let gaps = stamp_gaps.record_gap_until(at(20)).await.unwrap();

    let gap_starts_around = |stamps: &[Timestamp]| -> Vec<Option<Timestamp>> {
        stamps.iter().map(|it| Some(gaps.containing(*it)?.began_at)).collect()
    };
    assert_eq!(
        gap_starts_around(&[at(20), before_gap, at(200), at(225), between_gaps, at(300)]),
        [None; 6]
    );
    assert_eq!(gap_starts_around(&[before_gap + MICRO, at(199)]), [Some(before_gap); 2]);
    assert_eq!(gap_starts_around(&[between_gaps + MICRO, at(299)]), [Some(between_gaps); 2]);
}

async fn concurrent_starts_record_one_gap(db: Database) {
    let person = Person::of(db.clone()).await;
    let stamp = person.push(50, vec![todo(1, 5)]).await.last_stamp;
    let starts = (0..8).map(|it| {
        let stamp_gaps = SqlStampGaps::new(db.clone());
        async move { stamp_gaps.record_gap_until(at(100 + it)).await.unwrap() }
    });

    for gaps in join_all(starts).await {
        assert_eq!(gaps.containing(at(75)).map(|it| it.began_at), Some(stamp));
    }
}
