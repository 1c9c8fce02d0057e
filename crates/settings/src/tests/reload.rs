//! Settings that are read again.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use pia_identity::RegistrationPolicy;

use super::*;

const SOON: Duration = Duration::from_millis(5);
const LATE: Duration = Duration::from_secs(30);

fn live(operator: &Operator) -> LiveConfig {
    LiveConfig::new(operator.read())
}

#[test]
fn what_reloads_is_seen_by_those_who_use_it() {
    let operator = Operator::development();
    let config = live(&operator);
    let policy = config.follow(|it| it.local_auth.registration.policy);
    let quotas = config.follow(|it| it.rate_limits.quotas);
    let text = r#"{ "LocalAuth": { "Registration": "closed" }, "RateLimits": { "Ai": 1 } }"#;
    let operator = operator.file("appsettings.json", text);

    let changes = config.reload(&operator.sources).unwrap();

    assert_eq!(changes.reloaded, ["LocalAuth:Registration", "RateLimits:Ai"]);
    assert!(changes.restart_only.is_empty());
    assert_eq!(*policy.get(), RegistrationPolicy::Closed);
    assert_eq!(quotas.get().ai.burst, 1);
}

#[test]
fn what_needs_a_restart_is_reported_once_until_it_is_taken_back() {
    let operator = Operator::development();
    let config = live(&operator);
    let with = |issuer: &str| format!(r#"{{ "Jwt": {{ "Issuer": "{issuer}" }} }}"#);

    let operator = operator.file("appsettings.json", &with("a"));
    let changed = config.reload(&operator.sources).unwrap();
    let again = config.reload(&operator.sources).unwrap();
    let operator = operator.file("appsettings.json", "{}");
    let back = config.reload(&operator.sources).unwrap();

    assert_eq!(changed.restart_only, ["Jwt:Issuer"]);
    assert_eq!(again, SettingChanges::default());
    assert_eq!(back, SettingChanges::default());
}

#[test]
fn another_spelling_of_the_same_value_is_no_change() {
    let operator = Operator::development();
    let config = live(&operator);
    let operator = operator
        .argument("Jwt:AccessTokenLifetime=00:15:00")
        .argument("Server:MaxBodyMemory=268435456")
        .argument("OpenApi:Enabled=FALSE")
        .argument(&format!("Encryption:MasterKey={}", MASTER_KEY.to_uppercase()));

    assert_eq!(config.reload(&operator.sources).unwrap(), SettingChanges::default());
}

#[test]
fn a_bad_value_leaves_everything_as_it_was() {
    let operator = Operator::development();
    let config = live(&operator);
    let quotas = config.follow(|it| it.rate_limits.quotas);
    let text = r#"{ "RateLimits": { "Ai": 1, "Sync": "s3cret" } }"#;
    let operator = operator.file("appsettings.json", text);

    let faults = config.reload(&operator.sources).unwrap_err();

    assert_eq!(faults.iter().count(), 1);
    assert_eq!(quotas.get().ai.burst, 30);
}

#[test]
fn a_changed_secret_is_reported_by_its_name() {
    let operator = Operator::development().argument("Ai:Model=m").argument("Ai:ApiKey=s3cretA");
    let config = live(&operator);
    let targets = config.follow(|it| it.ai.catalogue.clone());
    let operator = operator
        .argument("Ai:ApiKey=s3cretB")
        .argument("Jwt:SecretKey=s3cretC-7kQ2-wX9z-Lm4p-Rt6y-Bn8v");

    let changes = config.reload(&operator.sources).unwrap();

    assert_eq!(
        (&*changes.reloaded, &*changes.restart_only),
        (&["Ai:ApiKey".to_owned()][..], &["Jwt:SecretKey".to_owned()][..],)
    );
    assert!(!format!("{changes:?}").contains("s3cret"));
    assert_eq!(targets.get().default.as_ref().unwrap().keys[0].expose(), "s3cretB");
}

#[test]
fn a_notice_is_informed_when_it_is_new() {
    let operator = Operator::production();
    let config = live(&operator);
    let operator = operator.argument("Ai:Modle=x");

    let first = config.reload(&operator.sources).unwrap();
    let second = config.reload(&operator.sources).unwrap();

    assert_eq!(first.notices.iter().map(Notice::key).collect::<Vec<_>>(), ["Ai:modle"]);
    assert!(second.notices.is_empty());
}

#[test]
fn others_are_called_when_something_changed() {
    let operator = Operator::development();
    let config = live(&operator);
    let (sender, reported) = channel();
    config.on_change(move |it| sender.send(it.logging.level.clone()).unwrap());

    config.reload(&operator.sources).unwrap();
    config.reload(&operator.argument("Logging:Level=debug").sources).unwrap();

    assert_eq!(reported.try_iter().collect::<Vec<_>>(), ["debug"]);
}

/// Watches the operator's files, and waits for the first look.
fn watched(operator: &Operator) -> (Watch, Receiver<()>) {
    let (sender, reported) = channel();
    let format = move || sender.send(()).unwrap_or_default();
    let watch = watch(operator.sources.files(), SOON, format).unwrap();
    reported.recv_timeout(LATE).unwrap();
    (watch, reported)
}

#[test]
fn a_file_that_appears_changes_is_replaced_or_goes_is_noticed() {
    let operator = Operator::development();
    let path = operator.dir.path().join("appsettings.Development.json");
    let other = operator.dir.path().join("other");
    let (_watch, reported) = watched(&operator);

    std::fs::write(&path, "{}").unwrap();
    reported.recv_timeout(LATE).unwrap();
    std::fs::write(&path, "{ }").unwrap();
    reported.recv_timeout(LATE).unwrap();
    std::fs::write(&other, "{}").unwrap();
    std::fs::rename(&other, &path).unwrap();
    reported.recv_timeout(LATE).unwrap();
    std::fs::remove_file(&path).unwrap();
    reported.recv_timeout(LATE).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_replaced_behind_a_link_is_noticed() {
    use std::os::unix::fs::symlink;

    let operator = Operator::development();
    let dir = operator.dir.path();
    for version in ["v1", "v2"] {
        std::fs::create_dir(dir.join(version)).unwrap();
        std::fs::write(dir.join(version).join("appsettings.json"), "{}").unwrap();
    }
    symlink("v1", dir.join("data")).unwrap();
    symlink("data/appsettings.json", dir.join("appsettings.json")).unwrap();
    let (_watch, reported) = watched(&operator);

    symlink("v2", dir.join("new")).unwrap();
    std::fs::rename(dir.join("new"), dir.join("data")).unwrap();

    reported.recv_timeout(LATE).unwrap();
}

#[test]
fn nobody_looks_any_more_once_the_watch_is_dropped() {
    let operator = Operator::development();
    let (watch, reported) = watched(&operator);

    drop(watch);

    // The thread drops its end when it ends.
    while reported.recv_timeout(LATE).is_ok() {}
    assert!(reported.try_recv().is_err());
}

#[test]
fn overrides_are_above_all_layers_until_they_are_taken_back() {
    let operator = Operator::development().argument("LocalAuth:Registration=invitation");
    let config = live(&operator);
    let policy = config.follow(|it| it.local_auth.registration.policy);
    let closed = vec![("LocalAuth:Registration".to_owned(), "closed".to_owned())];

    config.override_with(&operator.sources, closed).unwrap();
    config.reload(&operator.sources).unwrap();

    let presented = |key: &str| config.reloadable().into_iter().find(|it| it.key == key).unwrap();
    let registration = presented("LocalAuth:Registration");
    assert_eq!(*policy.get(), RegistrationPolicy::Closed);
    assert_eq!(registration.value.as_deref(), Some("closed"));
    assert_eq!(registration.origin.as_deref(), Some("the console"));
    let invalid = vec![("LocalAuth:Registration".to_owned(), "perhaps".to_owned())];
    assert!(operator.sources.load_config_below(&invalid).is_err());
    assert!(config.override_with(&operator.sources, invalid).is_err());
    assert_eq!(*policy.get(), RegistrationPolicy::Closed);
    config.override_with(&operator.sources, Vec::new()).unwrap();
    assert_eq!(presented("LocalAuth:Registration").origin.as_deref(), Some("the command line"));
}

#[test]
fn only_what_reloads_is_displayed_and_no_secret() {
    let operator =
        Operator::development().argument("Metrics:Token=s3cret-word-of-thirty-two-letters-");
    let presented = live(&operator).reloadable();

    assert!(!format!("{presented:?}").contains("s3cret-word"));
    assert!(presented.iter().all(|it| it.key != "Database:Provider"));
    assert!(presented.iter().filter(|it| it.is_secret).all(|it| it.value.is_none()));
    assert!(presented.iter().any(|it| it.key == "Metrics:Token" && it.is_secret));
}
