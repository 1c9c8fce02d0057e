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
    let (first, _) = person.push(50, vec![todo(1, 5)]).await;

    stamp_gaps.record_gap_until(at(100)).await.unwrap();
    stamp_gaps.record_gap_until(at(200)).await.unwrap();
    let (second, _) = person.push(250, vec![todo(2, 5)]).await;
    stamp_gaps.record_gap_until(at(300)).await.unwrap();
    // A wrong clock removes no gap.
    let known = stamp_gaps.record_gap_until(at(20)).await.unwrap();

    let around = |stamps: &[Timestamp]| -> Vec<Option<Timestamp>> {
        stamps.iter().map(|it| Some(known.containing(*it)?.began_at)).collect()
    };
    assert_eq!(around(&[at(20), first, at(200), at(225), second, at(300)]), [None; 6]);
    assert_eq!(around(&[first + MICRO, at(199)]), [Some(first); 2]);
    assert_eq!(around(&[second + MICRO, at(299)]), [Some(second); 2]);
}

async fn concurrent_starts_record_one_gap(db: Database) {
    let person = Person::of(db.clone()).await;
    let (stamp, _) = person.push(50, vec![todo(1, 5)]).await;
    let starts = (0..8).map(|it| {
        let stamp_gaps = SqlStampGaps::new(db.clone());
        async move { stamp_gaps.record_gap_until(at(100 + it)).await.unwrap() }
    });

    for known in join_all(starts).await {
        assert_eq!(known.containing(at(75)).map(|it| it.began_at), Some(stamp));
    }
}
