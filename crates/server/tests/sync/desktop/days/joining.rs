//! Tests of devices that receive the key: by approval, by recovery code, and again.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::encryption::{ACTIVE, PENDING, REVOKED, Signature, assert_success};
use crate::desktop::fields::Channel;
use crate::desktop::keys::{Umk, proof, salt};
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    a_device_with_the_recovery_code_joins_alone,
    a_wrong_key_activates_nothing,
    a_foreign_onboarding_session_is_refused,
    an_onboarding_session_is_spent_by_its_use,
    a_device_approved_by_an_old_one_reads_everything,
    the_key_is_available_after_every_sign_in,
    a_revoked_device_is_notified_and_may_register_again,
    an_invalid_approval_admits_no_device,
    a_proof_key_may_be_set_late_and_only_once,
);

/// Signs in a device of an encrypted account with rows.
async fn encrypted(world: &World) -> Device {
    let mut desk = world.sign_in_device().await;
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
    let mut laptop = world.sign_in_device().await;
    assert_eq!(laptop.cycle().await.pulled, Pulled::Locked, "ciphertext without a key");

    laptop.join_by_code(&code).await;

    assert_eq!(laptop.own_status().await, Some(ACTIVE), "the recovery code activates the device");
    assert_eq!(laptop.umk, desk.umk, "the recovery copy contains the key");
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "after a join by code");

    // Again, as a device that is active already.
    laptop.umk = None;
    laptop.join_by_code(&code).await;
    laptop.fetch_key().await;
    assert_eq!(laptop.umk, desk.umk, "a registration keeps an active device active");
}

async fn a_wrong_key_activates_nothing(database: TestDatabase) {
    let world = World::new(database).await;
    encrypted(&world).await;
    let mut laptop = world.sign_in_device().await;
    let registration = laptop.register().await;
    assert!(!registration.is_first, "another device is active");
    let session = registration.session;
    let wrong_key = Umk::generate();

    let response = laptop.activate(&wrong_key, &session, &proof(&wrong_key, &session)).await;
    assert_eq!(response.refusal(), (400, "invalid_proof"));
    for malformed_proof in [String::new(), "*".to_owned(), salt() + "AAAA"] {
        let response = laptop.activate(&wrong_key, &session, &malformed_proof).await;
        assert_eq!(response.status, 400, "{malformed_proof}");
    }

    assert_eq!(laptop.own_status().await, Some(PENDING), "nothing was activated");
}

async fn a_foreign_onboarding_session_is_refused(database: TestDatabase) {
    let world = World::new(database).await;
    let desk = encrypted(&world).await;
    let umk = desk.umk.clone().expect("a key");
    let mut laptop = world.sign_in_device().await;
    laptop.register().await;

    let foreign_session = "c2Vzc2lvbi1pZC1mb3ItdGVzdA==";
    let response = laptop.activate(&umk, foreign_session, &proof(&umk, foreign_session)).await;

    assert_eq!(response.refusal(), (400, "invalid_onboarding_session"));
    // Clients look for these words.
    assert!(response.text().contains("onboarding session"), "{}", response.text());
    assert_eq!(laptop.own_status().await, Some(PENDING), "nothing was activated");
}

async fn an_onboarding_session_is_spent_by_its_use(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let umk = desk.umk.clone().expect("a key");
    let mut laptop = world.sign_in_device().await;
    let session = laptop.register().await.session;
    let response = laptop.activate(&umk, &session, &proof(&umk, &session)).await;
    assert_success(&response, "an activation");

    desk.revoke(&laptop.id).await;
    assert_eq!(laptop.own_status().await, Some(REVOKED), "a revoked device has a status");
    laptop.register().await;
    let repeated_response = laptop.activate(&umk, &session, &proof(&umk, &session)).await;

    assert_eq!(repeated_response.refusal(), (400, "invalid_onboarding_session"));
    assert_eq!(laptop.own_status().await, Some(PENDING), "nothing was activated");
}

async fn a_device_approved_by_an_old_one_reads_everything(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.sign_in_device().await;
    laptop.register().await;

    let first_approval = desk.approve(&laptop.id, Signature::First).await;

    assert_success(&first_approval, "an approval of the first version");
    laptop.fetch_key().await;
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "after an approval of the first version");
    // It approves the next one.
    let mut phone = world.sign_in_device().await;
    phone.register().await;
    let second_approval = laptop.approve(&phone.id, Signature::Second).await;

    assert_success(&second_approval, "an approval by an approved device");
    phone.fetch_key().await;
    settle([&mut phone, &mut laptop, &mut desk]).await;
    agree(&phone, &desk, "after an approval by an approved device");
}

async fn the_key_is_available_after_every_sign_in(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.sign_in_device().await;
    laptop.register().await;
    desk.approve(&laptop.id, Signature::Second).await;
    laptop.fetch_key().await;
    let key = desk.umk.clone();

    for _ in 0..2 {
        world.advance(HOUR);
        for device in [&mut laptop, &mut desk] {
            device.sign_in_again().await;
            assert_eq!(device.e2ee_status().await["isEnabled"], true);
            device.fetch_key().await;
            assert_eq!(device.umk, key, "a sign-out keeps the device and its key");
        }
        settle([&mut laptop, &mut desk]).await;
        agree(&laptop, &desk, "after signing in again");
    }
}

async fn a_revoked_device_is_notified_and_may_register_again(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.sign_in_device().await;
    laptop.register().await;
    desk.approve(&laptop.id, Signature::Second).await;
    laptop.fetch_key().await;
    settle([&mut laptop, &mut desk]).await;

    desk.revoke(&laptop.id).await;

    let cycle = laptop.cycle().await;
    assert_eq!(cycle.pulled, Pulled::Applied { pages: 1 }, "a revocation changes the data version");
    assert!(cycle.revoked, "the device finds that it was revoked");
    assert_eq!(laptop.own_status().await, Some(REVOKED), "a revoked device has a status");

    let response = laptop.get_json(&format!("/api/e2ee/devices/{}/wrapped-umk", laptop.id)).await;
    assert_eq!(response.status, 404, "a revoked device has no key");
    let todo = laptop.create(Channel::Todos, "in the clear");
    assert_eq!(laptop.push().await, Pushed::Refused(403), "plain rows are refused");
    assert!(laptop.onboarding, "the refusal has the code that the client looks for");

    desk.settle().await;
    assert_eq!(desk.get(Channel::Todos, &todo), None, "a refused row is not stored");

    laptop.register().await;
    assert_eq!(laptop.own_status().await, Some(PENDING), "a revoked device may register again");
    desk.approve(&laptop.id, Signature::Second).await;
    laptop.fetch_key().await;
    laptop.resync();
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "after it was let in again");
}

async fn an_invalid_approval_admits_no_device(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = encrypted(&world).await;
    let mut laptop = world.sign_in_device().await;
    let mut eve = world.sign_in_device().await;
    laptop.register().await;
    eve.register().await;
    eve.umk = Some(Umk::generate());

    let by_pending_device = eve.approve(&laptop.id, Signature::Second).await;
    // In the name of the desk, but signed with another key.
    let eve_id = std::mem::replace(&mut eve.id, desk.id.clone());
    let forged = eve.approve(&laptop.id, Signature::Second).await;
    eve.id = eve_id;

    for response in [by_pending_device, forged] {
        assert!((400..500).contains(&response.status), "{}", response.text());
    }
    assert_eq!(laptop.own_status().await, Some(PENDING), "nothing was activated");
    let response = laptop.get_json(&format!("/api/e2ee/devices/{}/wrapped-umk", laptop.id)).await;
    assert_eq!(response.status, 404, "a pending device has no key");

    let devices = desk.devices().await;
    let device = devices.iter().find(|it| it["deviceId"] == laptop.id).expect("a device");
    let fingerprint = laptop.keys.fingerprint();
    assert!(device.get("fingerprint").is_none_or(|it| *it == fingerprint), "{device}");
}

async fn a_proof_key_may_be_set_late_and_only_once(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.sign_in_device().await;
    desk.begin_encryption().await;
    desk.encrypt_all().await;
    assert_ne!(desk.e2ee_status().await["hasRecoveryProofKey"], true);

    let response = desk.put_proof_key().await;
    assert_success(&response, "a proof key");
    assert_eq!(desk.e2ee_status().await["hasRecoveryProofKey"], true);

    let repeated_response = desk.put_proof_key().await;
    assert_success(&repeated_response, "an identical proof key");

    desk.umk = Some(Umk::generate());
    let replacement_response = desk.put_proof_key().await;
    assert_eq!(replacement_response.refusal(), (409, "proof_key_conflict"));
}
