//! Tests of a user's devices and their keys.

use super::*;
use crate::fakes::{Ada, Machine, key_form, text};
use crate::revocation::MAX_REVOKED;

#[tokio::test]
async fn the_first_key_activates_its_device_and_encrypts_the_account() {
    let ada = Ada::new();
    let laptop = Machine::new("first");
    ada.register(&laptop).await;
    let state_before = ada.devices.state(ada.user).await.unwrap();
    ada.actions();

    ada.devices.store_key(ada.owner(), &laptop.id, key_form()).await.unwrap();

    let state_after = ada.devices.state(ada.user).await.unwrap();
    assert_eq!(state_before, KeyState::default(), "registering alone does nothing");
    assert_eq!(state_after, KeyState { encrypted: true, umk_version: 1, ..KeyState::default() });
    let key = ada.devices.key_of(ada.user, &laptop.id).await.unwrap();
    assert_eq!(key.created_by, laptop.id);
    assert_eq!(key.approved, None);
    assert_eq!(ada.actions(), ["device.activated", "account.encrypted", "device-approved"]);
}

#[tokio::test]
async fn an_inactive_device_stores_and_receives_no_key() {
    let (ada, _laptop) = Ada::encrypted().await;
    let phone = Machine::new("second");
    ada.register(&phone).await;

    let while_pending = ada.devices.store_key(ada.owner(), &phone.id, key_form()).await;
    ada.devices.revoke(ada.user, &phone.id).await.unwrap();
    let after_revocation = ada.devices.store_key(ada.owner(), &phone.id, key_form()).await;
    let of_unknown = ada.devices.store_key(ada.owner(), &Machine::new("x").id, key_form()).await;

    assert!(matches!(while_pending, Err(StoreKeyError::NotActive)));
    assert!(matches!(after_revocation, Err(StoreKeyError::NotActive)));
    assert!(matches!(of_unknown, Err(StoreKeyError::Unknown)));
    let key = ada.devices.key_of(ada.user, &phone.id).await;
    assert!(matches!(key, Err(FindError::Unknown)));
}

#[tokio::test]
async fn a_key_is_replaced_only_by_its_own_device() {
    let (ada, laptop) = Ada::encrypted().await;
    let form_of = |id: &str| KeyForm { device_id: Some(id.to_owned()), ..key_form() };
    let own_form = KeyForm { ciphertext: Some(text(9, 60)), ..form_of("first") };

    ada.devices.store_key(ada.owner(), &laptop.id, own_form).await.unwrap();
    let of_other_device = ada.devices.store_key(ada.owner(), &laptop.id, form_of("second")).await;
    let later_form = KeyForm { wrap_version: Some(2), ..key_form() };
    let of_later_version = ada.devices.store_key(ada.owner(), &laptop.id, later_form).await;

    let key = ada.devices.key_of(ada.user, &laptop.id).await.unwrap();
    assert_eq!(key.ciphertext, text(9, 60));
    assert!(
        matches!(of_other_device, Err(StoreKeyError::Invalid(it)) if it[0].field == "deviceId")
    );
    assert!(
        matches!(of_later_version, Err(StoreKeyError::Invalid(it)) if it[0].field == "wrapVersion")
    );
}

#[tokio::test]
async fn a_pending_device_is_listed_until_its_session_expires() {
    let (ada, laptop) = Ada::encrypted().await;
    let phone = Machine::new("second");
    let session = ada.register(&phone).await.onboarding;
    let row = ada.device(&phone).row;

    let waiting = ada.devices.waiting(ada.user).await.unwrap();
    let listed = ada.devices.list(ada.user).await.unwrap();
    ada.clock.advance(ONBOARDING_TTL);
    let later = ada.devices.waiting(ada.user).await.unwrap();
    let listed_later = ada.devices.list(ada.user).await.unwrap();
    let names = ada.devices.names(ada.user).await.unwrap();

    let onboardings = |devices: &[ListedDevice]| {
        devices.iter().map(|it| it.onboarding.clone()).collect::<Vec<_>>()
    };
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].row, row);
    assert_eq!(&*waiting[0].name, "DESKTOP-second");
    assert_eq!(onboardings(&listed), [None, Some(session)]);
    assert!(later.is_empty());
    assert_eq!(onboardings(&listed_later), vec![None, None]);
    assert_eq!(names.len(), 2);
    assert_eq!(&*names[laptop.id.as_str()], "DESKTOP-first");
}

#[tokio::test]
async fn a_revoked_device_loses_its_key_and_is_revoked_once() {
    let (ada, laptop) = Ada::encrypted().await;
    ada.actions();

    ada.devices.revoke(ada.user, &laptop.id).await.unwrap();
    ada.devices.revoke(ada.user, &laptop.id).await.unwrap();
    let of_unknown = ada.devices.revoke(ada.user, &Machine::new("x").id).await;

    assert_eq!(ada.device(&laptop).state, DeviceState::Revoked);
    assert!(ada.devices.state(ada.user).await.unwrap().encrypted, "for good");
    assert!(matches!(of_unknown, Err(RevokeDeviceError::Unknown)));
    assert_eq!(ada.actions(), ["device.revoked", "device-revoked"]);
}

#[tokio::test]
async fn devices_revoked_the_longest_ago_are_deleted() {
    let ada = Ada::new();
    for number in 0..MAX_REVOKED + 2 {
        let machine = Machine::new(&format!("d{number}"));
        ada.register(&machine).await;
        ada.clock.advance(Duration::from_secs(1));
        ada.devices.revoke(ada.user, &machine.id).await.unwrap();
    }

    let names = ada.devices.names(ada.user).await.unwrap();

    assert_eq!(names.len(), MAX_REVOKED);
    assert!(!names.contains_key("d0"));
    assert!(!names.contains_key("d1"));
    assert!(names.contains_key("d2"));
}

#[tokio::test]
async fn after_a_reset_the_first_key_requires_reauthentication() {
    let ada = Ada::new();
    let laptop = Machine::new("first");
    ada.store.0.lock().unwrap().keys.was_reset = true;
    ada.register(&laptop).await;

    let by_session = ada.devices.store_key(ada.session(), &laptop.id, key_form()).await;
    let unchanged_state = ada.devices.state(ada.user).await.unwrap();
    let by_owner = ada.devices.store_key(ada.owner(), &laptop.id, key_form()).await;
    let after_first_key = ada.devices.store_key(ada.session(), &laptop.id, key_form()).await;

    assert!(matches!(by_session, Err(StoreKeyError::Unproven)));
    assert_eq!(unchanged_state, KeyState::default());
    by_owner.unwrap();
    after_first_key.unwrap();
}
