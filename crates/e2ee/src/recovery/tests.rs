//! Tests of recovery with the recovery code.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_kernel::Secret;
use ring::hmac;

use super::*;
use crate::device::DeviceState;
use crate::devices::ONBOARDING_TTL;
use crate::fakes::{Ada, Machine, recovery_form, text};

const KEY: [u8; 32] = [42; 32];

fn proof_key(bytes: &[u8]) -> ProofKeyForm {
    ProofKeyForm { proof_key: Some(Secret::new(STANDARD.encode(bytes))), version: Some(1) }
}

fn activation(machine: &Machine, session: &str, proof: &str) -> ActivationForm {
    ActivationForm {
        device_id: Some(machine.id.as_str().to_owned()),
        self_wrapped_umk: Some(text(5, 60)),
        hkdf_salt: Some(text(6, 32)),
        proof_of_possession: Some(proof.to_owned()),
        onboarding_session_id: Some(session.to_owned()),
    }
}

fn proof(session: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &KEY);
    STANDARD.encode(hmac::sign(&key, session.as_bytes()))
}

#[tokio::test]
async fn a_copy_is_replaced_until_a_proof_key_guards_it() {
    let (ada, _laptop) = Ada::encrypted().await;
    let newer_copy = RecoveryForm { umk_version: Some(2), ..recovery_form() };
    ada.actions();

    let key_without_copy = ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    ada.recovery.store_copy(ada.owner(), newer_copy).await.unwrap();
    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    let copy_after_key = ada.recovery.store_copy(ada.owner(), recovery_form()).await;

    assert!(matches!(key_without_copy, Err(PutProofKeyError::NotSetUp)));
    assert!(matches!(copy_after_key, Err(StoreCopyError::Locked)));
    assert_eq!(ada.recovery.find(ada.user).await.unwrap().umk_version, 2);
    assert_eq!(ada.devices.state(ada.user).await.unwrap().umk_version, 2);
    let change_email = "recovery-key-changed";
    let copy_entry = "recovery_key.stored";
    let proof_entry = "recovery_key.proof_stored";
    assert_eq!(
        ada.actions(),
        [copy_entry, change_email, copy_entry, change_email, proof_entry, change_email]
    );
}

#[tokio::test]
async fn the_first_proof_key_is_permanent() {
    let (ada, laptop) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    ada.actions();

    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    let another_key = ada.recovery.put_proof_key(ada.owner(), proof_key(&[1; 32])).await;
    let short_key = ada.recovery.put_proof_key(ada.owner(), proof_key(&[1; 31])).await;
    let later_form = ProofKeyForm { version: Some(2), ..proof_key(&KEY) };
    let of_later_version = ada.recovery.put_proof_key(ada.owner(), later_form).await;
    ada.devices.revoke(ada.user, &laptop.id).await.unwrap();
    let without_device = ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await;

    assert!(matches!(another_key, Err(PutProofKeyError::Conflict)));
    assert!(matches!(short_key, Err(PutProofKeyError::Invalid)));
    assert!(matches!(of_later_version, Err(PutProofKeyError::Invalid)));
    assert!(matches!(without_device, Err(PutProofKeyError::NoActiveDevice)));
    assert_eq!(ada.actions(), ["device.revoked", "device-revoked"], "a repetition is not recorded");
}

#[tokio::test]
async fn a_proof_activates_a_device_once() {
    let (ada, _laptop) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    let phone = Machine::new("second");
    let session = ada.register(&phone).await.onboarding;
    let valid_form = activation(&phone, &session, &proof(&session));

    let wrong_form = activation(&phone, &session, &proof("another"));
    let with_wrong_proof = ada.recovery.activate(ada.owner(), wrong_form).await;
    let with_malformed_proof =
        ada.recovery.activate(ada.owner(), activation(&phone, &session, "x")).await;
    let with_foreign_session =
        ada.recovery.activate(ada.owner(), activation(&phone, "x", "x")).await;
    ada.actions();
    ada.recovery.activate(ada.owner(), valid_form.clone()).await.unwrap();
    let repetition = ada.recovery.activate(ada.owner(), valid_form).await;

    assert!(matches!(with_wrong_proof, Err(ActivateError::WrongProof)));
    assert!(matches!(with_malformed_proof, Err(ActivateError::WrongProof)));
    assert!(matches!(with_foreign_session, Err(ActivateError::Onboarding)));
    assert!(matches!(repetition, Err(ActivateError::Unknown)), "no longer pending");
    let DeviceState::Active(key) = ada.device(&phone).state else { panic!("not active") };
    assert_eq!(key.created_by, phone.id);
    assert_eq!(key.approved, None);
    assert_eq!(ada.actions(), ["device.activated", "device-approved"]);
}

#[tokio::test]
async fn without_a_proof_key_any_proof_is_accepted() {
    let (ada, _laptop) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    let phone = Machine::new("second");
    let session = ada.register(&phone).await.onboarding;

    ada.recovery.activate(ada.owner(), activation(&phone, &session, "any")).await.unwrap();

    assert!(ada.device(&phone).is_active());
}

#[tokio::test]
async fn activation_requires_a_recovery_copy_and_an_unexpired_session() {
    let ada = Ada::new();
    let phone = Machine::new("second");
    let session = ada.register(&phone).await.onboarding;

    let without_copy =
        ada.recovery.activate(ada.owner(), activation(&phone, &session, "any")).await;
    let copy_of_plain_account = ada.recovery.store_copy(ada.owner(), recovery_form()).await;
    ada.clock.advance(ONBOARDING_TTL);
    let after_expiry =
        ada.recovery.activate(ada.owner(), activation(&phone, &session, "any")).await;

    assert!(matches!(without_copy, Err(ActivateError::NotSetUp)));
    assert!(matches!(copy_of_plain_account, Err(StoreCopyError::NoActiveDevice)));
    assert!(matches!(after_expiry, Err(ActivateError::Onboarding)));
}

#[tokio::test]
async fn an_unreadable_proof_key_accepts_no_proof() {
    let (ada, _laptop) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    ada.store.0.lock().unwrap().keys.recovery = Some(crate::RecoveryProofKey::Lost);
    let phone = Machine::new("second");
    let session = ada.register(&phone).await.onboarding;

    let form = activation(&phone, &session, &proof(&session));
    let activation_outcome = ada.recovery.activate(ada.owner(), form).await;
    let copy_outcome = ada.recovery.store_copy(ada.owner(), recovery_form()).await;
    let key_outcome = ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await;

    assert!(matches!(activation_outcome, Err(ActivateError::WrongProof)));
    assert!(matches!(copy_outcome, Err(StoreCopyError::Locked)));
    assert!(matches!(key_outcome, Err(PutProofKeyError::Conflict)));
}

#[tokio::test]
async fn violations_of_a_copy_name_their_field() {
    let (ada, _laptop) = Ada::encrypted().await;
    let empty_form = RecoveryForm {
        kdf_memory_cost_kb: Some(0),
        kdf_time_cost: Some(0),
        kdf_parallelism: Some(256),
        wrap_version: Some(0),
        umk_version: Some(0),
        ..RecoveryForm::default()
    };

    let Err(StoreCopyError::Invalid(invalid)) =
        ada.recovery.store_copy(ada.owner(), empty_form).await
    else {
        panic!("refused")
    };

    let violations: Vec<_> = invalid.iter().map(|it| (it.field, it.code)).collect();
    let absent = "required";
    let range = "out_of_range";
    let expected = [
        ("ciphertext", absent),
        ("kdfSalt", absent),
        ("kdfMemoryCostKb", range),
        ("kdfTimeCost", range),
        ("kdfParallelism", range),
        ("wrapVersion", "unknown_version"),
        ("umkVersion", range),
    ];
    assert_eq!(violations, expected);
}

#[tokio::test]
async fn without_a_proof_key_activation_requires_reauthentication() {
    let (ada, _laptop) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.session(), recovery_form()).await.unwrap();
    let phone = Machine::new("second");
    let session = ada.register(&phone).await.onboarding;

    let without_key =
        ada.recovery.activate(ada.session(), activation(&phone, &session, "any")).await;
    ada.clock.advance(Duration::from_secs(601));
    let session = ada.register(&phone).await.onboarding;
    let with_proof = |proof: &str| activation(&phone, &session, proof);
    let key_by_session = ada.recovery.put_proof_key(ada.session(), proof_key(&KEY)).await;
    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    let repeated_key = ada.recovery.put_proof_key(ada.session(), proof_key(&KEY)).await;
    let with_wrong_proof = ada.recovery.activate(ada.owner(), with_proof("any")).await;
    let proven = ada.recovery.activate(ada.session(), with_proof(&proof(&session))).await;

    assert!(matches!(without_key, Err(ActivateError::Unproven)));
    assert!(matches!(key_by_session, Err(PutProofKeyError::Unproven)));
    assert!(
        matches!(with_wrong_proof, Err(ActivateError::WrongProof)),
        "the proof key is decisive"
    );
    repeated_key.unwrap();
    proven.unwrap();
}

#[tokio::test]
async fn a_copy_of_the_next_key_requires_reauthentication() {
    let (ada, _laptop) = Ada::encrypted().await;
    let form_of = |version| RecoveryForm { umk_version: Some(version), ..recovery_form() };

    let by_session = ada.recovery.store_copy(ada.session(), form_of(2)).await;
    let with_skipped_version = ada.recovery.store_copy(ada.owner(), form_of(3)).await;
    ada.recovery.store_copy(ada.owner(), form_of(2)).await.unwrap();
    ada.recovery.store_copy(ada.session(), form_of(2)).await.unwrap();

    assert!(matches!(by_session, Err(StoreCopyError::Unproven)));
    let Err(StoreCopyError::Invalid(violations)) = with_skipped_version else { panic!("refused") };
    assert_eq!(violations[0].field, "umkVersion");
    assert_eq!(violations[0].code, "out_of_range");
    assert_eq!(ada.devices.state(ada.user).await.unwrap().umk_version, 2);
}

#[tokio::test]
async fn the_client_that_encrypts_an_account_stores_its_first_proof_key() {
    let (ada, _laptop) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.session(), recovery_form()).await.unwrap();

    let by_program = ada.recovery.put_proof_key(ada.program(), proof_key(&KEY)).await;
    ada.clock.advance(Duration::from_mins(10));
    let by_session = ada.recovery.put_proof_key(ada.session(), proof_key(&KEY)).await;

    assert!(matches!(by_program, Err(PutProofKeyError::Unproven)));
    by_session.unwrap();
}
