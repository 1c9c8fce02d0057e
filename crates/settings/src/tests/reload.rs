//! Tests of reloading.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use pia_identity::RegistrationPolicy;
use pia_policy::BlankMeaning;

use super::*;

const SOON: Duration = Duration::from_millis(5);
const LATE: Duration = Duration::from_secs(30);

fn live(operator: &Operator) -> LiveConfig {
    LiveConfig::new(operator.read())
}

#[test]
fn a_reload_is_visible_to_followers() {
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
fn a_pending_restart_is_reported_once_until_it_is_reverted() {
    let operator = Operator::development();
    let config = live(&operator);
    let with = |issuer: &str| format!(r#"{{ "Jwt": {{ "Issuer": "{issuer}" }} }}"#);

    let operator = operator.file("appsettings.json", &with("a"));
    let first_reload = config.reload(&operator.sources).unwrap();
    let second_reload = config.reload(&operator.sources).unwrap();
    let operator = operator.file("appsettings.json", "{}");
    let back = config.reload(&operator.sources).unwrap();

    assert_eq!(first_reload.restart_only, ["Jwt:Issuer"]);
    assert_eq!(second_reload, SettingChanges::default());
    assert_eq!(back, SettingChanges::default());
}

#[test]
fn another_spelling_of_a_value_is_not_a_change() {
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
fn an_invalid_value_changes_nothing() {
    let operator = Operator::development();
    let config = live(&operator);
    let quotas = config.follow(|it| it.rate_limits.quotas);
    let text = r#"{ "RateLimits": { "Ai": 1, "Sync": "s3cret" } }"#;
    let operator = operator.file("appsettings.json", text);

    let errors = config.reload(&operator.sources).unwrap_err();

    assert_eq!(errors.iter().count(), 1);
    assert_eq!(quotas.get().ai.burst, 30);
}

#[test]
fn a_changed_secret_is_reported_by_its_key() {
    let operator = Operator::development().argument("Ai:Model=m").argument("Ai:ApiKey=s3cretA");
    let config = live(&operator);
    let targets = config.follow(|it| it.ai.catalogue.clone());
    let operator = operator
        .argument("Ai:ApiKey=s3cretB")
        .argument("Jwt:SecretKey=s3cretC-7kQ2-wX9z-Lm4p-Rt6y-Bn8v");

    let changes = config.reload(&operator.sources).unwrap();

    assert_eq!(changes.reloaded, ["Ai:ApiKey"]);
    assert_eq!(changes.restart_only, ["Jwt:SecretKey"]);
    assert!(!format!("{changes:?}").contains("s3cret"));
    assert_eq!(targets.get().default.as_ref().unwrap().keys[0].expose(), "s3cretB");
}

#[test]
fn only_new_notices_are_reported() {
    let operator = Operator::production();
    let config = live(&operator);
    let operator = operator.argument("Ai:Modle=x");

    let changes = config.reload(&operator.sources).unwrap();
    let repeated_changes = config.reload(&operator.sources).unwrap();

    assert_eq!(changes.notices.iter().map(Notice::key).collect::<Vec<_>>(), ["Ai:modle"]);
    assert!(repeated_changes.notices.is_empty());
}

#[test]
fn callbacks_are_called_after_a_change() {
    let operator = Operator::development();
    let config = live(&operator);
    let (sender, levels) = channel();
    config.on_change(move |it| sender.send(it.logging.level.clone()).unwrap());

    config.reload(&operator.sources).unwrap();
    config.reload(&operator.argument("Logging:Level=debug").sources).unwrap();

    assert_eq!(levels.try_iter().collect::<Vec<_>>(), ["debug"]);
}

/// Watches the operator's files, and waits for the first event.
fn watched(operator: &Operator) -> (Watch, Receiver<()>) {
    let (sender, events) = channel();
    let notify = move || sender.send(()).unwrap_or_default();
    let watch = watch(operator.sources.files(), SOON, notify).unwrap();
    events.recv_timeout(LATE).unwrap();
    (watch, events)
}

#[test]
fn created_changed_replaced_and_removed_files_are_detected() {
    let operator = Operator::development();
    let path = operator.dir.path().join("appsettings.Development.json");
    let replacement = operator.dir.path().join("replacement");
    let (_watch, events) = watched(&operator);

    std::fs::write(&path, "{}").unwrap();
    events.recv_timeout(LATE).unwrap();
    std::fs::write(&path, "{ }").unwrap();
    events.recv_timeout(LATE).unwrap();
    std::fs::write(&replacement, "{}").unwrap();
    std::fs::rename(&replacement, &path).unwrap();
    events.recv_timeout(LATE).unwrap();
    std::fs::remove_file(&path).unwrap();
    events.recv_timeout(LATE).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_replaced_behind_a_link_is_detected() {
    use std::os::unix::fs::symlink;

    let operator = Operator::development();
    let dir = operator.dir.path();
    for version in ["v1", "v2"] {
        std::fs::create_dir(dir.join(version)).unwrap();
        std::fs::write(dir.join(version).join("appsettings.json"), "{}").unwrap();
    }
    symlink("v1", dir.join("data")).unwrap();
    symlink("data/appsettings.json", dir.join("appsettings.json")).unwrap();
    let (_watch, events) = watched(&operator);

    symlink("v2", dir.join("new")).unwrap();
    std::fs::rename(dir.join("new"), dir.join("data")).unwrap();

    events.recv_timeout(LATE).unwrap();
}

#[test]
fn a_dropped_watch_ends_its_thread() {
    let operator = Operator::development();
    let (watch, events) = watched(&operator);

    drop(watch);

    // The thread drops its sender when it ends.
    while events.recv_timeout(LATE).is_ok() {}
    assert!(events.try_recv().is_err());
}

#[test]
fn overrides_apply_until_they_are_removed() {
    let operator = Operator::development().argument("LocalAuth:Registration=invitation");
    let config = live(&operator);
    let policy = config.follow(|it| it.local_auth.registration.policy);
    let overrides = vec![("LocalAuth:Registration".to_owned(), "closed".to_owned())];

    config.override_with(&operator.sources, overrides).unwrap();
    config.reload(&operator.sources).unwrap();

    let setting = |key: &str| config.effective().into_iter().find(|it| it.key == key).unwrap();
    let registration = setting("LocalAuth:Registration");
    assert_eq!(*policy.get(), RegistrationPolicy::Closed);
    assert_eq!(registration.value.as_deref(), Some("closed"));
    assert_eq!(registration.origin.as_deref(), Some("the console"));
    let invalid = vec![("LocalAuth:Registration".to_owned(), "perhaps".to_owned())];
    assert!(operator.sources.load_config_below(&invalid).is_err());
    assert!(config.override_with(&operator.sources, invalid).is_err());
    assert_eq!(*policy.get(), RegistrationPolicy::Closed);
    config.override_with(&operator.sources, Vec::new()).unwrap();
    assert_eq!(setting("LocalAuth:Registration").origin.as_deref(), Some("the command line"));
}

#[test]
fn settings_are_listed_with_their_effect_and_without_secrets() {
    let operator = Operator::development()
        .argument("Metrics:Token=s3cret-word-of-thirty-two-letters-")
        .argument("Smtp:Password=")
        .argument("Server:Name=First");
    let config = live(&operator);
    config.apply(operator.argument("Server:Name=Second").read());

    let settings = config.effective();

    let setting = |key: &str| settings.iter().find(|it| it.key == key).unwrap();
    assert!(!format!("{settings:?}").contains("s3cret-word"));
    assert!(settings.is_sorted_by(|a, b| a.key < b.key));
    assert!(settings.iter().filter(|it| it.is_secret).all(|it| it.value.is_none()));
    assert!(setting("Metrics:Token").is_secret && setting("Database:ConnectionString").is_secret);
    assert!(setting("Metrics:Token").is_set && !setting("Smtp:Password").is_set);
    let name = setting("Server:Name");
    assert!(name.needs_restart);
    assert_eq!(name.value.as_deref(), Some("First"));
    assert_eq!(name.origin.as_deref(), Some("the command line"));
    assert!(!setting("LocalAuth:Registration").needs_restart);
    assert_eq!(setting("LocalAuth:Registration").choices, ["open", "invitation", "closed"]);
    assert_eq!(setting("Smtp:Security").choices, ["starttls", "tls", "none"]);
    assert!(setting("LocalAuth:AllowedDomains").choices.is_empty());
    for key in ["Ai:ApiKey", "Ai:Modes:Research:ApiKey"] {
        assert_eq!(setting(key).blank, BlankMeaning::Value, "{key}");
    }
    for key in ["Ai:ReasoningEffort", "Metrics:Token"] {
        assert_eq!(setting(key).blank, BlankMeaning::Unset, "{key}");
    }
    assert_eq!(setting("Server:Name").blank, BlankMeaning::Invalid);
}
