//! Settings that the binary refuses, each under its code and without its value.

use pia_server_testkit::harness::{JWT_KEY, MASTER_KEY};
use pia_server_testkit::program::Call;

/// Refused settings: a variable, its value, the code, and the setting's name.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("JWT_SECRET_KEY", "tooShortZq81", "SVC-CFG-004", "Jwt:SecretKey"),
    ("JWT_SECRET_KEY", "your-super-secret-key-of-32-chars!", "SVC-CFG-004", "Jwt:SecretKey"),
    ("JWT_SECRET_KEY", "Zq81Zq81Zq81Zq81Zq81Zq81Zq81Zq81", "SVC-CFG-004", "Jwt:SecretKey"),
    ("JWT_SECRET_KEY", MASTER_KEY, "SVC-CFG-004", "Jwt:SecretKey"),
    ("Jwt__PreviousSecretKey", "tooShortZq81", "SVC-CFG-004", "Jwt:PreviousSecretKey"),
    ("Jwt__AccessTokenLifetime", "987", "SVC-CFG-003", "Jwt:AccessTokenLifetime"),
    ("ENCRYPTION_MASTER_KEY", "notHexZq81", "SVC-CFG-00", "Encryption:MasterKey"),
    ("Metrics__Token", "tooShortZq81", "SVC-CFG-004", "Metrics:Token"),
    ("Server__Address", "nowhereZq81", "SVC-CFG-003", "Server:Address"),
    ("Server__BasePath", "piaZq81/", "SVC-CFG-003", "Server:BasePath"),
    ("Server__TrustedProxies", "10.98.76.0/99", "SVC-CFG-003", "Server:TrustedProxies"),
    ("Server__MaxBodyMemory", "987654", "SVC-CFG-003", "Server:MaxBodyMemory"),
    ("Server__Tls__CertificatePath", "Zq81.pem", "SVC-CFG-005", "Server:Tls:CertificatePath"),
    ("Database__Provider", "mysqlZq81", "SVC-CFG-003", "Database:Provider"),
    ("RateLimits__Auth", "0", "SVC-CFG-003", "RateLimits:Auth"),
    ("LocalAuth__Registration", "maybeZq81", "SVC-CFG-003", "LocalAuth:Registration"),
    ("Logging__Format", "yamlZq81", "SVC-CFG-003", "Logging:Format"),
    ("Ai__Endpoint", "ftp://Zq81", "SVC-CFG-003", "Ai:Endpoint"),
    ("OpenApi__Enabled", "perhapsZq81", "SVC-CFG-003", "OpenApi:Enabled"),
];

#[test]
fn a_bad_value_stops_the_start_and_is_named_but_not_reported() {
    for (variable, value, code, key) in REFUSED {
        let reported = Call::new().with(variable, value).fails();

        assert!(reported.contains(code) && reported.contains(key), "{variable}: {reported}");
        assert!(reported.contains("environment"), "it says from where: {reported}");
        assert!(value.len() < 3 || !reported.contains(value), "{variable}: {reported}");
        assert!(!reported.contains(JWT_KEY) && !reported.contains(MASTER_KEY), "{reported}");
    }
}

#[test]
fn what_has_no_default_must_be_set() {
    for (variable, key) in
        [("JWT_SECRET_KEY", "Jwt:SecretKey"), ("ENCRYPTION_MASTER_KEY", "Encryption:MasterKey")]
    {
        let reported = Call::new().without(variable).fails();

        assert!(reported.contains("SVC-CFG-002") && reported.contains(key), "{reported}");
        assert!(reported.contains(variable), "it says what to do: {reported}");
    }
}

#[test]
fn outside_development_more_must_be_set() {
    let reported = Call::new().without("PIA_ENVIRONMENT").fails();

    for key in ["Server:PublicUrl", "Database:ConnectionString"] {
        let line = reported.lines().find(|it| it.contains(key));
        assert!(line.is_some_and(|it| it.contains("SVC-CFG-002")), "{key}: {reported}");
    }
}

#[test]
fn all_that_is_wrong_is_reported_at_once() {
    let reported = Call::new()
        .without("JWT_SECRET_KEY")
        .with("RateLimits__Ai", "many")
        .file("appsettings.json", r#"{ "Server": { "MaxConnections": -1 } }"#)
        .argument("--Jwt:RefreshGrace=forever")
        .fails();

    for (code, key, origin) in [
        ("SVC-CFG-002", "Jwt:SecretKey", ""),
        ("SVC-CFG-003", "RateLimits:Ai", "environment"),
        ("SVC-CFG-003", "Server:MaxConnections", "appsettings.json"),
        ("SVC-CFG-003", "Jwt:RefreshGrace", "command line"),
    ] {
        let line = reported.lines().find(|it| it.contains(key));
        let line = line.unwrap_or_default();
        assert!(line.contains(code) && line.contains(origin), "{key}: {reported}");
    }
}

#[test]
fn a_source_that_makes_no_sense_stops_the_start() {
    for call in [
        Call::new().file("appsettings.json", "{ // Zq81\n}"),
        Call::new().file("appsettings.Development.json", "[\"Zq81\"]"),
        Call::new().argument("--Zq81"),
        Call::new().argument("Zq81"),
        Call::new().argument("--content-root=/Zq81/nowhere"),
    ] {
        let reported = call.fails();

        assert!(reported.contains("SVC-CFG-001"), "{reported}");
        assert!(!reported.contains("Zq81"), "{reported}");
    }
}

#[test]
fn whoever_requests_help_gets_it_without_any_setting() {
    let help = Call::bare().argument("--help").run();
    let version = Call::bare().argument("--version").run();

    assert!(help.status.success() && version.status.success());
    assert!(String::from_utf8_lossy(&help.stdout).contains("--migrate-only"));
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("pia-server "));
}
