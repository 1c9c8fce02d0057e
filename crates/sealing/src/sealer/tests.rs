//! Tests of sealing and opening values.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use uuid::Uuid;

use super::*;
use crate::envelope::HEADER_LEN;

const PLACE: SealContext<'static> = SealContext { purpose: "totp-secret", row: b"row" };
const PLAIN: &[u8] = b"twenty bytes, or so.";

#[derive(Default)]
struct Salts(Mutex<HashMap<UserId, Salt>>);

#[async_trait]
impl SaltStore for Salts {
    async fn salt(&self, user: UserId, fresh: Salt) -> Result<Option<Salt>, Unavailable> {
        Ok(Some(self.0.lock().unwrap().entry(user).or_insert(fresh).clone()))
    }

    async fn find(&self, user: UserId) -> Result<Option<Salt>, Unavailable> {
        Ok(self.0.lock().unwrap().get(&user).cloned())
    }
}

fn keys(current: u8, previous: Option<u8>) -> MasterKeys {
    let key = |byte| Secret::new([byte; 32]);
    MasterKeys { current: key(current), previous: previous.map(key) }
}

fn sealer(salts: &Arc<Salts>, current: u8, previous: Option<u8>) -> Sealer {
    Sealer::new(keys(current, previous), Arc::clone(salts) as _)
}

fn plain() -> Secret<Vec<u8>> {
    Secret::new(PLAIN.to_vec())
}

fn ada() -> UserId {
    UserId(Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|it| [it >> 4, it & 0xf])
        .filter_map(|it| char::from_digit(it.into(), 16))
        .collect()
}

#[test]
fn a_value_is_sealed_in_the_specified_format() {
    let user = ada();
    let master = keys(1, None);
    let key = user_key(&master.current, user, &Salt([7; 32])).unwrap();
    let id = master.current_id();

    let sealed = envelope::seal_with(&key, &id, &aad_parts(&user, PLACE), [9; 12], PLAIN).unwrap();

    // Computed with another implementation of HKDF and AES-GCM.
    assert_eq!(
        hex(&sealed),
        "01b7329221050ce09f72e2f3ea1bc61811090909090909090909090909df52be69cb5a9330cb3bbfc9cb9665c84644847e21bd76d67cc9543238d0659ccad2e21b"
    );
}

#[tokio::test]
async fn a_value_opens_for_the_same_user_and_place() {
    let sealer = sealer(&Arc::default(), 1, None);

    let sealed = sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();

    assert_eq!(sealer.open(ada(), PLACE, &sealed).await.unwrap().expose(), PLAIN);
    assert!(!sealed.windows(4).any(|it| PLAIN.windows(4).any(|part| part == it)));
}

#[tokio::test]
async fn sealing_the_same_value_twice_differs() {
    let sealer = sealer(&Arc::default(), 1, None);

    let first_value = sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();
    let second_value = sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();

    assert_ne!(first_value, second_value);
}

#[tokio::test]
async fn any_flipped_bit_is_detected() {
    let sealer = sealer(&Arc::default(), 1, None);
    let sealed = sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();

    for bit in 0..sealed.len() * 8 {
        let mut changed_value = sealed.clone();
        changed_value[bit / 8] ^= 1 << (bit % 8);

        let refusal = sealer.open(ada(), PLACE, &changed_value).await.unwrap_err();

        let is_expected = match bit / 8 {
            0 => matches!(refusal, UnsealError::Malformed),
            1..HEADER_LEN => matches!(refusal, UnsealError::OtherKey(_)),
            _ => matches!(refusal, UnsealError::Forged),
        };
        assert!(is_expected, "bit {bit}: {refusal}");
    }
}

#[tokio::test]
async fn a_truncated_value_is_refused_at_any_length() {
    let sealer = sealer(&Arc::default(), 1, None);
    let sealed = sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();

    for length in 0..sealed.len() {
        let refusal = sealer.open(ada(), PLACE, &sealed[..length]).await;

        assert!(matches!(refusal, Err(UnsealError::Malformed | UnsealError::Forged)), "{length}");
    }
}

#[tokio::test]
async fn a_value_opens_for_no_other_user_and_no_other_place() {
    let sealer = sealer(&Arc::default(), 1, None);
    let eve = UserId::generate();
    let sealed = sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();
    sealer.seal(eve, PLACE, &plain()).await.unwrap().unwrap();

    let elsewhere = [
        (eve, PLACE),
        (ada(), SealContext { purpose: "mail", ..PLACE }),
        (ada(), SealContext { row: b"another row", ..PLACE }),
        (ada(), SealContext { purpose: "totp-secretr", row: b"ow" }),
    ];
    for (user, place) in elsewhere {
        let refusal = sealer.open(user, place, &sealed).await;

        assert!(matches!(refusal, Err(UnsealError::Forged)), "{place:?}");
    }
}

#[tokio::test]
async fn values_of_the_previous_key_open_and_new_values_use_the_current_key() {
    let salts = Arc::default();
    let old_value = sealer(&salts, 1, None).seal(ada(), PLACE, &plain()).await.unwrap().unwrap();

    let during_rotation = sealer(&salts, 2, Some(1));
    let new_value = during_rotation.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();
    assert_eq!(during_rotation.open(ada(), PLACE, &old_value).await.unwrap().expose(), PLAIN);
    assert!(during_rotation.is_outdated(&old_value) && !during_rotation.is_outdated(&new_value));

    let after_rotation = sealer(&salts, 2, None);
    assert_eq!(after_rotation.open(ada(), PLACE, &new_value).await.unwrap().expose(), PLAIN);
    let outcome = after_rotation.open(ada(), PLACE, &old_value).await;
    assert!(matches!(outcome, Err(UnsealError::OtherKey(id)) if id == keys(1, None).current_id()));
}

#[tokio::test]
async fn without_the_salt_the_values_of_a_user_are_lost_permanently() {
    let salts = Arc::<Salts>::default();
    let sealer = sealer(&salts, 1, None);
    let sealed = sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();
    salts.0.lock().unwrap().clear();

    let without_salt = sealer.open(ada(), PLACE, &sealed).await;
    assert!(matches!(without_salt, Err(UnsealError::Shredded)));

    sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();
    let with_new_salt = sealer.open(ada(), PLACE, &sealed).await;
    assert!(matches!(with_new_salt, Err(UnsealError::Forged)));
}

#[test]
fn keys_are_never_printed() {
    let salts = Arc::default();
    let sealer = sealer(&salts, 0xab, Some(0xcd));
    let keys = keys(0xab, Some(0xcd));

    let printed = format!("{sealer:?} {keys:?} {:?}", Salt([0xab; 32]));

    for key in ["abababab", "cdcdcdcd", "171, 171", "205, 205"] {
        assert!(!printed.contains(key), "{printed}");
    }
}

#[tokio::test]
async fn keys_derived_once_are_compatible_with_the_sealer() {
    let sealer = sealer(&Arc::default(), 1, None);
    let seal = sealer.seal_for(ada()).await.unwrap().unwrap();

    let by_user_seal = seal.seal(PLACE, PLAIN).unwrap();
    let by_sealer = sealer.seal(ada(), PLACE, &plain()).await.unwrap().unwrap();

    assert_eq!(sealer.open(ada(), PLACE, &by_user_seal).await.unwrap().expose(), PLAIN);
    assert_eq!(seal.open(PLACE, &by_sealer).unwrap().expose(), PLAIN);
    let elsewhere = SealContext { row: b"another row", ..PLACE };
    assert!(matches!(seal.open(elsewhere, &by_user_seal), Err(UnsealError::Forged)));
}

#[tokio::test]
async fn a_long_value_is_opened_in_place() {
    let seal = sealer(&Arc::default(), 1, None).seal_for(ada()).await.unwrap().unwrap();
    let seal_of_other_key =
        sealer(&Arc::default(), 2, None).seal_for(ada()).await.unwrap().unwrap();
    let sealed = seal.seal(PLACE, PLAIN).unwrap();
    let elsewhere = SealContext { row: b"another row", ..PLACE };

    let outcome = seal.open_long(elsewhere, sealed.clone());
    assert!(matches!(outcome, Err(UnsealError::Forged)));
    let outcome = seal_of_other_key.open_long(PLACE, sealed.clone());
    assert!(matches!(outcome, Err(UnsealError::OtherKey(_))));
    assert!(matches!(seal.open_long(PLACE, sealed[..20].to_vec()), Err(UnsealError::Malformed)));
    assert_eq!(seal.open_long(PLACE, sealed).unwrap().expose(), PLAIN);
}

#[tokio::test]
async fn keys_derived_once_open_values_of_the_previous_key() {
    let salts = Arc::default();
    let old_value = sealer(&salts, 1, None).seal(ada(), PLACE, &plain()).await.unwrap().unwrap();

    let during_rotation = sealer(&salts, 2, Some(1)).seal_for(ada()).await.unwrap().unwrap();
    assert_eq!(during_rotation.open(PLACE, &old_value).unwrap().expose(), PLAIN);

    let after_rotation = sealer(&salts, 2, None).seal_for(ada()).await.unwrap().unwrap();
    let outcome = after_rotation.open(PLACE, &old_value);
    assert!(matches!(outcome, Err(UnsealError::OtherKey(_))));
}

#[tokio::test]
async fn a_digest_recognises_a_value_of_its_user_only() {
    let sealer = sealer(&Arc::default(), 1, None);
    let seal = sealer.seal_for(ada()).await.unwrap().unwrap();
    let eve = sealer.seal_for(UserId::generate()).await.unwrap().unwrap();

    assert_eq!(seal.digest(PLAIN), seal.digest(PLAIN));
    assert_ne!(seal.digest(PLAIN), seal.digest(b"another"));
    assert_ne!(seal.digest(PLAIN), eve.digest(PLAIN));
}
