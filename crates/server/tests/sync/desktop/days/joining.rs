//! Tests of devices that get the key: by approval, by recovery code, and again.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::encryption::{ACTIVE, PENDING, REVOKED, Signature};
use crate::desktop::fields::Channel;
use crate::desktop::keys::{Umk, proof, salt};
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    whoever_knows_the_recovery_code_joins_alone,
    whoever_does_not_know_the_key_does_not_join,
    a_device_that_was_let_in_by_an_old_one_reads_everything,
    the_key_is_there_again_after_every_sign_in,
    a_revoked_device_learns_it_and_may_ask_again,
    an_approval_by_no_device_lets_nobody_in,
    a_proof_key_may_come_late_and_only_once,
);

/// An encrypted account with rows, and the device that they are on.
async fn encrypted(world: &World) -> Device {
    let mut services = world.device().await;
    one_of_each(&mut services, "of the desk");
    services.cycle().await;
    services.enable_encryption().await;
    services.settle().await;
    services
}

async fn whoever_knows_the_recovery_code_joins_alone(database: TestDatabase) {
    let world = World::new(database).await;
    let mut services = encrypted(&world).await;
    let code = services.recovery_code.clone().expect("a code");
    let mut lap = world.device().await;
    assert_eq!(lap.cycle().await.pulled, Pulled::Locked, "sync 2.4: ciphertext without a key");

    lap.join_by_code(&code).await;

    assert_eq!(lap.own_status().await, Some(ACTIVE), "e2ee 9: Pending to Active by activate");
    assert_eq!(lap.umk, services.umk, "e2ee 7, recovery wrap");
    settle([&mut lap, &mut services]).await;
    agree(&lap, &services, "after a join by code");
    // Again, as one that is active already.
    lap.umk = None;
    lap.join_by_code(&code).await;
    lap.take_key().await;
    assert_eq!(lap.umk, services.umk, "e2ee 9: a register does not demote an active device");
}

async fn whoever_does_not_know_the_key_does_not_join(database: TestDatabase) {
    let world = World::new(database).await;
    let mut services = encrypted(&world).await;
    let mut lap = world.device().await;
    let registered = lap.register().await;
    assert!(!registered.is_first, "e2ee 6.1: another device is active");
    let (session, wrong) = (registered.session, Umk::generate());

    let refused = lap.activate(&wrong, &session, &proof(&wrong, &session)).await;
    assert_eq!(refused.refusal(), (400, "invalid_proof"), "e2ee 6 and 10");
    for malformed in [String::new(), "*".to_owned(), salt() + "AAAA"] {
        let refused = lap.activate(&wrong, &session, &malformed).await;
        assert_eq!(refused.status, 400, "e2ee 7: {malformed}");
    }
    let umk = services.umk.clone().expect("a key");
    let foreign = "c2Vzc2lvbi1pZC1mb3ItdGVzdA==";
    let refused = lap.activate(&umk, foreign, &proof(&umk, foreign)).await;
    assert_eq!(refused.refusal(), (400, "invalid_onboarding_session"), "row 20");
    assert!(refused.text().contains("onboarding session"), "row 20: {}", refused.text());
    assert_eq!(lap.own_status().await, Some(PENDING), "e2ee 6: nothing was activated");

    // A session is spent by its use.
    let session = lap.register().await.session;
    let taken = lap.activate(&umk, &session, &proof(&umk, &session)).await;
    assert!((200..300).contains(&taken.status), "e2ee 6, activate: {}", taken.text());
    services.revoke(&lap.id).await;
    let again = lap.activate(&umk, &session, &proof(&umk, &session)).await;
    assert!((400..500).contains(&again.status), "e2ee 6, a spent session: {}", again.text());
    assert_eq!(lap.own_status().await, Some(REVOKED), "e2ee 9: a revoked one is answered 2");
}

async fn a_device_that_was_let_in_by_an_old_one_reads_everything(database: TestDatabase) {
    let world = World::new(database).await;
    let mut services = encrypted(&world).await;
    let mut lap = world.device().await;
    lap.register().await;

    let approved = services.approve(&lap.id, Signature::First).await;

    assert!((200..300).contains(&approved.status), "e2ee 7, v1: {}", approved.text());
    lap.take_key().await;
    settle([&mut lap, &mut services]).await;
    agree(&lap, &services, "after an approval of the first version");
    // And lets in the next.
    let mut phone = world.device().await;
    phone.register().await;
    let approved = lap.approve(&phone.id, Signature::Second).await;
    assert!((200..300).contains(&approved.status), "e2ee 7, v2: {}", approved.text());
    phone.take_key().await;
    settle([&mut phone, &mut lap, &mut services]).await;
    agree(&phone, &services, "after an approval by an approved device");
}

async fn the_key_is_there_again_after_every_sign_in(database: TestDatabase) {
    let world = World::new(database).await;
    let mut services = encrypted(&world).await;
    let mut lap = world.device().await;
    lap.register().await;
    services.approve(&lap.id, Signature::Second).await;
    lap.take_key().await;
    let key = services.umk.clone();

    for _ in 0..2 {
        world.pass(HOUR);
        for device in [&mut lap, &mut services] {
            device.sign_in_again().await;
            assert_eq!(device.e2ee_status().await["isEnabled"], true, "e2ee 8, sign-in");
            device.take_key().await;
            assert_eq!(device.umk, key, "e2ee 9: sign-out does not revoke, the blob is kept");
        }
        settle([&mut lap, &mut services]).await;
        agree(&lap, &services, "after signing in again");
    }
}

async fn a_revoked_device_learns_it_and_may_ask_again(database: TestDatabase) {
    let world = World::new(database).await;
    let mut services = encrypted(&world).await;
    let mut lap = world.device().await;
    lap.register().await;
    services.approve(&lap.id, Signature::Second).await;
    lap.take_key().await;
    settle([&mut lap, &mut services]).await;

    services.revoke(&lap.id).await;

    let cycle = lap.cycle().await;
    assert_eq!(cycle.pulled, Pulled::Applied { pages: 1 }, "sync 2.5: devices bump the version");
    assert!(cycle.revoked, "e2ee 6: own device missing or revoked");
    assert_eq!(lap.own_status().await, Some(REVOKED), "e2ee 9: 200 with status 2, not 404");
    let blob = lap.get_json(&format!("/api/e2ee/devices/{}/wrapped-umk", lap.id)).await;
    assert_eq!(blob.status, 404, "e2ee 6, wrapped-umk: only while active");
    let todo = lap.create(Channel::Todos, "in the clear");
    assert_eq!(lap.push().await, Pushed::Refused(403), "sync 5, Gate");
    assert!(lap.onboarding, "sync 3.6: the words that the client looks for");
    services.settle().await;
    assert_eq!(services.get(Channel::Todos, &todo), None, "sync 5, Gate");

    lap.register().await;
    assert_eq!(lap.own_status().await, Some(PENDING), "e2ee 9: revoked, and pending again");
    services.approve(&lap.id, Signature::Second).await;
    lap.take_key().await;
    lap.resync();
    settle([&mut lap, &mut services]).await;
    agree(&lap, &services, "after it was let in again");
}

async fn an_approval_by_no_device_lets_nobody_in(database: TestDatabase) {
    let world = World::new(database).await;
    let mut services = encrypted(&world).await;
    let (mut lap, mut eve) = (world.device().await, world.device().await);
    lap.register().await;
    eve.register().await;
    eve.umk = Some(Umk::generate());

    // Pending itself; and with a signature of a key that is not the desk's.
    let pending = eve.approve(&lap.id, Signature::Second).await;
    let own = std::mem::replace(&mut eve.id, services.id.clone());
    let forged = eve.approve(&lap.id, Signature::Second).await;
    eve.id = own;

    for answer in [pending, forged] {
        assert!((400..500).contains(&answer.status), "e2ee 9, Approve: {}", answer.text());
    }
    assert_eq!(lap.own_status().await, Some(PENDING), "e2ee 9, Approve");
    let status = lap.get_json(&format!("/api/e2ee/devices/{}/wrapped-umk", lap.id)).await;
    assert_eq!(status.status, 404, "e2ee 6, wrapped-umk: only while active");
    let fingerprints: Vec<_> = services.devices().await;
    let reported = fingerprints.iter().find(|it| it["deviceId"] == lap.id).expect("a device");
    let own = lap.keys.fingerprint();
    assert!(
        reported.get("fingerprint").is_none_or(|it| *it == own),
        "e2ee 7, Fingerprint: {reported}"
    );
}

async fn a_proof_key_may_come_late_and_only_once(database: TestDatabase) {
    let world = World::new(database).await;
    let mut services = world.device().await;
    services.begin_encryption().await;
    services.encrypt_all().await;
    assert_ne!(services.e2ee_status().await["hasRecoveryProofKey"], true, "e2ee 6.1");

    let key = services.umk.clone();
    let put = services.put_proof_key().await;
    assert!((200..300).contains(&put.status), "e2ee 6, proof-key: {}", put.text());
    assert_eq!(services.e2ee_status().await["hasRecoveryProofKey"], true, "e2ee 6.1");
    let same = services.put_proof_key().await;
    assert!((200..300).contains(&same.status), "e2ee 9: an identical value: {}", same.text());
    services.umk = Some(Umk::generate());
    let other = services.put_proof_key().await;
    assert_eq!(other.refusal(), (409, "proof_key_conflict"), "e2ee 9, proof-key");
    services.umk = key;
}
