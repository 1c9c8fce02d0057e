//! Contract tests of recovery copies and proof keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_e2ee::{
    ActivateError, ActivationForm, ProofKeyForm, PutProofKeyError, RecoveryForm, StoreCopyError,
};
use pia_kernel::Secret;
use pia_storage::schema::recovery_keys;
use pia_storage::{Database, DbError, DbUid, on_conn};
use ring::hmac;

use crate::people::{Machine, Person, START, recovery_form, text};

pia_testkit::contract! {
    a_copy_is_stored_as_sent_and_can_be_replaced,
    one_of_concurrent_proof_keys_is_stored,
    a_proof_key_is_sealed_and_verifies_proofs,
    a_proof_key_of_an_abandoned_master_key_accepts_no_proof,
}

fn proof_key(byte: u8) -> ProofKeyForm {
    ProofKeyForm { proof_key: Some(Secret::new(text(byte, 32))), version: None }
}

fn activation(machine: &Machine, session: &str, key: u8) -> ActivationForm {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &[key; 32]);
    ActivationForm {
        device_id: Some(machine.id.as_str().to_owned()),
        self_wrapped_umk: Some(text(8, 60)),
        hkdf_salt: Some(text(8, 32)),
        proof_of_possession: Some(STANDARD.encode(hmac::sign(&key, session.as_bytes()))),
        onboarding_session_id: Some(session.to_owned()),
    }
}

async fn sealed_proof_key(person: &Person) -> Vec<u8> {
    let row = recovery_keys::table.find(DbUid(person.user.0)).select(recovery_keys::proof_key);
    let proof_key: Result<Option<Vec<u8>>, DbError> =
        on_conn!(person.db.reader(), |conn| row.first(conn).await?);
    proof_key.unwrap().unwrap()
}

async fn a_copy_is_stored_as_sent_and_can_be_replaced(db: Database) {
    let (ada, _laptop) = Person::encrypted(&db).await;
    let newer_form = RecoveryForm { umk_version: Some(2), ..recovery_form(6) };

    ada.recovery.store_copy(ada.owner(), recovery_form(5)).await.unwrap();
    let copy = ada.recovery.find(ada.user).await.unwrap();
    ada.recovery.store_copy(ada.owner(), newer_form).await.unwrap();
    let replaced_copy = ada.recovery.find(ada.user).await.unwrap();

    assert_eq!(copy.ciphertext, text(5, 60));
    assert_eq!(copy.kdf_salt, text(5, 32));
    assert_eq!(copy.kdf_memory_kib, 65_536);
    assert_eq!(copy.kdf_time, 3);
    assert_eq!(copy.kdf_parallelism, 4);
    assert_eq!(copy.umk_version, 1);
    assert_eq!(copy.created_at, START);

    assert_eq!(replaced_copy.ciphertext, text(6, 60));
    assert_eq!(replaced_copy.umk_version, 2);

    let state = ada.devices.state(ada.user).await.unwrap();
    assert_eq!(state.umk_version, 2);
    assert!(state.recovery);
    assert!(!state.proof_key);
}

async fn one_of_concurrent_proof_keys_is_stored(db: Database) {
    let (ada, _laptop) = Person::encrypted(&db).await;
    ada.recovery.store_copy(ada.owner(), recovery_form(5)).await.unwrap();

    let results =
        join_all((0..16).map(|it| ada.recovery.put_proof_key(ada.owner(), proof_key(it)))).await;

    let winner = u8::try_from(results.iter().position(Result::is_ok).unwrap()).unwrap();
    let conflict =
        |it: &Result<(), PutProofKeyError>| matches!(it, Err(PutProofKeyError::Conflict));
    assert_eq!(results.iter().filter(|it| conflict(it)).count(), 15);

    ada.recovery.put_proof_key(ada.owner(), proof_key(winner)).await.unwrap();
    assert_eq!(ada.audited("recovery_key.proof_stored").await, 1);
    assert!(ada.devices.state(ada.user).await.unwrap().proof_key);

    let copy_outcome = ada.recovery.store_copy(ada.owner(), recovery_form(6)).await;
    assert!(matches!(copy_outcome, Err(StoreCopyError::Locked)));
}

async fn a_proof_key_is_sealed_and_verifies_proofs(db: Database) {
    let (ada, _laptop) = Person::encrypted(&db).await;
    ada.recovery.store_copy(ada.owner(), recovery_form(5)).await.unwrap();
    ada.recovery.put_proof_key(ada.owner(), proof_key(3)).await.unwrap();
    let phone = Machine::new("second");
    let session = ada.register(&phone).await;

    let with_wrong_key = ada.recovery.activate(ada.owner(), activation(&phone, &session, 4)).await;
    let results = join_all(
        (0..8).map(|_| ada.recovery.activate(ada.owner(), activation(&phone, &session, 3))),
    )
    .await;

    assert!(matches!(with_wrong_key, Err(ActivateError::WrongProof)));
    assert_eq!(results.iter().filter(|it| it.is_ok()).count(), 1, "the session is good once");

    let sealed = sealed_proof_key(&ada).await;
    let encoded = text(3, 32);
    for plain in [&[3; 32][..], encoded.as_bytes()] {
        assert!(!sealed.windows(plain.len()).any(|it| it == plain));
    }
}

async fn a_proof_key_of_an_abandoned_master_key_accepts_no_proof(db: Database) {
    let (ada, _laptop) = Person::encrypted(&db).await;
    ada.recovery.store_copy(ada.owner(), recovery_form(5)).await.unwrap();
    ada.recovery.put_proof_key(ada.owner(), proof_key(3)).await.unwrap();
    let phone = Machine::new("second");
    let rekeyed = ada.with_master_key([9; 32]);
    let session = rekeyed.register(&phone).await;

    let activation_outcome =
        rekeyed.recovery.activate(ada.owner(), activation(&phone, &session, 3)).await;
    let key_outcome = rekeyed.recovery.put_proof_key(ada.owner(), proof_key(3)).await;

    assert!(matches!(activation_outcome, Err(ActivateError::WrongProof)));
    assert!(matches!(key_outcome, Err(PutProofKeyError::Conflict)));
}
