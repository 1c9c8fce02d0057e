//! Contract tests of devices: registration, approval and revocation.

use futures_util::future::{join, join_all};
use pia_e2ee::{
    ActivationForm, ApproveError, Change, DeviceState, FindCopyError, FindError, KeyState,
    KeyStore as _, RegisterDeviceError, RevokeDeviceError, StoreKeyError,
};
use pia_kernel::{SideEffects, UserId};
use pia_storage::Database;

use crate::people::{Machine, Person, START, key_form, recovery_form, text};

pia_testkit::contract! {
    a_device_is_stored_as_it_described_itself,
    an_approval_is_stored_with_its_approver,
    devices_of_another_user_are_not_found,
    one_of_concurrent_devices_encrypts_the_account,
    one_of_concurrent_approvals_succeeds,
    one_of_an_approval_and_an_activation_succeeds,
    a_concurrent_approval_leaves_no_key_on_a_revoked_device,
    concurrent_registrations_respect_the_limit,
    only_a_change_is_counted,
    a_failed_change_writes_nothing,
    devices_are_deleted_with_their_account,
}

async fn a_device_is_stored_as_it_described_itself(db: Database) {
    let ada = Person::new(&db).await;
    let laptop = Machine::new("FIRST");

    let session = ada.register(&laptop).await;
    let pending = ada.devices.find(ada.user, &laptop.id).await.unwrap();
    ada.devices.store_key(ada.owner(), &laptop.id, key_form(3)).await.unwrap();
    let active = ada.devices.find(ada.user, &laptop.id).await.unwrap();
    ada.devices.revoke(ada.user, &laptop.id).await.unwrap();
    let revoked = ada.devices.find(ada.user, &laptop.id).await.unwrap();

    let form = laptop.form();
    assert_eq!(Some(&pending.agreement_key), form.agreement_public_key.as_ref());
    assert_eq!(Some(&pending.signing_key), form.signing_public_key.as_ref());
    assert_eq!(pending.id.as_str(), "FIRST");
    assert_eq!(&*pending.name, "DESKTOP-FIRST");
    assert_eq!(pending.os_version, Some("Windows".to_owned()));
    assert_eq!(pending.app_version, None);
    assert_eq!(pending.onboarding(START), Some(&*session));
    assert_eq!(pending.created_at, START);
    assert_eq!(pending.activated_at, None);

    let DeviceState::Active(key) = &active.state else { panic!("it is in") };
    assert_eq!(key.ciphertext, text(3, 60));
    assert_eq!(key.salt, text(3, 32));
    assert_eq!(key.created_by, laptop.id);
    assert_eq!(key.created_at, START);
    assert_eq!(key.approved, None);

    assert_eq!(active.activated_at, Some(START));
    assert_eq!(active.row, pending.row);
    assert_eq!(revoked.state, DeviceState::Revoked);
    assert_eq!(revoked.revoked_at, Some(START));

    let encrypted = KeyState { encrypted: true, umk_version: 1, ..KeyState::default() };
    assert_eq!(ada.devices.state(ada.user).await.unwrap(), encrypted);
}

async fn an_approval_is_stored_with_its_approver(db: Database) {
    let (ada, laptop) = Person::encrypted(&db).await;
    let phone = Machine::new("second");
    let session = ada.register(&phone).await;
    let approval = laptop.approves(&phone, &session, 4);

    ada.devices.approve(ada.user, approval.clone()).await.unwrap();
    let key = ada.devices.key_of(ada.user, &phone.id).await.unwrap();
    ada.devices.store_key(ada.owner(), &phone.id, key_form(5)).await.unwrap();
    let own_key = ada.devices.key_of(ada.user, &phone.id).await.unwrap();

    let stored_approval = key.approved.unwrap();
    assert_eq!(Some(stored_approval.signature), approval.approver_signature);
    assert_eq!(stored_approval.version, 1);
    assert_eq!(stored_approval.onboarding, session);
    assert_eq!(key.created_by, laptop.id);

    assert_eq!(own_key.approved, None, "nobody vouches for its own");
    assert_eq!(own_key.created_by, phone.id, "nobody vouches for its own");

    let devices = ada.devices.list(ada.user).await.unwrap();
    let ids: Vec<_> = devices.iter().map(|it| it.device.id.as_str()).collect();
    assert_eq!(ids, ["first", "second"], "in the order in which they registered");
}

async fn devices_of_another_user_are_not_found(db: Database) {
    let (ada, laptop) = Person::encrypted(&db).await;
    let bob = Person::new(&db).await;

    let foreign_device = bob.devices.find(bob.user, &laptop.id).await;
    let revocation = bob.devices.revoke(bob.user, &laptop.id).await;
    let foreign_key = bob.devices.store_key(bob.owner(), &laptop.id, key_form(1)).await;
    let registration = bob.devices.register(bob.user, Machine::new("first").form()).await.unwrap();

    assert!(matches!(foreign_device, Err(FindError::Unknown)));
    assert!(matches!(revocation, Err(RevokeDeviceError::Unknown)));
    assert!(matches!(foreign_key, Err(StoreKeyError::Unknown)));
    assert!(registration.is_first, "ids are each person's own");
    assert_eq!(bob.devices.state(bob.user).await.unwrap(), KeyState::default());
    assert!(ada.devices.find(ada.user, &laptop.id).await.unwrap().is_active());
}

async fn one_of_concurrent_devices_encrypts_the_account(db: Database) {
    let ada = Person::new(&db).await;
    let machines: Vec<_> = (0..8).map(|it| Machine::new(&format!("d{it}"))).collect();
    for machine in &machines {
        ada.register(machine).await;
    }

    let first_keys =
        machines.iter().map(|it| ada.devices.store_key(ada.owner(), &it.id, key_form(1)));
    let results = join_all(first_keys).await;

    let is_refused = |it: &Result<(), StoreKeyError>| matches!(it, Err(StoreKeyError::NotActive));
    assert_eq!(results.iter().filter(|it| it.is_ok()).count(), 1);
    assert_eq!(results.iter().filter(|it| is_refused(it)).count(), 7);
    let devices = ada.devices.list(ada.user).await.unwrap();
    assert_eq!(devices.iter().filter(|it| it.device.is_active()).count(), 1);
    assert_eq!(ada.audited("account.encrypted").await, 1);
}

async fn one_of_concurrent_approvals_succeeds(db: Database) {
    let (ada, laptop) = Person::encrypted(&db).await;
    let phone = Machine::new("second");
    let session = ada.register(&phone).await;

    let approvals = (0..16).map(|it| {
        let form = laptop.approves(&phone, &session, it);
        ada.devices.approve(ada.user, form)
    });
    let results = join_all(approvals).await;

    let winner = results.iter().position(Result::is_ok).unwrap();
    let is_spent = |it: &Result<(), ApproveError>| matches!(it, Err(ApproveError::NotPending));
    assert_eq!(results.iter().filter(|it| is_spent(it)).count(), 15);
    let key = ada.devices.key_of(ada.user, &phone.id).await.unwrap();
    assert_eq!(key.ciphertext, text(u8::try_from(winner).unwrap(), 60));
    assert_eq!(ada.audited("device.approved").await, 1);
}

async fn one_of_an_approval_and_an_activation_succeeds(db: Database) {
    let (ada, laptop) = Person::encrypted(&db).await;
    ada.recovery.store_copy(ada.owner(), recovery_form(9)).await.unwrap();
    for round in 0..8 {
        let machine = Machine::new(&format!("d{round}"));
        let session = ada.register(&machine).await;
        let activation = ActivationForm {
            device_id: Some(machine.id.as_str().to_owned()),
            self_wrapped_umk: Some(text(8, 60)),
            hkdf_salt: Some(text(8, 32)),
            proof_of_possession: Some("any".to_owned()),
            onboarding_session_id: Some(session.clone()),
        };

        let approve = ada.devices.approve(ada.user, laptop.approves(&machine, &session, 4));
        let activate = ada.recovery.activate(ada.owner(), activation);
        let (approved, activated) = join(approve, activate).await;

        assert!(approved.is_ok() != activated.is_ok(), "{approved:?} {activated:?}");
        let key = ada.devices.key_of(ada.user, &machine.id).await.unwrap();
        assert_eq!(key.approved.is_some(), approved.is_ok());
    }
}

async fn a_concurrent_approval_leaves_no_key_on_a_revoked_device(db: Database) {
    let (ada, laptop) = Person::encrypted(&db).await;
    for round in 0..8 {
        let machine = Machine::new(&format!("d{round}"));
        let session = ada.register(&machine).await;

        let approve = ada.devices.approve(ada.user, laptop.approves(&machine, &session, 4));
        let (_approval, revocation) =
            join(approve, ada.devices.revoke(ada.user, &machine.id)).await;

        revocation.unwrap();
        let device = ada.devices.find(ada.user, &machine.id).await.unwrap();
        assert_eq!(device.state, DeviceState::Revoked);
    }
}

async fn concurrent_registrations_respect_the_limit(db: Database) {
    let ada = Person::new(&db).await;
    let machines: Vec<_> = (0..56).map(|it| Machine::new(&format!("d{it}"))).collect();

    let registrations = machines.iter().map(|it| ada.devices.register(ada.user, it.form()));
    let results = join_all(registrations).await;

    let is_full = |it: &Result<_, RegisterDeviceError>| {
        matches!(it, Err(RegisterDeviceError::Full { limit: 50 }))
    };
    assert_eq!(results.iter().filter(|it| is_full(it)).count(), 6);
    assert_eq!(ada.devices.list(ada.user).await.unwrap().len(), 50);
}

async fn only_a_change_is_counted(db: Database) {
    let (ada, laptop) = Person::encrypted(&db).await;
    let (version, encrypted) = ada.ledger().await;

    let of_unknown = ada.devices.revoke(ada.user, &Machine::new("x").id).await;
    let ledger_after_refusal = ada.ledger().await;
    ada.devices.revoke(ada.user, &laptop.id).await.unwrap();
    ada.devices.revoke(ada.user, &laptop.id).await.unwrap();

    assert!(matches!(of_unknown, Err(RevokeDeviceError::Unknown)));
    assert_eq!(version, 2);
    assert!(encrypted);
    assert_eq!(ledger_after_refusal, (2, true));
    assert_eq!(ada.ledger().await, (3, true), "it is encrypted for good");
    assert_eq!(ada.audited("device.revoked").await, 1);
}

async fn a_failed_change_writes_nothing(db: Database) {
    let (ada, laptop) = Person::encrypted(&db).await;
    let devices_before = ada.devices.list(ada.user).await.unwrap();

    // Two rows of one id: the second statement fails.
    let mut decide = |account: &pia_e2ee::AccountKeys| {
        let mut renamed_device = account.devices[0].clone();
        renamed_device.name.push('!');
        let mut twin = renamed_device.clone();
        twin.row = pia_e2ee::DeviceRow(UserId::generate().0);
        let effects = SideEffects::audit(START, ada.user, "device.revoked");
        Change { devices: vec![renamed_device, twin], effects, ..Change::default() }
    };
    let outcome = ada.keys.change(ada.user, START, &mut decide).await;

    assert!(outcome.is_err());
    assert_eq!(ada.devices.list(ada.user).await.unwrap(), devices_before);
    assert_eq!(ada.ledger().await.0, 2);
    assert_eq!(ada.audited("device.revoked").await, 0);
    assert!(ada.devices.find(ada.user, &laptop.id).await.unwrap().is_active());
}

async fn devices_are_deleted_with_their_account(db: Database) {
    let (ada, laptop) = Person::encrypted(&db).await;
    ada.recovery.store_copy(ada.owner(), recovery_form(1)).await.unwrap();

    ada.leave().await;
    let registration = ada.devices.register(ada.user, laptop.form()).await;

    assert_eq!(ada.devices.list(ada.user).await.unwrap(), []);
    let copy = ada.recovery.find(ada.user).await;
    assert!(matches!(copy, Err(FindCopyError::NotSetUp)));
    assert_eq!(ada.devices.state(ada.user).await.unwrap(), KeyState::default());
    assert!(matches!(registration, Err(RegisterDeviceError::Gone)));
}
