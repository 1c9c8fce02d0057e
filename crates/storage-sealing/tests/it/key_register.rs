//! The one name of the master key.

use futures_util::future::join_all;
use pia_sealing::{InstalledKey, KeyId, KeyRegister};
use pia_storage::Database;
use pia_storage_sealing::SqlKeyRegister;

pia_testkit::contract! {
    of_many_names_at_once_one_is_put_down_and_reported_to_all,
    a_name_is_replaced_only_where_the_one_before_stands,
}

fn name(number: usize) -> KeyId {
    KeyId::from_stored(format!("{number:032x}"))
}

async fn of_many_names_at_once_one_is_put_down_and_reported_to_all(db: Database) {
    let register = SqlKeyRegister::new(db);
    let names: Vec<KeyId> = (0..32).map(name).collect();

    let reported = join_all(names.iter().map(|it| register.install(it))).await;

    let reported: Vec<KeyId> = reported
        .into_iter()
        .zip(&names)
        .map(|(reported, ours)| match reported.unwrap() {
            InstalledKey::Ours => ours.clone(),
            InstalledKey::Other(other) => other,
        })
        .collect();
    assert!(reported.windows(2).all(|it| it[0] == it[1]), "{reported:?}");
}

async fn a_name_is_replaced_only_where_the_one_before_stands(db: Database) {
    let register = SqlKeyRegister::new(db);
    register.install(&name(1)).await.unwrap();

    let wrong = register.replace(&name(7), &name(2)).await.unwrap();
    let (first, second) = (name(1), name(2));
    let right = join_all((0..8).map(|_| register.replace(&first, &second))).await;

    assert!(!wrong);
    assert!(right.into_iter().all(Result::unwrap));
    assert_eq!(register.install(&name(2)).await.unwrap(), InstalledKey::Ours);
}
