//! Tests of secrets: their strength, and that they are never printed.

use super::*;

/// Every setting that holds a secret.
const SECRETS: &[&str] = &[
    "Ai:ApiKey",
    "Ai:Modes:Assistant:ApiKey",
    "Ai:Modes:Research:ApiKey",
    "Database:ConnectionString",
    "Database:MaintenanceConnectionString",
    "Database:MigrationConnectionString",
    "Encryption:MasterKey",
    "Encryption:PreviousMasterKey",
    "Jwt:PreviousSecretKey",
    "Jwt:SecretKey",
    "Metrics:Token",
];

fn error(setting: &str) -> String {
    let errors = Operator::new("Development")
        .argument(&format!("Jwt:SecretKey={SIGNING_KEY}"))
        .argument(&format!("Encryption:MasterKey={MASTER_KEY}"))
        .argument(setting)
        .errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.into_iter().next().unwrap()
}

#[test]
fn a_weak_signing_key_is_refused() {
    for key in ["Jwt:SecretKey", "Jwt:PreviousSecretKey"] {
        for value in [
            "vR4mZk1uXq9TtB7cY0eHs6wLpD3fGjN",
            "your-secret-key-with-at-least-32-characters",
            "change-me-change-me-change-me-change-me",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "vR4mZk1uvR4mZk1uvR4mZk1uvR4mZk1u",
        ] {
            let message = error(&format!("{key}={value}"));

            let start = format!("SVC-CFG-004 setting `{key}` from the command line: ");
            assert!(message.starts_with(&start) && !message.contains(value), "{message}");
        }
    }
}

#[test]
fn a_weak_or_malformed_master_key_is_refused() {
    for key in ["Encryption:MasterKey", "Encryption:PreviousMasterKey"] {
        for (value, code) in [
            ("0".repeat(64), "SVC-CFG-004"),
            ("fF".repeat(32), "SVC-CFG-004"),
            ("0123456789abcdef".repeat(4), "SVC-CFG-004"),
            ("deadbeef".repeat(8), "SVC-CFG-004"),
            (
                "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f".to_owned(),
                "SVC-CFG-004",
            ),
            (MASTER_KEY.chars().skip(1).collect(), "SVC-CFG-003"),
            (format!("{MASTER_KEY}00"), "SVC-CFG-003"),
            (MASTER_KEY.replace('f', "g"), "SVC-CFG-003"),
            (MASTER_KEY.replace('f', "é"), "SVC-CFG-003"),
        ] {
            let message = error(&format!("{key}={value}"));

            assert!(message.starts_with(&format!("{code} setting `{key}`")), "{message}");
            assert!(!message.contains(&value), "{message}");
        }
    }
}

#[test]
fn one_secret_for_two_purposes_is_refused() {
    let message = error(&format!("Jwt:SecretKey={}", MASTER_KEY.to_uppercase()));

    let expected = "SVC-CFG-004 setting `Jwt:SecretKey` from the command line: expected another \
                    secret than Encryption:MasterKey";
    assert_eq!(message, expected);
}

#[test]
fn a_short_metrics_token_is_refused() {
    assert!(error("Metrics:Token=short").starts_with("SVC-CFG-004 setting `Metrics:Token`"));
    let config = Operator::development().argument("Metrics:Token=k2Jx9Qw7LrT4nB8v").read();
    assert!(config.metrics.token.unwrap().ct_eq("k2Jx9Qw7LrT4nB8v"));
}

#[test]
fn debug_output_contains_no_secret() {
    let secrets = [
        ("Jwt:SecretKey", "s3cretA-7kQ2-wX9z-Lm4p-Rt6y-Bn8v"),
        ("Jwt:PreviousSecretKey", "s3cretB-7kQ2-wX9z-Lm4p-Rt6y-Bn8v"),
        ("Ai:ApiKey", "s3cretC"),
        ("Ai:Modes:Assistant:ApiKey", "s3cretD"),
        ("Ai:Modes:Research:ApiKey", "s3cretE"),
        ("Metrics:Token", "s3cretF-7kQ2-wX9z"),
        ("Database:ConnectionString", "postgres://u:s3cretG@db/pia"),
        ("Database:MigrationConnectionString", "Host=db;Username=o;Password=s3cretH;Database=p"),
        ("Database:MaintenanceConnectionString", "host=db user=b password=s3cretI dbname=p"),
    ];
    let mut operator = Operator::production().argument("Ai:Model=m");
    for (key, value) in secrets {
        operator = operator.argument(&format!("{key}={value}"));
    }

    let config = operator.read();
    let live = LiveConfig::new(config.clone());

    let printed = format!(
        "{config:?} {config:#?} {:?} {:?} {live:?}",
        operator.sources,
        operator.sources.read_for_migration().unwrap()
    );

    assert!(!printed.contains("s3cret"), "{printed}");
    // The master key as configured, and as bytes.
    assert!(!printed.contains("3f8a1c") && !printed.contains("63, 138"), "{printed}");
}

#[test]
fn a_malformed_secret_is_not_repeated() {
    for key in SECRETS {
        for value in ["s3cret\u{7}\n", "s3cret\u{e9} s3cret"] {
            let operator = Operator::production().argument(&format!("{key}={value}"));

            let Err(errors) = operator.sources.load_config() else {
                panic!("{key} took {value:?}")
            };

            let message = format!("{errors} {errors:?} {errors:#?}");
            assert!(message.contains(&format!("`{key}`")), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}

#[test]
fn a_secret_with_special_characters_is_not_repeated() {
    for key in SECRETS {
        for value in ["s3cret://s3cret@", "=s3cret;s3cret=", "--s3cret", "s3cret", "{\"s3cret\":1}"]
        {
            let operator = Operator::production().argument(&format!("{key}={value}"));

            let message = format!("{:?}", operator.sources.load_config());

            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}

#[test]
fn a_section_instead_of_a_secret_is_not_repeated() {
    for key in SECRETS {
        let operator = Operator::production().argument(&format!("{key}:s3cret=s3cret"));

        let message = operator.errors().join("\n");

        assert!(message.contains(&format!("`{key}` from the command line: expected a single")));
        assert!(!message.contains("=s3cret") && !message.contains("`s3cret"), "{message}");
    }
}
