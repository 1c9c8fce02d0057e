//! Tests of the sections of settings.

use std::time::Duration;

use pia_assistant::Weeks;
use pia_identity::RegistrationPolicy;
use pia_storage::{DatabaseKind, DatabaseTarget, Synchronous};

use super::*;

/// Sets one key in development; returns its one violation.
fn fault(setting: &str) -> String {
    let operator = Operator::development().argument(setting);
    let faults = operator.faults();
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.into_iter().next().unwrap()
}

fn sqlite(text: &str) -> DatabaseTarget {
    DatabaseTarget::parse(DatabaseKind::Sqlite, text).unwrap()
}

fn postgres(text: &str) -> DatabaseTarget {
    DatabaseTarget::parse(DatabaseKind::Postgres, text).unwrap()
}

#[test]
fn development_needs_no_more_than_two_secrets() {
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

        assert_eq!((config.token_usage.weeks, config.notices.len()), (weeks, notices), "{zone}");
    }
}

#[test]
fn production_is_reached_from_elsewhere() {
    let config = Operator::production().read();

    assert_eq!(config.server.address.to_string(), "0.0.0.0:8080");
    assert!(config.database.startup.target == postgres("postgres://pia@db/pia"));
    assert_eq!(config.logging.format, LogFormat::Json);
}

#[test]
fn what_has_no_default_is_called_for_all_at_once() {
    let faults = Operator::new("Production").sources.load_config().unwrap_err();

    let keys: Vec<_> = faults.iter().map(|it| (it.code(), it.key().unwrap())).collect();
    let missing = |key| (Code::Missing, key);
    let expected = [
        missing("Server:PublicUrl"),
        missing("Database:ConnectionString"),
        missing("Jwt:SecretKey"),
        missing("Encryption:MasterKey"),
    ];
    assert_eq!(keys, expected);
    assert!(faults.to_string().contains(
        "SVC-CFG-002 setting `Jwt:SecretKey`: is missing: set JWT_SECRET_KEY to at least 32"
    ));
}

#[test]
fn a_blank_text_is_no_secret() {
    let operator = Operator::new("Development")
        .variable("JWT_SECRET_KEY", "")
        .variable("ENCRYPTION_MASTER_KEY", " ")
        .variable("JWT_PREVIOUS_SECRET_KEY", "");

    let faults = operator.sources.load_config().unwrap_err();

    assert!(faults.iter().all(|it| it.code() == Code::Missing));
    assert_eq!(faults.iter().count(), 2);
}

#[test]
fn a_migration_needs_no_secrets_and_no_address() {
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
fn a_migration_does_with_the_owners_connection_alone() {
    let operator = Operator::new("Production")
        .variable("Database__MigrationConnectionString", "host=db dbname=pia user=owner");

    let config = operator.sources.read_for_migration().unwrap();

    assert!(config.database.migration_target.as_ref() == Some(&config.database.target));
    let reported = Operator::new("Production").sources.read_for_migration().unwrap_err();
    assert!(reported.to_string().starts_with("SVC-CFG-002 setting `Database:ConnectionString`"));
}

#[test]
fn a_database_has_three_roles() {
    let operator = Operator::production()
        .variable("Database__MigrationConnectionString", "postgres://owner@db/pia")
        .variable("Database__MaintenanceConnectionString", "postgres://bypass@db/pia")
        .argument("Database:MaxConnections=3");

    let database = operator.read().database;

    assert!(database.startup.migration_target == Some(postgres("postgres://owner@db/pia")));
    assert!(database.maintenance_target == Some(postgres("postgres://bypass@db/pia")));
    assert_eq!(database.startup.options.max_connections, 3);
}

#[test]
fn a_connection_string_is_understood_before_the_server_starts() {
    for (name, text) in [
        ("ConnectionString", "postgres://u:s3cret@db/pia?nonsense=1"),
        ("MigrationConnectionString", "Data Source=s3cret"),
        ("MaintenanceConnectionString", "s3cret"),
    ] {
        let operator = Operator::production().argument(&format!("Database:{name}={text}"));

        let reported = operator.faults().join("\n");

        let beginning = format!("SVC-CFG-003 setting `Database:{name}` from the command line: the");
        assert!(reported.starts_with(&beginning), "{reported}");
        assert!(!reported.contains("s3cret"), "{reported}");
    }
}

#[test]
fn a_database_in_a_file_is_to_be_had_anywhere() {
    let operator = Operator::production()
        .argument("Database:Provider=SQLite")
        .argument("Database:ConnectionString=Data Source=/data/pia.db")
        .argument("Database:Synchronous=normal");

    let startup = operator.read().database.startup;

    assert!(startup.target == sqlite("/data/pia.db"));
    assert_eq!(startup.options.synchronous, Synchronous::Normal);
}

#[test]
fn a_file_in_a_folder_with_signs_is_found() {
    let mut operator = Operator::development();
    operator.sources.dir = "/srv/50%25 = a?b#c".into();

    let target = operator.read().database.startup.target;

    assert!(target == sqlite("Data Source='/srv/50%25 = a?b#c/pia.db'"), "{target:?}");
}

#[test]
fn what_is_out_of_range_is_reported_with_the_range() {
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
        let reported = fault(setting);

        let (key, _) = setting.split_once('=').unwrap();
        let expected = format!(
            "SVC-CFG-003 setting `{key}` from the command line: expected a value from {range}"
        );
        assert_eq!(reported, expected);
    }
    assert!(fault("Server:MaxBodyMemory=31MiB").contains("expected a value from 32MiB to "));
}

#[test]
fn what_has_the_wrong_form_is_reported_without_it() {
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
        let reported = fault(setting);

        let (key, _) = setting.split_once('=').unwrap();
        let beginning = format!("SVC-CFG-003 setting `{key}` from the command line: expected ");
        assert!(reported.starts_with(&beginning) && !reported.contains("s3cret"), "{reported}");
    }
}

#[test]
fn what_cannot_work_together_is_reported() {
    for (settings, reported) in [
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

        let faults = operator.faults();

        assert!(
            faults[0].starts_with("SVC-CFG-005 ") && faults[0].contains(reported),
            "{faults:?}"
        );
        assert_eq!(faults.len(), 1);
    }
}

#[test]
fn all_faults_of_a_start_are_reported_at_once() {
    let operator = Operator::new("Development")
        .argument("Server:Address=x")
        .argument("RateLimits:Ai=x")
        .argument("Ai:Modes:Assistant:ProviderType=x");

    assert_eq!(operator.sources.load_config().unwrap_err().iter().count(), 5);
}

#[test]
fn the_public_url_is_the_address_where_a_developer_listens() {
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
fn paths_start_at_the_content_root() {
    let operator = Operator::development()
        .argument("License:Path=keys/a.lic")
        .argument("Setup:TokenPath=/run/token")
        .argument("Server:Tls:CertificatePath=a.pem")
        .argument("Server:Tls:KeyPath=/etc/b.pem");
    let root = operator.dir.path();

    let config = operator.read();

    assert_eq!(config.license.path, root.join("keys/a.lic"));
    assert_eq!(config.setup.token_path, std::path::Path::new("/run/token"));
    let tls = config.server.tls.unwrap();
    assert_eq!((tls.certificate, tls.key), (root.join("a.pem"), "/etc/b.pem".into()));
}

#[test]
fn connections_are_shared_out_to_the_workers() {
    let operator =
        Operator::development().argument("Server:Workers=3").argument("Server:MaxConnections=10");

    assert_eq!(operator.read().server.max_connections_per_worker, 4);
}

#[test]
fn who_may_register_is_a_choice() {
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

    assert_eq!((quotas.feedback.burst, quotas.feedback.window), (7, Duration::from_hours(1)));
    assert_eq!((quotas.local_auth.burst, quotas.local_auth.window), (5, Duration::from_mins(1)));
}
