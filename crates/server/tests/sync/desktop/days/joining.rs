//! Tests of devices that receive the key: by approval, by recovery code, and again.

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
    a_device_with_the_recovery_code_joins_alone,
    a_device_without_the_key_cannot_join,
    a_device_approved_by_an_old_one_reads_everything,
    the_key_is_available_after_every_sign_in,
    a_revoked_device_is_notified_and_may_register_again,
    an_invalid_approval_admits_no_device,
    a_proof_key_may_be_set_late_and_only_once,
);

/// Signs in a device of an encrypted account with rows.
async fn encrypted(world: &World) -> Device {
    let mut desk = world.device().await;
    one_of_each(&mut desk, "of the desk");
    desk.cycle().await;
    desk.enable_encryption().await;
    desk.settle().await;
    desk
}

async fn a_device_with_the_recovery_code_joins_alone(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let code = desk.recovery_code.clone().expect("a code");
    let mut laptop = world.device().await;
    assert_eq!(laptop.cycle().await.pulled, Pulled::Locked, "sync 2.4: ciphertext without a key");

    laptop.join_by_code(&code).await;

    assert_eq!(laptop.own_status().await, Some(ACTIVE), "e2ee 9: Pending to Active by activate");
    assert_eq!(laptop.umk, desk.umk, "e2ee 7, recovery wrap");
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "after a join by code");
    // Again, as a device that is active already.
    laptop.umk = None;
    laptop.join_by_code(&code).await;
    laptop.fetch_key().await;
    assert_eq!(laptop.umk, desk.umk, "e2ee 9: a register does not demote an active device");
}

async fn a_device_without_the_key_cannot_join(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.device().await;
    let registered = laptop.register().await;
    assert!(!registered.is_first, "e2ee 6.1: another device is active");
    let session = registered.session;
    let wrong_key = Umk::generate();

    let response = laptop.activate(&wrong_key, &session, &proof(&wrong_key, &session)).await;
    assert_eq!(response.refusal(), (400, "invalid_proof"), "e2ee 6 and 10");
    for malformed in [String::new(), "*".to_owned(), salt() + "AAAA"] {
        let refusal = laptop.activate(&wrong_key, &session, &malformed).await;
        assert_eq!(refusal.status, 400, "e2ee 7: {malformed}");
    }

    let umk = desk.umk.clone().expect("a key");
    let foreign = "c2Vzc2lvbi1pZC1mb3ItdGVzdA==";
    let response = laptop.activate(&umk, foreign, &proof(&umk, foreign)).await;
    assert_eq!(response.refusal(), (400, "invalid_onboarding_session"), "row 20");
    assert!(response.text().contains("onboarding session"), "row 20: {}", response.text());
    assert_eq!(laptop.own_status().await, Some(PENDING), "e2ee 6: nothing was activated");

    // A session can be used once.
    let session = laptop.register().await.session;
    let response = laptop.activate(&umk, &session, &proof(&umk, &session)).await;
    assert!((200..300).contains(&response.status), "e2ee 6, activate: {}", response.text());

    desk.revoke(&laptop.id).await;
    let second_response = laptop.activate(&umk, &session, &proof(&umk, &session)).await;
    assert!(
        (400..500).contains(&second_response.status),
        "e2ee 6, a spent session: {}",
        second_response.text()
    );
    assert_eq!(laptop.own_status().await, Some(REVOKED), "e2ee 9: a revoked one is answered 2");
}

async fn a_device_approved_by_an_old_one_reads_everything(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.device().await;
    laptop.register().await;

    let approval_response = desk.approve(&laptop.id, Signature::First).await;

    assert!(
        (200..300).contains(&approval_response.status),
        "e2ee 7, v1: {}",
        approval_response.text()
    );
    laptop.fetch_key().await;
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "after an approval of the first version");
    // It approves the next one.
    let mut phone = world.device().await;
    phone.register().await;
    let approval_response = laptop.approve(&phone.id, Signature::Second).await;
    assert!(
        (200..300).contains(&approval_response.status),
        "e2ee 7, v2: {}",
        approval_response.text()
    );

    phone.fetch_key().await;
    settle([&mut phone, &mut laptop, &mut desk]).await;
    agree(&phone, &desk, "after an approval by an approved device");
}

async fn the_key_is_available_after_every_sign_in(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.device().await;
    laptop.register().await;
    desk.approve(&laptop.id, Signature::Second).await;
    laptop.fetch_key().await;
    let key = desk.umk.clone();

    for _ in 0..2 {
        world.advance(HOUR);
        for device in [&mut laptop, &mut desk] {
            device.sign_in_again().await;
            assert_eq!(device.e2ee_status().await["isEnabled"], true, "e2ee 8, sign-in");
            device.fetch_key().await;
            assert_eq!(device.umk, key, "e2ee 9: sign-out does not revoke, the blob is kept");
        }
        settle([&mut laptop, &mut desk]).await;
        agree(&laptop, &desk, "after signing in again");
    }
}

async fn a_revoked_device_is_notified_and_may_register_again(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.device().await;
    laptop.register().await;
    desk.approve(&laptop.id, Signature::Second).await;
    laptop.fetch_key().await;
    settle([&mut laptop, &mut desk]).await;

    desk.revoke(&laptop.id).await;

    let cycle = laptop.cycle().await;
    assert_eq!(cycle.pulled, Pulled::Applied { pages: 1 }, "sync 2.5: devices bump the version");
    assert!(cycle.revoked, "e2ee 6: own device missing or revoked");
    assert_eq!(laptop.own_status().await, Some(REVOKED), "e2ee 9: 200 with status 2, not 404");

    let blob = laptop.get_json(&format!("/api/e2ee/devices/{}/wrapped-umk", laptop.id)).await;
    assert_eq!(blob.status, 404, "e2ee 6, wrapped-umk: only while active");
    let todo = laptop.create(Channel::Todos, "in the clear");
    assert_eq!(laptop.push().await, Pushed::Refused(403), "sync 5, Gate");
    assert!(laptop.onboarding, "sync 3.6: the words that the client looks for");

    desk.settle().await;
    assert_eq!(desk.get(Channel::Todos, &todo), None, "sync 5, Gate");

    laptop.register().await;
    assert_eq!(laptop.own_status().await, Some(PENDING), "e2ee 9: revoked, and pending again");
    desk.approve(&laptop.id, Signature::Second).await;
    laptop.fetch_key().await;
    laptop.resync();
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "after it was let in again");
}

async fn an_invalid_approval_admits_no_device(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.device().await;
    let mut eve = world.device().await;
    laptop.register().await;
    eve.register().await;
    eve.umk = Some(Umk::generate());

    // By a pending device; and with a signature of another key than the desk's.
    let pending = eve.approve(&laptop.id, Signature::Second).await;
    let own = std::mem::replace(&mut eve.id, desk.id.clone());
    let forged = eve.approve(&laptop.id, Signature::Second).await;
    eve.id = own;

    for answer in [pending, forged] {
        assert!((400..500).contains(&answer.status), "e2ee 9, Approve: {}", answer.text());
    }
    assert_eq!(laptop.own_status().await, Some(PENDING), "e2ee 9, Approve");

    let status = laptop.get_json(&format!("/api/e2ee/devices/{}/wrapped-umk", laptop.id)).await;
    assert_eq!(status.status, 404, "e2ee 6, wrapped-umk: only while active");
    let fingerprints: Vec<_> = desk.devices().await;
    let listed = fingerprints.iter().find(|it| it["deviceId"] == laptop.id).expect("a device");
    let own = laptop.keys.fingerprint();
    assert!(listed.get("fingerprint").is_none_or(|it| *it == own), "e2ee 7, Fingerprint: {listed}");
}

async fn a_proof_key_may_be_set_late_and_only_once(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.device().await;
    desk.begin_encryption().await;
    desk.encrypt_all().await;
    assert_ne!(desk.e2ee_status().await["hasRecoveryProofKey"], true, "e2ee 6.1");

    let key = desk.umk.clone();
    let put = desk.put_proof_key().await;
    assert!((200..300).contains(&put.status), "e2ee 6, proof-key: {}", put.text());
    assert_eq!(desk.e2ee_status().await["hasRecoveryProofKey"], true, "e2ee 6.1");

    let repeated_response = desk.put_proof_key().await;
    assert!(
        (200..300).contains(&repeated_response.status),
        "e2ee 9: an identical value: {}",
        repeated_response.text()
    );

    desk.umk = Some(Umk::generate());
    let replacement_response = desk.put_proof_key().await;
    assert_eq!(replacement_response.refusal(), (409, "proof_key_conflict"), "e2ee 9, proof-key");
    desk.umk = key;
}
