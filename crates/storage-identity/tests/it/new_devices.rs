//! Telling devices that an account was never used on before.

use std::time::Duration;

use pia_identity::{
    FailedSignIn, NewSession, SessionStartEffects, SessionStore, SignInDevice, SignInLog,
    SignInMethod, SignInOutcome, TokenHash,
};
use pia_kernel::{SideEffects, UserId};
use pia_storage::Database;
use pia_storage_identity::{SqlSessions, SqlSignIns};

use crate::people::{START, audited, new_session, person};

pia_testkit::contract! {
    the_first_sign_in_ever_is_no_news,
    another_id_is_another_device_and_the_same_is_not,
    without_an_id_the_program_and_its_network_are_the_device,
    a_device_that_gives_itself_an_id_is_still_the_same,
    the_devices_of_others_are_no_ones_own,
}

fn device(id: Option<&str>, agent: Option<&str>, address: &str) -> SignInDevice {
    SignInDevice {
        device_id: id.map(str::to_owned),
        user_agent: agent.map(str::to_owned),
        address: address.parse().ok(),
        ..SignInDevice::default()
    }
}

/// Signs in there. Answers how often that was news until now.
async fn news(db: &Database, user: UserId, token: u8, device: SignInDevice) -> i64 {
    let at = START + Duration::from_secs(token.into());
    let new = NewSession { device, ..new_session(user, TokenHash([token; 32]), at) };
    let others = SessionStartEffects {
        if_ended: |_, _| SideEffects::default(),
        if_new_device: |user, at| SideEffects::audit(at, user, "new"),
    };
    SqlSessions::new(db.clone()).begin(new, 200, SideEffects::default(), others).await.unwrap();
    audited(db, user, "new").await
}

async fn the_first_sign_in_ever_is_no_news(db: Database) {
    let ada = person(&db, "ada@example.org").await;
    let failed = FailedSignIn {
        user: Some(ada),
        at: START,
        outcome: SignInOutcome::WrongPassword,
        method: SignInMethod::Password,
        device: device(Some("other"), None, "198.51.100.7"),
    };
    SqlSignIns::new(db.clone()).failed(failed, |_, _| SideEffects::default()).await.unwrap();

    let first = news(&db, ada, 1, device(Some("one"), None, "192.0.2.1")).await;
    let failed_before = news(&db, ada, 2, device(Some("other"), None, "198.51.100.7")).await;

    assert_eq!((first, failed_before), (0, 1), "who failed there was not there");
}

async fn another_id_is_another_device_and_the_same_is_not(db: Database) {
    let ada = person(&db, "ada@example.org").await;

    let reported = [
        news(&db, ada, 1, device(Some("one"), Some("agent"), "192.0.2.1")).await,
        news(&db, ada, 2, device(Some("one"), Some("newer"), "198.51.100.7")).await,
        news(&db, ada, 3, device(Some("two"), Some("agent"), "192.0.2.1")).await,
        news(&db, ada, 4, device(Some("two"), Some("agent"), "192.0.2.1")).await,
    ];

    assert_eq!(reported, [0, 0, 1, 1]);
}

async fn without_an_id_the_program_and_its_network_are_the_device(db: Database) {
    let ada = person(&db, "ada@example.org").await;

    let reported = [
        news(&db, ada, 1, device(None, Some("agent"), "2001:db8:1:2::1")).await,
        news(&db, ada, 2, device(None, Some("agent"), "2001:db8:1:2::9")).await,
        news(&db, ada, 3, device(None, Some("agent"), "2001:db8:1:3::1")).await,
        news(&db, ada, 4, device(None, Some("other"), "2001:db8:1:2::1")).await,
        news(&db, ada, 5, device(None, None, "2001:db8:1:2::1")).await,
        news(&db, ada, 6, device(None, None, "2001:db8:1:2::1")).await,
        news(&db, ada, 7, device(None, None, "no address")).await,
        news(&db, ada, 8, device(None, None, "no address")).await,
    ];

    assert_eq!(reported, [0, 0, 1, 2, 3, 3, 4, 4]);
}

async fn a_device_that_gives_itself_an_id_is_still_the_same(db: Database) {
    let ada = person(&db, "ada@example.org").await;

    let reported = [
        news(&db, ada, 1, device(None, None, "192.0.2.1")).await,
        news(&db, ada, 2, device(Some("one"), None, "192.0.2.1")).await,
        news(&db, ada, 3, device(Some("two"), None, "198.51.100.7")).await,
    ];

    assert_eq!(reported, [0, 0, 1]);
}

async fn the_devices_of_others_are_no_ones_own(db: Database) {
    let (ada, bob) = (person(&db, "ada@example.org").await, person(&db, "bob@example.org").await);
    news(&db, bob, 1, device(Some("bobs"), None, "192.0.2.1")).await;
    news(&db, ada, 2, device(Some("adas"), None, "192.0.2.1")).await;

    let reported = news(&db, ada, 3, device(Some("bobs"), None, "192.0.2.1")).await;

    assert_eq!(reported, 1);
}
