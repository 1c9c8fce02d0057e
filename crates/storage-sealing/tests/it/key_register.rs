//! Contract tests of the master key's name.

use futures_util::future::join_all;
use pia_sealing::{InstalledKey, KeyId, KeyRegister};
use pia_storage::Database;
use pia_storage_sealing::SqlKeyRegister;

pia_testkit::contract! {
    concurrent_installs_agree_on_one_name,
    a_name_is_replaced_only_if_the_previous_one_matches,
}

fn name(number: usize) -> KeyId {
    KeyId::from_stored(format!("{number:032x}"))
}

async fn concurrent_installs_agree_on_one_name(db: Database) {
    let register = SqlKeyRegister::new(db);
    let names: Vec<KeyId> = (0..32).map(name).collect();

    let installed = join_all(names.iter().map(|it| register.install(it))).await;

    let installed: Vec<KeyId> = installed
        .into_iter()
        .zip(&names)
        .map(|(installed, ours)| match installed.unwrap() {
            InstalledKey::Ours => ours.clone(),
            InstalledKey::Other(other) => other,
        })
        .collect();
    assert!(installed.windows(2).all(|it| it[0] == it[1]), "{installed:?}");
}

async fn a_name_is_replaced_only_if_the_previous_one_matches(db: Database) {
    let register = SqlKeyRegister::new(db);
    register.install(&name(1)).await.unwrap();

    let wrong = register.replace(&name(7), &name(2)).await.unwrap();
    let first = name(1);
    let second = name(2);
    let right = join_all((0..8).map(|_| register.replace(&first, &second))).await;

    assert!(!wrong);
    assert!(right.into_iter().all(Result::unwrap));
    assert_eq!(register.install(&name(2)).await.unwrap(), InstalledKey::Ours);
}
