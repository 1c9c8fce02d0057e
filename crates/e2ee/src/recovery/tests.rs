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
    let (ada, _first) = Ada::encrypted().await;
    let newer = RecoveryForm { umk_version: Some(2), ..recovery_form() };
    ada.actions();

    let too_early = ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    ada.recovery.store_copy(ada.owner(), newer).await.unwrap();
    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    let locked = ada.recovery.store_copy(ada.owner(), recovery_form()).await;

    assert!(matches!(too_early, Err(PutProofKeyError::NotSetUp)));
    assert!(matches!(locked, Err(StoreCopyError::Locked)));
    assert_eq!(ada.recovery.find(ada.user).await.unwrap().umk_version, 2);
    assert_eq!(ada.devices.state(ada.user).await.unwrap().umk_version, 2);
    let changed = "recovery-key-changed";
    let stored = "recovery_key.stored";
    let proof = "recovery_key.proof_stored";
    assert_eq!(ada.actions(), [stored, changed, stored, changed, proof, changed]);
}

#[tokio::test]
async fn the_first_proof_key_is_permanent() {
    let (ada, first) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    ada.actions();

    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    let another_key = ada.recovery.put_proof_key(ada.owner(), proof_key(&[1; 32])).await;
    let short_key = ada.recovery.put_proof_key(ada.owner(), proof_key(&[1; 31])).await;
    let later_form = ProofKeyForm { version: Some(2), ..proof_key(&KEY) };
    let later = ada.recovery.put_proof_key(ada.owner(), later_form).await;
    ada.devices.revoke(ada.user, &first.id).await.unwrap();
    let by_none = ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await;

    assert!(matches!(another_key, Err(PutProofKeyError::Conflict)));
    assert!(matches!(short_key, Err(PutProofKeyError::Invalid)));
    assert!(matches!(later, Err(PutProofKeyError::Invalid)));
    assert!(matches!(by_none, Err(PutProofKeyError::NoActiveDevice)));
    assert_eq!(ada.actions(), ["device.revoked", "device-revoked"], "a repetition is not recorded");
}

#[tokio::test]
async fn a_proof_activates_a_device_once() {
    let (ada, _first) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    let second = Machine::new("second");
    let session = ada.register(&second).await.onboarding;
    let valid = activation(&second, &session, &proof(&session));

    let wrong_form = activation(&second, &session, &proof("another"));
    let wrong = ada.recovery.activate(ada.owner(), wrong_form).await;
    let malformed = ada.recovery.activate(ada.owner(), activation(&second, &session, "x")).await;
    let foreign = ada.recovery.activate(ada.owner(), activation(&second, "x", "x")).await;
    ada.actions();
    ada.recovery.activate(ada.owner(), valid.clone()).await.unwrap();
    let again = ada.recovery.activate(ada.owner(), valid).await;

    assert!(matches!(wrong, Err(ActivateError::WrongProof)));
    assert!(matches!(malformed, Err(ActivateError::WrongProof)));
    assert!(matches!(foreign, Err(ActivateError::Onboarding)));
    assert!(matches!(again, Err(ActivateError::Unknown)), "no longer pending");
    let DeviceState::Active(key) = ada.device(&second).state else { panic!("not active") };
    assert_eq!(key.created_by, second.id);
    assert_eq!(key.approved, None);
    assert_eq!(ada.actions(), ["device.activated", "device-approved"]);
}

#[tokio::test]
async fn without_a_proof_key_any_proof_is_accepted() {
    let (ada, _first) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    let second = Machine::new("second");
    let session = ada.register(&second).await.onboarding;

    ada.recovery.activate(ada.owner(), activation(&second, &session, "any")).await.unwrap();

    assert!(ada.device(&second).is_active());
}

#[tokio::test]
async fn activation_requires_a_recovery_copy_and_an_unexpired_session() {
    let ada = Ada::new();
    let second = Machine::new("second");
    let session = ada.register(&second).await.onboarding;

    let plain = ada.recovery.activate(ada.owner(), activation(&second, &session, "any")).await;
    let early = ada.recovery.store_copy(ada.owner(), recovery_form()).await;
    ada.clock.advance(ONBOARDING_TTL);
    let late = ada.recovery.activate(ada.owner(), activation(&second, &session, "any")).await;

    assert!(matches!(plain, Err(ActivateError::NotSetUp)));
    assert!(matches!(early, Err(StoreCopyError::NoActiveDevice)));
    assert!(matches!(late, Err(ActivateError::Onboarding)));
}

#[tokio::test]
async fn an_unreadable_proof_key_accepts_no_proof() {
    let (ada, _first) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.owner(), recovery_form()).await.unwrap();
    ada.store.0.lock().unwrap().keys.recovery = Some(crate::RecoveryProofKey::Lost);
    let second = Machine::new("second");
    let session = ada.register(&second).await.onboarding;

    let form = activation(&second, &session, &proof(&session));
    let activated = ada.recovery.activate(ada.owner(), form).await;
    let copied = ada.recovery.store_copy(ada.owner(), recovery_form()).await;
    let guarded = ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await;

    assert!(matches!(activated, Err(ActivateError::WrongProof)));
    assert!(matches!(copied, Err(StoreCopyError::Locked)));
    assert!(matches!(guarded, Err(PutProofKeyError::Conflict)));
}

#[tokio::test]
async fn violations_of_a_copy_name_their_field() {
    let (ada, _first) = Ada::encrypted().await;
    let none = RecoveryForm {
        kdf_memory_cost_kb: Some(0),
        kdf_time_cost: Some(0),
        kdf_parallelism: Some(256),
        wrap_version: Some(0),
        umk_version: Some(0),
        ..RecoveryForm::default()
    };

    let Err(StoreCopyError::Invalid(invalid)) = ada.recovery.store_copy(ada.owner(), none).await
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
    let (ada, _first) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.session(), recovery_form()).await.unwrap();
    let second = Machine::new("second");
    let session = ada.register(&second).await.onboarding;
    let by = |proof: &str| activation(&second, &session, proof);

    let unguarded = ada.recovery.activate(ada.session(), by("any")).await;
    ada.clock.advance(Duration::from_secs(601));
    let session = ada.register(&second).await.onboarding;
    let by = |proof: &str| activation(&second, &session, proof);
    let guarded = ada.recovery.put_proof_key(ada.session(), proof_key(&KEY)).await;
    ada.recovery.put_proof_key(ada.owner(), proof_key(&KEY)).await.unwrap();
    let again = ada.recovery.put_proof_key(ada.session(), proof_key(&KEY)).await;
    let wrong = ada.recovery.activate(ada.owner(), by("any")).await;
    let proven = ada.recovery.activate(ada.session(), by(&proof(&session))).await;

    assert!(matches!(unguarded, Err(ActivateError::Unproven)));
    assert!(matches!(guarded, Err(PutProofKeyError::Unproven)));
    assert!(matches!(wrong, Err(ActivateError::WrongProof)), "the proof key is decisive");
    again.unwrap();
    proven.unwrap();
}

#[tokio::test]
async fn a_copy_of_the_next_key_requires_reauthentication() {
    let (ada, _first) = Ada::encrypted().await;
    let copy = |version| RecoveryForm { umk_version: Some(version), ..recovery_form() };

    let by_session = ada.recovery.store_copy(ada.session(), copy(2)).await;
    let skipped = ada.recovery.store_copy(ada.owner(), copy(3)).await;
    ada.recovery.store_copy(ada.owner(), copy(2)).await.unwrap();
    ada.recovery.store_copy(ada.session(), copy(2)).await.unwrap();

    assert!(matches!(by_session, Err(StoreCopyError::Unproven)));
    let Err(StoreCopyError::Invalid(violations)) = skipped else { panic!("refused") };
    assert_eq!(violations[0].field, "umkVersion");
    assert_eq!(violations[0].code, "out_of_range");
    assert_eq!(ada.devices.state(ada.user).await.unwrap().umk_version, 2);
}

#[tokio::test]
async fn the_client_that_encrypts_an_account_stores_its_first_proof_key() {
    let (ada, _first) = Ada::encrypted().await;
    ada.recovery.store_copy(ada.session(), recovery_form()).await.unwrap();

    let by_program = ada.recovery.put_proof_key(ada.program(), proof_key(&KEY)).await;
    ada.clock.advance(Duration::from_mins(10));
    let by_session = ada.recovery.put_proof_key(ada.session(), proof_key(&KEY)).await;

    assert!(matches!(by_program, Err(PutProofKeyError::Unproven)));
    by_session.unwrap();
}
