//! Tests of the sections of settings.

use std::time::Duration;

use pia_assistant::Weeks;
use pia_identity::RegistrationPolicy;
use pia_storage::{DatabaseKind, DatabaseTarget, Synchronous};

use super::*;

/// Sets one key in development, and returns its one error.
fn error(setting: &str) -> String {
    let operator = Operator::development().argument(setting);
    let errors = operator.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.into_iter().next().unwrap()
}

fn sqlite(text: &str) -> DatabaseTarget {
    DatabaseTarget::parse(DatabaseKind::Sqlite, text).unwrap()
}

fn postgres(text: &str) -> DatabaseTarget {
    DatabaseTarget::parse(DatabaseKind::Postgres, text).unwrap()
}

#[test]
fn development_requires_two_secrets_only() {
    let operator = Operator::development();

    let config = operator.read();

    assert_eq!(config.server.address.to_string(), "127.0.0.1:8080");
    assert_eq!(config.server.public_url.as_str(), "http://127.0.0.1:8080");
    let file = operator.dir.path().join("pia.db");
    assert!(config.database.startup.target == sqlite(file.to_str().unwrap()));
    assert_eq!(config.logging.format, LogFormat::Text);
    assert!(config.notices.is_empty(), "{:?}", config.notices);
}

#[test]
fn an_empty_time_zone_is_the_default_and_an_unknown_one_is_utc() {
    for (zone, weeks, notices) in
        [("", Weeks::default(), 0), (" ", Weeks::default(), 0), ("Nowhere", Weeks::UTC, 1)]
    {
        let operator = Operator::development().variable("TokenUsage__WeekStartTimeZone", zone);

        let config = operator.read();

        assert_eq!(config.token_usage.weeks, weeks, "{zone}");
        assert_eq!(config.notices.len(), notices, "{zone}");
    }
}

#[test]
fn production_listens_on_all_addresses() {
    let config = Operator::production().read();

    assert_eq!(config.server.address.to_string(), "0.0.0.0:8080");
    assert!(config.database.startup.target == postgres("postgres://pia@db/pia"));
    assert_eq!(config.logging.format, LogFormat::Json);
}

#[test]
fn missing_required_settings_are_reported_at_once() {
    let errors = Operator::new("Production").sources.load_config().unwrap_err();

    let keys: Vec<_> = errors.iter().map(|it| (it.code(), it.key().unwrap())).collect();
    let missing = |key| (Code::Missing, key);
    let expected = [
        missing("Server:PublicUrl"),
        missing("Database:ConnectionString"),
        missing("Jwt:SecretKey"),
        missing("Encryption:MasterKey"),
    ];
    assert_eq!(keys, expected);
    assert!(errors.to_string().contains(
        "SVC-CFG-002 setting `Jwt:SecretKey`: is missing: set JWT_SECRET_KEY to at least 32"
    ));
}

#[test]
fn a_blank_secret_is_missing() {
    let operator = Operator::new("Development")
        .variable("JWT_SECRET_KEY", "")
        .variable("ENCRYPTION_MASTER_KEY", " ")
        .variable("JWT_PREVIOUS_SECRET_KEY", "");

    let errors = operator.sources.load_config().unwrap_err();

    assert!(errors.iter().all(|it| it.code() == Code::Missing));
    assert_eq!(errors.iter().count(), 2);
}

#[test]
fn a_migration_requires_no_secrets_and_no_public_url() {
    let operator = Operator::new("Production")
        .variable("Database__ConnectionString", "Host=db;Database=pia;Username=pia")
        .variable("JWT_SECRET_KEY", "short")
        .variable("Logging__Level", "debug");

    let config = operator.sources.read_for_migration().unwrap();

    assert!(config.database.target == postgres("Host=db;Database=pia;Username=pia"));
    assert!(config.database.migration_target.is_none());
    assert_eq!(config.logging.level, "debug");
    assert!(config.notices.is_empty());
}

#[test]
fn a_migration_requires_only_the_owners_connection() {
    let operator = Operator::new("Production")
        .variable("Database__MigrationConnectionString", "host=db dbname=pia user=owner");

    let config = operator.sources.read_for_migration().unwrap();

    assert!(config.database.migration_target.as_ref() == Some(&config.database.target));
    let error_text = Operator::new("Production").sources.read_for_migration().unwrap_err();
    assert!(error_text.to_string().starts_with("SVC-CFG-002 setting `Database:ConnectionString`"));
}

#[test]
fn a_database_has_three_roles() {
    let operator = Operator::production()
        .variable("Database__MigrationConnectionString", "postgres://owner@db/pia")
        .variable("Database__MaintenanceConnectionString", "postgres://bypass@db/pia")
        .argument("Database:MaxConnections=3");

    let database = operator.read().database;

    assert!(database.startup.migration_target == Some(postgres("postgres://owner@db/pia")));
    assert!(database.startup.maintenance_target == Some(postgres("postgres://bypass@db/pia")));
    assert_eq!(database.startup.options.max_connections, 3);
}

#[test]
fn an_invalid_connection_string_is_reported_at_the_start() {
    for (name, text) in [
        ("ConnectionString", "postgres://u:s3cret@db/pia?nonsense=1"),
        ("MigrationConnectionString", "Data Source=s3cret"),
        ("MaintenanceConnectionString", "s3cret"),
    ] {
        let operator = Operator::production().argument(&format!("Database:{name}={text}"));

        let message = operator.errors().join("\n");

        let start = format!("SVC-CFG-003 setting `Database:{name}` from the command line: the");
        assert!(message.starts_with(&start), "{message}");
        assert!(!message.contains("s3cret"), "{message}");
    }
}

#[test]
fn sqlite_is_available_in_production() {
    let operator = Operator::production()
        .argument("Database:Provider=SQLite")
        .argument("Database:ConnectionString=Data Source=/data/pia.db")
        .argument("Database:Synchronous=normal");

    let startup = operator.read().database.startup;

    assert!(startup.target == sqlite("/data/pia.db"));
    assert_eq!(startup.options.synchronous, Synchronous::Normal);
}

#[test]
fn a_path_with_special_characters_is_escaped() {
    let mut operator = Operator::development();
    operator.sources.dir = "/srv/50%25 = a?b#c".into();

    let target = operator.read().database.startup.target;

    assert!(target == sqlite("Data Source='/srv/50%25 = a?b#c/pia.db'"), "{target:?}");
}

#[test]
fn a_value_out_of_range_is_reported_with_the_range() {
    for (setting, range) in [
        ("LocalAuth:MinimumPasswordLength=7", "8 to 64"),
        ("LocalAuth:MinimumPasswordLength=65", "8 to 64"),
        ("LocalAuth:UnverifiedAccountDays=0", "1 to 365"),
        ("LocalAuth:UnverifiedAccountDays=366", "1 to 365"),
        ("Jwt:AccessTokenLifetime=0s", "1s to 1d"),
        ("Jwt:RefreshGrace=1h", "0s to 5m"),
        ("Jwt:MaxSessions=0", "1 to 100"),
        ("RateLimits:Sync=0", "1 to 1000000"),
        ("PasswordHashing:MemoryKib=4294967295", "8 to 1048576"),
        ("PasswordHashing:Threads=0", "1 to 256"),
        ("Database:MaxConnections=0", "1 to 1000"),
        ("Server:Workers=0", "1 to 1024"),
        ("Ai:MaxEventBytes=1", "1KiB to 256MiB"),
        ("Ai:SilenceTimeout=1ms", "100ms to 1h"),
    ] {
        let message = error(setting);

        let (key, _) = setting.split_once('=').unwrap();
        let expected = format!(
            "SVC-CFG-003 setting `{key}` from the command line: expected a value from {range}"
        );
        assert_eq!(message, expected);
    }
    assert!(error("Server:MaxBodyMemory=31MiB").contains("expected a value from 32MiB to "));
}

#[test]
fn a_malformed_value_is_not_repeated() {
    for setting in [
        "Server:Address=s3cret",
        "Server:PublicUrl=s3cret",
        "Server:PublicUrl=ftp://s3cret",
        "Server:PublicUrl=https://u:s3cret@example.com",
        "Server:PublicUrl=https://example.com/?s3cret",
        "Server:BasePath=s3cret",
        "Server:BasePath=/s3cret/",
        "Server:BasePath=/../s3cret",
        "Server:MaxBodyMemory=s3cret",
        "Server:ShutdownTimeout=30",
        "Server:TrustedProxies=s3cret",
        "Database:Provider=s3cret",
        "Database:Synchronous=s3cret",
        "Jwt:AccessTokenLifetime=15",
        "Jwt:Issuer= ",
        "LocalAuth:Registration=s3cret",
        "LocalAuth:AllowedDomains=s3cret@example.com",
        "LocalAuth:RequireBusinessDeclaration=s3cret",
        "LocalAuth:RequireEmailVerification=s3cret",
        "RateLimits:Global=s3cret",
        "RateLimits:Global=-1",
        "RateLimits:Global=",
        "License:Path=",
        "OpenApi:Enabled=1",
        "Metrics:Token=k2Jx9 s3cret Qw7LrT4nB8v",
        "Logging:Level=a=s3cret=b",
        "Logging:Format=s3cret",
        "Ai:ProviderType=s3cret",
        "Ai:ApiKey=s3cret with blanks",
        "Ai:Endpoint=s3cret",
        "Ai:Modes:Research:Endpoint=https://u:s3cret@example.com",
    ] {
        let message = error(setting);

        let (key, _) = setting.split_once('=').unwrap();
        let start = format!("SVC-CFG-003 setting `{key}` from the command line: expected ");
        assert!(message.starts_with(&start) && !message.contains("s3cret"), "{message}");
    }
}

#[test]
fn incompatible_settings_are_reported() {
    for (settings, expected) in [
        (&["Server:Tls:KeyPath=key.pem"][..], "`Server:Tls:KeyPath` from the command line: needs"),
        (&["Server:Tls:CertificatePath=a"], "`Server:Tls:CertificatePath` from the command line"),
        (&["Jwt:RefreshTokenLifetime=1m"], "expected no less than Jwt:AccessTokenLifetime"),
        (&["Ai:MaxAnswerBytes=1MiB"], "expected no less than Ai:MaxEventBytes"),
        (
            &["PasswordHashing:MemoryKib=31", "PasswordHashing:Parallelism=4"],
            "`PasswordHashing:MemoryKib` from the command line: a hash takes at least 8 KiB",
        ),
    ] {
        let operator = settings.iter().fold(Operator::development(), |it, set| it.argument(set));

        let errors = operator.errors();

        assert!(
            errors[0].starts_with("SVC-CFG-005 ") && errors[0].contains(expected),
            "{errors:?}"
        );
        assert_eq!(errors.len(), 1);
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let operator = Operator::new("Development")
        .argument("Server:Address=x")
        .argument("RateLimits:Ai=x")
        .argument("Ai:Modes:Assistant:ProviderType=x");

    assert_eq!(operator.sources.load_config().unwrap_err().iter().count(), 5);
}

#[test]
fn the_public_url_of_development_is_the_listening_address() {
    for (settings, url) in [
        (&["Server:Address=0.0.0.0:9000"][..], "http://localhost:9000"),
        (&["Server:Address=[::1]:9000", "Server:BasePath=/pia"], "http://[::1]:9000/pia"),
        (&["Server:Tls:CertificatePath=a", "Server:Tls:KeyPath=b"], "https://127.0.0.1:8080"),
        (&["Server:PublicUrl=https://Pia.Example.com/x/"], "https://pia.example.com/x"),
    ] {
        let operator = settings.iter().fold(Operator::development(), |it, set| it.argument(set));

        assert_eq!(operator.read().server.public_url.as_str(), url);
    }
}

#[test]
fn relative_paths_start_at_the_content_root() {
    let operator = Operator::development()
        .argument("License:Path=keys/a.lic")
        .argument("Setup:TokenPath=/run/token")
        .argument("Server:LocationDatabasePath=city.mmdb")
        .argument("Server:Tls:CertificatePath=a.pem")
        .argument("Server:Tls:KeyPath=/etc/b.pem");
    let root = operator.dir.path();

    let config = operator.read();

    assert_eq!(config.license.path, root.join("keys/a.lic"));
    assert_eq!(config.setup.token_path, std::path::Path::new("/run/token"));
    assert_eq!(config.server.location_database, Some(root.join("city.mmdb")));
    let tls = config.server.tls.unwrap();
    assert_eq!(tls.certificate, root.join("a.pem"));
    assert_eq!(tls.key, std::path::Path::new("/etc/b.pem"));
}

#[test]
fn connections_are_divided_among_the_workers() {
    let operator =
        Operator::development().argument("Server:Workers=3").argument("Server:MaxConnections=10");

    assert_eq!(operator.read().server.max_connections_per_worker, 4);
}

#[test]
fn registration_rules_are_read() {
    let operator = Operator::production()
        .argument("LocalAuth:Registration=Closed")
        .argument("LocalAuth:AllowedDomains=Example.COM,@b.example")
        .argument("LocalAuth:RequireBusinessDeclaration=TRUE")
        .argument("LocalAuth:RequireEmailVerification=true");

    let config = operator.read().local_auth;

    assert_eq!(config.registration.policy, RegistrationPolicy::Closed);
    assert_eq!(config.registration.allowed_domains, ["example.com", "b.example"]);
    assert!(config.registration.require_declaration && config.accounts.require_declaration);
    assert!(config.accounts.require_verification);
}

#[test]
fn budgets_have_their_windows() {
    let quotas =
        Operator::development().argument("RateLimits:Feedback=7").read().rate_limits.quotas;

    assert_eq!(quotas.feedback.burst, 7);
    assert_eq!(quotas.feedback.window, Duration::from_hours(1));
    assert_eq!(quotas.local_auth.burst, 5);
    assert_eq!(quotas.local_auth.window, Duration::from_mins(1));
}
