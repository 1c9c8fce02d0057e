//! Tests of device registration.

use super::*;
use crate::devices::ONBOARDING_TTL;
use crate::fakes::{Ada, Machine, key_form};

fn violations(form: DeviceForm) -> Vec<(&'static str, &'static str)> {
    match form.validate() {
        Err(RegisterDeviceError::Invalid(violations)) => {
            violations.into_iter().map(|it| (it.field, it.code)).collect()
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn the_first_device_is_marked_and_every_session_differs() {
    let ada = Ada::new();
    let first = Machine::new("first");

    let once = ada.register(&first).await;
    let again = ada.register(&first).await;

    assert!(once.is_first && again.is_first, "until one is active it may try again");
    assert!(once.onboarding != again.onboarding && once.challenge != once.onboarding);
    assert_eq!(once.onboarding.len(), 44);
    let DeviceState::Pending(session) = ada.device(&first).state else { panic!("not pending") };
    assert_eq!(session.text, again.onboarding);
    assert_eq!(session.ends_at, Timestamp::UNIX_EPOCH + ONBOARDING_TTL);
    assert_eq!(ada.actions(), ["device.registered"], "a repetition is not recorded");
}

#[tokio::test]
async fn the_owner_is_notified_of_a_registration() {
    let (ada, _first) = Ada::encrypted().await;
    let second = Machine::new("second");
    ada.actions();

    let registered = ada.register(&second).await;
    ada.register(&second).await;

    assert!(!registered.is_first);
    assert_eq!(ada.actions(), ["device.registered", "device-registered"]);
}

#[tokio::test]
async fn an_active_device_stays_active_with_its_keys() {
    let (ada, first) = Ada::encrypted().await;
    let before = ada.device(&first);
    ada.actions();

    let renamed = DeviceForm { device_name: Some(" Desk ".to_owned()), ..first.form() };
    let again = ada.devices.register(ada.user, renamed).await.unwrap();
    let taken_over = ada.devices.register(ada.user, Machine::new("first").form()).await;

    let now = ada.device(&first);
    assert_eq!(now.state, before.state);
    assert_eq!(&*now.name, "Desk");
    assert_eq!(now.signing_key, before.signing_key);
    assert!(!again.is_first && again.onboarding.len() == 44);
    assert!(matches!(taken_over, Err(RegisterDeviceError::OtherKeys)));
    assert_eq!(ada.actions(), [""; 0]);
}

#[tokio::test]
async fn a_revoked_device_registers_again_even_with_other_keys() {
    let (ada, _first) = Ada::encrypted().await;
    let second = Machine::new("second");
    ada.register(&second).await;
    ada.devices.revoke(ada.user, &second.id).await.unwrap();
    let before = ada.device(&second);
    ada.actions();

    let renewed = Machine::new("second");
    ada.register(&renewed).await;

    let now = ada.device(&second);
    assert!(matches!(now.state, DeviceState::Pending(_)));
    assert_eq!(now.row, before.row);
    assert_eq!(now.created_at, before.created_at);
    assert_ne!(now.signing_key, before.signing_key);
    assert_eq!(ada.actions(), ["device.registered", "device-registered"]);
}

#[tokio::test]
async fn the_number_of_devices_is_limited_without_the_revoked_ones() {
    let ada = Ada::new();
    for number in 0..MAX_DEVICES {
        ada.register(&Machine::new(&format!("d{number}"))).await;
    }

    let full = ada.devices.register(ada.user, Machine::new("more").form()).await;
    ada.register(&Machine::new("d7")).await;
    ada.devices.revoke(ada.user, &Machine::new("d7").id).await.unwrap();
    ada.register(&Machine::new("more")).await;
    let back = ada.devices.register(ada.user, Machine::new("d7").form()).await;

    assert!(matches!(full, Err(RegisterDeviceError::Full { limit: MAX_DEVICES })));
    assert!(matches!(back, Err(RegisterDeviceError::Full { .. })));
}

#[tokio::test]
async fn an_encrypted_account_without_devices_cannot_be_set_up_again() {
    let (ada, first) = Ada::encrypted().await;
    ada.devices.revoke(ada.user, &first.id).await.unwrap();

    let registered = ada.register(&first).await;
    let own_key = ada.devices.store_key(ada.owner(), &first.id, key_form()).await;

    assert!(!registered.is_first);
    assert!(matches!(own_key, Err(crate::StoreKeyError::NotActive)));
}

#[test]
fn violations_of_a_device_name_their_field() {
    let none = [
        ("deviceId", "required"),
        ("deviceName", "required"),
        ("agreementPublicKey", "required"),
        ("signingPublicKey", "required"),
    ];
    assert_eq!(violations(DeviceForm::default()), none);
    let valid = Machine::new("good");
    let long = DeviceForm {
        device_id: Some("a b".to_owned()),
        device_name: Some("x".repeat(201)),
        os_version: Some("a\nb".to_owned()),
        app_version: Some("1".repeat(201)),
        ..valid.form()
    };
    let expected = [
        ("deviceId", "invalid"),
        ("deviceName", "too_long"),
        ("osVersion", "invalid"),
        ("appVersion", "too_long"),
    ];
    assert_eq!(violations(long), expected);
    assert_eq!(violations(valid.form()), []);
}
