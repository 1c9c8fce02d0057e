//! Tests of settings that the binary refuses, with their code and without their value.

use pia_server_testkit::harness::{JWT_KEY, MASTER_KEY};
use pia_server_testkit::program::Invocation;

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
fn an_invalid_value_prevents_the_start_and_is_not_repeated() {
    for (variable, value, code, key) in REFUSED {
        let error = Invocation::new().with(variable, value).fails();

        assert!(error.contains(code) && error.contains(key), "{variable}: {error}");
        assert!(error.contains("environment"), "the source is named: {error}");
        assert!(value.len() < 3 || !error.contains(value), "{variable}: {error}");
        assert!(!error.contains(JWT_KEY) && !error.contains(MASTER_KEY), "{error}");
    }
}

#[test]
fn settings_without_a_default_are_required() {
    for (variable, key) in
        [("JWT_SECRET_KEY", "Jwt:SecretKey"), ("ENCRYPTION_MASTER_KEY", "Encryption:MasterKey")]
    {
        let error = Invocation::new().without(variable).fails();

        assert!(error.contains("SVC-CFG-002") && error.contains(key), "{error}");
        assert!(error.contains(variable), "the variable is named: {error}");
    }
}

#[test]
fn outside_development_more_settings_are_required() {
    let error = Invocation::new().without("PIA_ENVIRONMENT").fails();

    for key in ["Server:PublicUrl", "Database:ConnectionString"] {
        let line = error.lines().find(|it| it.contains(key));
        assert!(line.is_some_and(|it| it.contains("SVC-CFG-002")), "{key}: {error}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let error = Invocation::new()
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
        let line = error.lines().find(|it| it.contains(key)).unwrap_or_default();
        assert!(line.contains(code) && line.contains(origin), "{key}: {error}");
    }
}

#[test]
fn an_invalid_source_prevents_the_start() {
    for call in [
        Invocation::new().file("appsettings.json", "{ // Zq81\n}"),
        Invocation::new().file("appsettings.Development.json", "[\"Zq81\"]"),
        Invocation::new().argument("--Zq81"),
        Invocation::new().argument("Zq81"),
        Invocation::new().argument("--content-root=/Zq81/nowhere"),
    ] {
        let error = call.fails();

        assert!(error.contains("SVC-CFG-001"), "{error}");
        assert!(!error.contains("Zq81"), "{error}");
    }
}

#[test]
fn an_unusable_location_database_prevents_the_start() {
    let start = || Invocation::new().licensed().file("text.mmdb", "no database");
    for name in ["text.mmdb", "missing.mmdb"] {
        let error = start().with("Server__LocationDatabasePath", name).fails();

        assert!(error.contains("SVC-RUN-013") && error.contains(name), "{error}");
    }
}

#[test]
fn help_and_version_require_no_settings() {
    let help = Invocation::bare().argument("--help").run();
    let version = Invocation::bare().argument("--version").run();

    assert!(help.status.success() && version.status.success());
    assert!(String::from_utf8_lossy(&help.stdout).contains("--migrate-only"));
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("pia-server "));
}
