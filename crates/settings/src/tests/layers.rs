//! Tests of the precedence and the formats of sources.

use std::time::Duration;

use super::*;

const TRUSTED: &str = r#"{ "Server": { "TrustedProxies": ["10.0.0.1", "10.0.0.2"] } }"#;

fn issuer(operator: &Operator) -> String {
    operator.read().jwt.names.issuer
}

fn proxies(operator: &Operator) -> Vec<String> {
    operator.read().server.trusted_proxies.iter().map(ToString::to_string).collect()
}

#[test]
fn each_layer_overrides_those_before_it() {
    let operator = Operator::development();
    assert_eq!(issuer(&operator), "pia-server");

    let operator = operator.file("appsettings.json", r#"{ "Jwt": { "Issuer": "a" } }"#);
    assert_eq!(issuer(&operator), "a");

    let text = r#"{ "jwt": { "ISSUER": "b" } }"#;
    let operator = operator.file("appsettings.Development.json", text);
    assert_eq!(issuer(&operator), "b");

    let operator = operator.variable("Jwt__Issuer", "c");
    assert_eq!(issuer(&operator), "c");

    let operator = operator.argument("Jwt:Issuer=d").argument("jwt:issuer=e");
    assert_eq!(issuer(&operator), "e");
}

#[test]
fn another_environments_file_is_not_read() {
    let text = r#"{ "Jwt": { "Issuer": "a" } }"#;

    let operator = Operator::development().file("appsettings.Production.json", text);

    assert_eq!(issuer(&operator), "pia-server");
}

#[test]
fn a_variable_in_any_case_overrides_a_file() {
    for name in ["Jwt__Issuer", "JWT__ISSUER", "jwt__issuer", "Jwt:Issuer"] {
        let operator = Operator::development()
            .file("appsettings.json", r#"{ "Jwt": { "Issuer": "a" } }"#)
            .variable(name, "b");

        assert_eq!(issuer(&operator), "b", "{name}");
    }
}

#[test]
fn named_variables_stand_for_their_settings() {
    let operator = Operator::production()
        .variable("JWT_PREVIOUS_SECRET_KEY", &SIGNING_KEY.chars().rev().collect::<String>());

    let config = operator.read();

    assert_eq!(config.jwt.keys.current.expose(), SIGNING_KEY);
    assert_eq!(config.jwt.keys.previous.map(|it| it.expose().len()), Some(32));
    assert_eq!(config.encryption.master_key.expose()[..3], [0x3f, 0x8a, 0x1c]);
}

#[test]
fn unrelated_variables_are_ignored() {
    let operator = Operator::development()
        .variable("DATABASE_URL", "postgres://elsewhere")
        .variable("SERVER", "x")
        .variable("AI", "1")
        .variable("JWT", "2")
        .variable("__CF_USER", "3")
        .variable("OTHER__THING", "a")
        .variable("other__thing", "b");

    let config = operator.read();

    assert!(config.notices.is_empty(), "{:?}", config.notices);
}

#[test]
fn one_item_of_a_list_can_be_overridden() {
    let operator = Operator::development()
        .file("appsettings.json", TRUSTED)
        .variable("Server__TrustedProxies__0", "192.168.0.0/16")
        .argument("Server:TrustedProxies:10=::1");

    assert_eq!(proxies(&operator), ["192.168.0.0/16", "10.0.0.2/32", "::1/128"]);
}

#[test]
fn a_text_with_commas_replaces_a_list() {
    let operator = Operator::development()
        .file("appsettings.json", TRUSTED)
        .variable("Server__TrustedProxies", "10.1.0.0/16, ::1,");

    assert_eq!(proxies(&operator), ["10.1.0.0/16", "::1/128"]);
}

#[test]
fn an_empty_text_is_an_empty_list() {
    let operator = Operator::development()
        .file("appsettings.json", TRUSTED)
        .variable("Server__TrustedProxies", "");

    assert!(proxies(&operator).is_empty());
}

#[test]
fn an_invalid_item_is_reported_by_its_index() {
    let operator = Operator::development()
        .file("appsettings.json", TRUSTED)
        .variable("Server__TrustedProxies__1", "s3cret")
        .argument("Server:TrustedProxies:first=10.0.0.1");

    let expected = [
        "SVC-CFG-003 setting `Server:TrustedProxies:first` from the command line: expected the \
         index of an item",
        "SVC-CFG-003 setting `Server:TrustedProxies:1` from the environment: expected an address \
         or a network such as 10.0.0.0/8",
    ];
    assert_eq!(operator.errors(), expected);
}

#[test]
fn a_file_may_contain_numbers_and_a_byte_order_mark() {
    let text = "\u{feff}{ \"Ai\": { \"MaxOptimizeTextLength\": 5, \"Model\": null },
        \"OpenApi\": { \"Enabled\": true } }";

    let config = Operator::development().file("appsettings.json", text).read();

    assert_eq!(config.ai.settings.max_optimize_text, 5);
    assert!(config.open_api.enabled);
}

#[test]
fn a_key_of_digits_stays_a_text() {
    let operator = Operator::development()
        .variable("Ai__ApiKey", "0012345678901234567890")
        .variable("Ai__Model", "7");

    let target = operator.read().ai.catalogue.default.unwrap();

    assert_eq!(target.keys[0].expose().as_str(), "0012345678901234567890");
    assert_eq!(target.model, "7");
}

#[test]
fn all_unreadable_files_are_reported() {
    let long = format!("{{ \"A\": \"{}\" }}", "x".repeat(1024 * 1024));
    for (text, reason) in [
        ("{ \"Jwt\": { \"SecretKey\": \"s3cret\" ", "EOF while parsing"),
        ("{ \"Jwt\": s3cret }", "expected value at line 1"),
        ("[]", "expected an object of sections"),
        ("", "EOF while parsing"),
        ("{ \"Jwt\": { \"Issuer\": \"a\", \"issuer\": \"b\" } }", "`issuer` is there twice"),
        (long.as_str(), "expected at most 1 MiB"),
    ] {
        let operator = Operator::development()
            .file("appsettings.json", text)
            .file("appsettings.Development.json", "{");

        let [first, second] = &operator.errors()[..] else { panic!("two errors") };

        assert!(first.starts_with("SVC-CFG-001 appsettings.json: "), "{first}");
        assert!(first.contains(reason) && !first.contains("s3cret"), "{first}");
        assert!(second.starts_with("SVC-CFG-001 appsettings.Development.json: EOF"), "{second}");
    }
}

#[test]
fn a_folder_instead_of_a_file_is_reported() {
    let operator = Operator::development();
    std::fs::create_dir(operator.dir.path().join("appsettings.json")).unwrap();

    let error = operator.errors().remove(0);

    assert!(error.starts_with("SVC-CFG-001 appsettings.json: "), "{error}");
}

#[test]
fn contradicting_variables_are_reported() {
    let operator = Operator::development()
        .variable("JWT__SECRETKEY", "s3cret")
        .variable("Ai__Model", "a")
        .variable("AI__MODEL", "a");

    let expected = "SVC-CFG-005 setting `JWT:SECRETKEY` from the environment: is set twice, and not to the same";
    assert_eq!(operator.errors(), [expected]);
}

#[test]
fn a_variable_of_invalid_utf8_is_reported() {
    let operator = Operator::development().variable("Ai__ApiKey", "a\u{fffd}b");

    let expected = "SVC-CFG-001 setting `Ai:ApiKey` from the environment: expected UTF-8";
    assert_eq!(operator.errors(), [expected]);
}

#[test]
fn a_section_instead_of_a_value_and_the_reverse_are_reported() {
    let text = r#"{ "Jwt": { "Issuer": { "a": 1 } }, "Ai": "s3cret", "Server": { "Tls": true } }"#;

    let errors = Operator::development().file("appsettings.json", text).errors();

    let expected = [
        "SVC-CFG-003 setting `Jwt:Issuer` from appsettings.json: expected a single value",
        "SVC-CFG-003 setting `Ai` from appsettings.json: expected a section",
        "SVC-CFG-003 setting `Server:Tls` from appsettings.json: expected a section",
    ];
    assert_eq!(errors, expected);
}

#[test]
fn durations_are_parsed_in_every_form() {
    for text in ["00:01:30", "90s", "90000ms"] {
        let operator = Operator::development().variable("Jwt__AccessTokenLifetime", text);

        let lifetime = operator.read().jwt.sessions.access_lifetime;

        assert_eq!(lifetime, Duration::from_secs(90), "{text}");
    }
}
