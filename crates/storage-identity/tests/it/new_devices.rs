//! Contract tests of the detection of new devices.

use std::time::Duration;

use pia_identity::{
    FailedSignIn, NewSession, SessionStartEffects, SessionStore, SignInDevice, SignInLog,
    SignInMethod, SignInOutcome, TokenHash,
};
use pia_kernel::{SideEffects, UserId};
use pia_storage::Database;
use pia_storage_identity::{SqlSessions, SqlSignIns};

use crate::people::{START, count_audited, create_person, new_session};

pia_testkit::contract! {
    the_first_sign_in_is_not_reported,
    devices_are_identified_by_their_ids,
    without_an_id_program_and_network_identify_the_device,
    a_device_that_gets_an_id_stays_the_same,
    devices_of_other_users_do_not_count,
}

fn device(id: Option<&str>, agent: Option<&str>, address: &str) -> SignInDevice {
    SignInDevice {
        device_id: id.map(str::to_owned),
        user_agent: agent.map(str::to_owned),
        address: address.parse().ok(),
        ..SignInDevice::default()
    }
}

/// Signs in there. Returns the number of notifications so far.
async fn sign_in_on(db: &Database, user: UserId, token: u8, device: SignInDevice) -> i64 {
    let at = START + Duration::from_secs(token.into());
    let new = NewSession { device, ..new_session(user, TokenHash([token; 32]), at) };
    let others = SessionStartEffects {
        if_ended: |_, _| SideEffects::default(),
        if_new_device: |user, at| SideEffects::audit(at, user, "new"),
    };
    SqlSessions::new(db.clone()).begin(new, 200, SideEffects::default(), others).await.unwrap();
    count_audited(db, user, "new").await
}

async fn the_first_sign_in_is_not_reported(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let failed_sign_in = FailedSignIn {
        user: Some(ada),
        at: START,
        outcome: SignInOutcome::WrongPassword,
        method: SignInMethod::Password,
        device: device(Some("other"), None, "198.51.100.7"),
    };
    SqlSignIns::new(db.clone())
        .record_failure(failed_sign_in, |_, _| SideEffects::default())
        .await
        .unwrap();

    let first = sign_in_on(&db, ada, 1, device(Some("one"), None, "192.0.2.1")).await;
    let failed_before = sign_in_on(&db, ada, 2, device(Some("other"), None, "198.51.100.7")).await;

    assert_eq!(first, 0);
    assert_eq!(failed_before, 1, "a failed attempt does not make a device known");
}

async fn devices_are_identified_by_their_ids(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;

    let reported = [
        sign_in_on(&db, ada, 1, device(Some("one"), Some("agent"), "192.0.2.1")).await,
        sign_in_on(&db, ada, 2, device(Some("one"), Some("newer"), "198.51.100.7")).await,
        sign_in_on(&db, ada, 3, device(Some("two"), Some("agent"), "192.0.2.1")).await,
        sign_in_on(&db, ada, 4, device(Some("two"), Some("agent"), "192.0.2.1")).await,
    ];

    assert_eq!(reported, [0, 0, 1, 1]);
}

async fn without_an_id_program_and_network_identify_the_device(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;

    let reported = [
        sign_in_on(&db, ada, 1, device(None, Some("agent"), "2001:db8:1:2::1")).await,
        sign_in_on(&db, ada, 2, device(None, Some("agent"), "2001:db8:1:2::9")).await,
        sign_in_on(&db, ada, 3, device(None, Some("agent"), "2001:db8:1:3::1")).await,
        sign_in_on(&db, ada, 4, device(None, Some("other"), "2001:db8:1:2::1")).await,
        sign_in_on(&db, ada, 5, device(None, None, "2001:db8:1:2::1")).await,
        sign_in_on(&db, ada, 6, device(None, None, "2001:db8:1:2::1")).await,
        sign_in_on(&db, ada, 7, device(None, None, "no address")).await,
        sign_in_on(&db, ada, 8, device(None, None, "no address")).await,
    ];

    assert_eq!(reported, [0, 0, 1, 2, 3, 3, 4, 4]);
}

async fn a_device_that_gets_an_id_stays_the_same(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;

    let reported = [
        sign_in_on(&db, ada, 1, device(None, None, "192.0.2.1")).await,
        sign_in_on(&db, ada, 2, device(Some("one"), None, "192.0.2.1")).await,
        sign_in_on(&db, ada, 3, device(Some("two"), None, "198.51.100.7")).await,
    ];

    assert_eq!(reported, [0, 0, 1]);
}

async fn devices_of_other_users_do_not_count(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    sign_in_on(&db, bob, 1, device(Some("bobs"), None, "192.0.2.1")).await;
    sign_in_on(&db, ada, 2, device(Some("adas"), None, "192.0.2.1")).await;

    let reported = sign_in_on(&db, ada, 3, device(Some("bobs"), None, "192.0.2.1")).await;

    assert_eq!(reported, 1);
}
