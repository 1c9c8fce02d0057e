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
    let laptop = Machine::new("first");

    let registration = ada.register(&laptop).await;
    let repetition = ada.register(&laptop).await;

    assert!(registration.is_first);
    assert!(repetition.is_first, "until one is active it may try again");
    assert_ne!(registration.onboarding, repetition.onboarding);
    assert_ne!(registration.challenge, registration.onboarding);
    assert_eq!(registration.onboarding.len(), 44);
    let DeviceState::Pending(session) = ada.device(&laptop).state else { panic!("not pending") };
    assert_eq!(session.text, repetition.onboarding);
    assert_eq!(session.ends_at, Timestamp::UNIX_EPOCH + ONBOARDING_TTL);
    assert_eq!(ada.actions(), ["device.registered"], "a repetition is not recorded");
}

#[tokio::test]
async fn the_owner_is_notified_of_a_registration() {
    let (ada, _laptop) = Ada::encrypted().await;
    let phone = Machine::new("second");
    ada.actions();

    let registration = ada.register(&phone).await;
    ada.register(&phone).await;

    assert!(!registration.is_first);
    assert_eq!(ada.actions(), ["device.registered", "device-registered"]);
}

#[tokio::test]
async fn an_active_device_stays_active_with_its_keys() {
    let (ada, laptop) = Ada::encrypted().await;
    let device_before = ada.device(&laptop);
    ada.actions();

    let renaming = DeviceForm { device_name: Some(" Desk ".to_owned()), ..laptop.form() };
    let registration = ada.devices.register(ada.user, renaming).await.unwrap();
    let with_other_keys = ada.devices.register(ada.user, Machine::new("first").form()).await;

    let device_after = ada.device(&laptop);
    assert_eq!(device_after.state, device_before.state);
    assert_eq!(&*device_after.name, "Desk");
    assert_eq!(device_after.signing_key, device_before.signing_key);
    assert!(!registration.is_first);
    assert_eq!(registration.onboarding.len(), 44);
    assert!(matches!(with_other_keys, Err(RegisterDeviceError::OtherKeys)));
    assert_eq!(ada.actions(), [""; 0]);
}

#[tokio::test]
async fn a_revoked_device_registers_again_even_with_other_keys() {
    let (ada, _laptop) = Ada::encrypted().await;
    let phone = Machine::new("second");
    ada.register(&phone).await;
    ada.devices.revoke(ada.user, &phone.id).await.unwrap();
    let device_before = ada.device(&phone);
    ada.actions();

    let reinstalled_phone = Machine::new("second");
    ada.register(&reinstalled_phone).await;

    let device_after = ada.device(&phone);
    assert!(matches!(device_after.state, DeviceState::Pending(_)));
    assert_eq!(device_after.row, device_before.row);
    assert_eq!(device_after.created_at, device_before.created_at);
    assert_ne!(device_after.signing_key, device_before.signing_key);
    assert_eq!(ada.actions(), ["device.registered", "device-registered"]);
}

#[tokio::test]
async fn the_number_of_devices_is_limited_without_the_revoked_ones() {
    let ada = Ada::new();
    for number in 0..MAX_DEVICES {
        ada.register(&Machine::new(&format!("d{number}"))).await;
    }

    let beyond_limit = ada.devices.register(ada.user, Machine::new("more").form()).await;
    ada.register(&Machine::new("d7")).await;
    ada.devices.revoke(ada.user, &Machine::new("d7").id).await.unwrap();
    ada.register(&Machine::new("more")).await;
    let of_revoked = ada.devices.register(ada.user, Machine::new("d7").form()).await;

    assert!(matches!(beyond_limit, Err(RegisterDeviceError::Full { limit: MAX_DEVICES })));
    assert!(matches!(of_revoked, Err(RegisterDeviceError::Full { .. })));
}

#[tokio::test]
async fn an_encrypted_account_without_devices_cannot_be_set_up_again() {
    let (ada, laptop) = Ada::encrypted().await;
    ada.devices.revoke(ada.user, &laptop.id).await.unwrap();

    let registration = ada.register(&laptop).await;
    let own_key = ada.devices.store_key(ada.owner(), &laptop.id, key_form()).await;

    assert!(!registration.is_first);
    assert!(matches!(own_key, Err(crate::StoreKeyError::NotActive)));
}

#[test]
fn violations_of_a_device_name_their_field() {
    let missing_fields = [
        ("deviceId", "required"),
        ("deviceName", "required"),
        ("agreementPublicKey", "required"),
        ("signingPublicKey", "required"),
    ];
    assert_eq!(violations(DeviceForm::default()), missing_fields);

    let machine = Machine::new("good");
    let invalid_form = DeviceForm {
        device_id: Some("a b".to_owned()),
        device_name: Some("x".repeat(201)),
        os_version: Some("a\nb".to_owned()),
        app_version: Some("1".repeat(201)),
        ..machine.form()
    };
    let expected = [
        ("deviceId", "invalid"),
        ("deviceName", "too_long"),
        ("osVersion", "invalid"),
        ("appVersion", "too_long"),
    ];
    assert_eq!(violations(invalid_form), expected);
    assert_eq!(violations(machine.form()), []);
}
