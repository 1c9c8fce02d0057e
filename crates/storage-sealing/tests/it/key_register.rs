//! Contract tests of the master key's name.

use futures_util::future::join_all;
use pia_sealing::{InstalledKey, KeyId, KeyRegister, KeyReplacementOutcome};
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

    let results = join_all(names.iter().map(|it| register.install(it))).await;

    let installed_names: Vec<KeyId> = results
        .into_iter()
        .zip(&names)
        .map(|(result, ours)| match result.unwrap() {
            InstalledKey::Ours => ours.clone(),
            InstalledKey::Other(name) => name,
        })
        .collect();
    assert!(installed_names.windows(2).all(|it| it[0] == it[1]), "{installed_names:?}");
}

async fn a_name_is_replaced_only_if_the_previous_one_matches(db: Database) {
    let register = SqlKeyRegister::new(db);
    register.install(&name(1)).await.unwrap();

    let conflict = register.replace(&name(7), &name(2)).await.unwrap();
    let old_name = name(1);
    let new_name = name(2);
    let replacements = join_all((0..8).map(|_| register.replace(&old_name, &new_name))).await;

    assert_eq!(conflict, KeyReplacementOutcome::Conflict);
    for replacement in replacements {
        assert_eq!(replacement.unwrap(), KeyReplacementOutcome::Done);
    }
    assert_eq!(register.install(&name(2)).await.unwrap(), InstalledKey::Ours);
}
