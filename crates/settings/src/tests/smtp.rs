//! Tests of `Smtp`.

use std::path::Path;
use std::time::Duration;

use pia_kernel::Language;
use pia_mail::{MailSettings, Security};

use super::*;

fn operator(settings: &[&str]) -> Operator {
    settings.iter().fold(Operator::development(), |it, set| it.argument(set))
}

fn relay(settings: &[&str]) -> MailSettings {
    operator(settings).read().smtp.relay.unwrap()
}

#[test]
fn a_host_and_an_address_configure_mail() {
    let operator = operator(&["Smtp:Host=smtp.example.com", "Smtp:From=pia@example.com"]);

    let smtp = operator.read().smtp;

    let relay = smtp.relay.unwrap();
    assert_eq!(relay.host.as_str(), "smtp.example.com");
    assert_eq!(relay.port, 587);
    assert_eq!(relay.security, Security::StartTls);
    assert_eq!(relay.timeout, Duration::from_secs(30));
    assert_eq!(relay.from.to_string(), "pia@example.com");
    assert_eq!(relay.from_name, "Pia");
    assert!(relay.credentials.is_none() && relay.ca.is_none());
    assert_eq!(smtp.language, Language::En);
}

#[test]
fn without_a_port_that_of_the_encryption_is_used() {
    let root = ["Smtp:Host=smtp.example.com", "Smtp:From=pia@example.com"];

    for (settings, port) in [
        (["Smtp:Port=", "Smtp:Security=starttls"], 587),
        (["Smtp:Port= ", "Smtp:Security=tls"], 465),
        (["Smtp:Port=2525", "Smtp:Security=tls"], 2525),
    ] {
        assert_eq!(relay(&[&root[..], &settings].concat()).port, port, "{settings:?}");
    }
}

#[test]
fn without_a_host_mail_is_not_configured() {
    for settings in [&[][..], &["Smtp:From=pia@example.com"], &["Smtp:Host="]] {
        let operator = operator(settings);

        assert!(operator.read().smtp.relay.is_none());
        assert_eq!(operator.notices(), Vec::<String>::new());
    }
}

#[test]
fn all_settings_are_read() {
    let root = ["Smtp:Host=192.0.2.1", "Smtp:From=pia@example.com"];
    let all = [
        "Smtp:Port=2525",
        "Smtp:Security=TLS",
        "Smtp:Username=pia",
        "Smtp:Password= p s ",
        "Smtp:FromName=Our Pia",
        "Smtp:Timeout=5s",
        "Smtp:CaPath=/etc/ca.pem",
        "Smtp:Language=DE",
    ];

    let operator = operator(&[&root[..], &all[..]].concat());

    let smtp = operator.read().smtp;
    let relay = smtp.relay.unwrap();
    let (name, password) = relay.credentials.unwrap();
    assert_eq!(relay.port, 2525);
    assert_eq!(relay.security, Security::Tls);
    assert_eq!(name, "pia");
    assert_eq!(password.expose(), " p s ");
    assert_eq!(relay.from_name, "Our Pia");
    assert_eq!(relay.timeout, Duration::from_secs(5));
    assert_eq!(relay.ca.as_deref(), Some(Path::new("/etc/ca.pem")));
    assert_eq!(smtp.language, Language::De);
}

#[test]
fn each_security_mode_has_its_default_port() {
    for (security, port) in [("starttls", 587), ("tls", 465), ("none", 25)] {
        let security = format!("Smtp:Security={security}");
        let relay = relay(&["Smtp:Host=localhost", "Smtp:From=pia@example.com", &security]);

        assert_eq!(relay.port, port, "{security}");
    }
}

#[test]
fn a_host_requires_a_sender_address() {
    let errors = operator(&["Smtp:Host=smtp.example.com"]).errors();

    let missing = "SVC-CFG-002 setting `Smtp:From`: is missing: set the address that mail comes \
                   from, as Smtp:Host is set";
    assert_eq!(errors, [missing]);
}

#[test]
fn an_invalid_value_is_reported_once_and_not_repeated() {
    for setting in [
        "Smtp:Host=smtp://s3cret",
        "Smtp:Host=s3cret:25",
        "Smtp:Port=0",
        "Smtp:Port=65536",
        "Smtp:Security=opportunistic",
        "Smtp:From=s3cret",
        "Smtp:From=Pia <s3cret@example.com>",
        "Smtp:FromName=a\r\nBcc: s3cret",
        "Smtp:Timeout=121s",
        "Smtp:Timeout=999ms",
        "Smtp:Language=fr",
    ] {
        let required = ["Smtp:Host=smtp.example.com", "Smtp:From=pia@example.com"];
        let (key, _) = setting.split_once('=').unwrap();
        let other_settings = required.into_iter().filter(|it| !it.starts_with(&format!("{key}=")));

        let errors = operator(&other_settings.chain([setting]).collect::<Vec<_>>()).errors();

        assert_eq!(errors.len(), 1, "{errors:?}");
        let start = format!("SVC-CFG-003 setting `{key}` from the command line: expected ");
        assert!(errors[0].starts_with(&start) && !errors[0].contains("s3cret"), "{errors:?}");
    }
}

#[test]
fn a_user_name_requires_a_password_which_is_not_used_alone() {
    let errors = operator(&["Smtp:Username=pia"]).errors();
    let notices = operator(&["Smtp:Password=s3cret"]).notices();

    let expected = "SVC-CFG-005 setting `Smtp:Username` from the command line: needs \
                    Smtp:Password beside";
    assert_eq!(errors, [expected]);
    let expected =
        "setting `Smtp:Password` from the command line: is not used without Smtp:Username";
    assert_eq!(notices, [expected]);
}

#[test]
fn unencrypted_mail_to_another_host_has_a_notice() {
    let with = |host: &str| {
        let host = format!("Smtp:Host={host}");
        operator(&[&host, "Smtp:From=pia@example.com", "Smtp:Security=none"]).notices()
    };

    let expected = "setting `Smtp:Security` from the command line: mail, and the relay's password, \
        can be read on the way";
    assert_eq!(with("10.0.0.1"), [expected]);
    assert_eq!(with("localhost"), Vec::<String>::new());
}

#[test]
fn another_relay_takes_effect_without_a_restart() {
    let operator = Operator::development();
    let config = LiveConfig::new(operator.read());
    let set_up = config.follow(|it| it.smtp.relay.is_some());
    let text = r#"{ "Smtp": { "Host": "localhost", "From": "pia@example.com", "Password": "s3cret",
                    "Username": "pia" } }"#;
    let operator = operator.file("appsettings.json", text);

    let changes = config.reload(&operator.sources).unwrap();

    assert!(*set_up.get() && changes.restart_only.is_empty());
    assert_eq!(changes.reloaded, ["Smtp:From", "Smtp:Host", "Smtp:Password", "Smtp:Username"]);
    assert!(!format!("{:?}", config.latest().smtp).contains("s3cret"));
}
