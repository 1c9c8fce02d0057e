//! Devices that ask to be let in.

use super::*;
use crate::devices::ONBOARDING_TTL;
use crate::fakes::{Ada, Machine, key_form};

fn faults(form: DeviceForm) -> Vec<(&'static str, &'static str)> {
    match form.validate() {
        Err(RegisterDeviceError::Invalid(faults)) => {
            faults.into_iter().map(|it| (it.field, it.code)).collect()
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn the_first_device_is_informed_that_it_is_and_every_session_is_another() {
    let (ada, first) = (Ada::new(), Machine::new("first"));

    let (once, again) = (ada.register(&first).await, ada.register(&first).await);

    assert!(once.is_first && again.is_first, "until one is active it may try again");
    assert!(once.onboarding != again.onboarding && once.challenge != once.onboarding);
    assert_eq!(once.onboarding.len(), 44);
    let DeviceState::Pending(session) = ada.device(&first).state else { panic!("it waits") };
    assert_eq!(
        (session.text, session.ends_at),
        (again.onboarding, Timestamp::UNIX_EPOCH + ONBOARDING_TTL)
    );
    assert_eq!(ada.actions(), ["device.registered"], "a fresh session is no news");
}

#[tokio::test]
async fn who_requests_an_encrypted_account_is_reported_to_its_owner() {
    let (ada, _first) = Ada::encrypted().await;
    let second = Machine::new("second");
    ada.actions();

    let registered = ada.register(&second).await;
    ada.register(&second).await;

    assert!(!registered.is_first);
    assert_eq!(ada.actions(), ["device.registered", "device-registered"]);
}

#[tokio::test]
async fn an_active_device_stays_so_and_keeps_its_keys() {
    let (ada, first) = Ada::encrypted().await;
    let before = ada.device(&first);
    ada.actions();

    let renamed = DeviceForm { device_name: Some(" Desk ".to_owned()), ..first.form() };
    let again = ada.devices.register(ada.user, renamed).await.unwrap();
    let taken_over = ada.devices.register(ada.user, Machine::new("first").form()).await;

    let now = ada.device(&first);
    assert_eq!((&now.state, &*now.name), (&before.state, "Desk"));
    assert_eq!(now.signing_key, before.signing_key);
    assert!(!again.is_first && again.onboarding.len() == 44);
    assert!(matches!(taken_over, Err(RegisterDeviceError::OtherKeys)));
    assert_eq!(ada.actions(), [""; 0]);
}

#[tokio::test]
async fn a_device_that_was_turned_away_requests_anew_even_with_other_keys() {
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
    assert_eq!((now.row, now.created_at), (before.row, before.created_at));
    assert_ne!(now.signing_key, before.signing_key);
    assert_eq!(ada.actions(), ["device.registered", "device-registered"]);
}

#[tokio::test]
async fn there_are_so_many_devices_at_most_those_turned_away_not_counted() {
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
async fn an_encrypted_account_without_any_device_cannot_begin_anew() {
    let (ada, first) = Ada::encrypted().await;
    ada.devices.revoke(ada.user, &first.id).await.unwrap();

    let registered = ada.register(&first).await;
    let stored = ada.devices.store_key(ada.owner(), &first.id, key_form()).await;

    assert!(!registered.is_first);
    assert!(matches!(stored, Err(crate::StoreKeyError::NotActive)));
}

#[test]
fn what_is_wrong_with_a_device_is_reported_by_field() {
    let none = [
        ("deviceId", "required"),
        ("deviceName", "required"),
        ("agreementPublicKey", "required"),
        ("signingPublicKey", "required"),
    ];
    assert_eq!(faults(DeviceForm::default()), none);
    let good = Machine::new("good");
    let long = DeviceForm {
        device_id: Some("a b".to_owned()),
        device_name: Some("x".repeat(201)),
        os_version: Some("a\nb".to_owned()),
        app_version: Some("1".repeat(201)),
        ..good.form()
    };
    let reported = [
        ("deviceId", "invalid"),
        ("deviceName", "too_long"),
        ("osVersion", "invalid"),
        ("appVersion", "too_long"),
    ];
    assert_eq!(faults(long), reported);
    assert_eq!(faults(good.form()), []);
}
