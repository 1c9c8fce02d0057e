//! Tests of the forms of a connection string to PostgreSQL.

use super::*;

fn parse(text: &str) -> PostgresTarget {
    PostgresTarget::parse(text).unwrap()
}

#[test]
fn all_forms_are_equivalent() {
    let url = parse(
        "postgresql://p%69a:s%40crt@db.example:5433/pia\
         ?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem&application_name=a%20b&connect_timeout=3",
    );
    let libpq = parse(
        "host=db.example port=5433 dbname=pia user=pia password=s@crt sslmode=verify-full \
         sslrootcert=/etc/ca.pem application_name='a b' connect_timeout=3",
    );
    let dotnet = parse(
        "Host=db.example;Port=5433;Database=pia;Username=pia;Password=s@crt;SSL Mode=VerifyFull;\
         Root Certificate=/etc/ca.pem;Application Name=a b;Timeout=3;Pooling=true;\
         Include Error Detail=true;Trust Server Certificate=true",
    );

    assert_eq!(url, libpq);
    assert_eq!(url, dotnet);
    assert_eq!(url.user(), Some("pia"));
    assert_eq!(url.config.get_password(), Some(&b"s@crt"[..]));
    assert_eq!(url.config.get_ports(), [5433]);
    assert_eq!(url.connect_timeout, Duration::from_secs(3));
    let roots = Roots::File("/etc/ca.pem".into());
    assert_eq!(url.tls, TlsSettings { mode: TlsMode::VerifyFull, roots });
}

#[test]
fn omitted_settings_have_defaults() {
    let target = parse("postgres://db/pia");

    assert_eq!(target.config.get_application_name(), Some("pia-server"));
    assert_eq!(target.connect_timeout, CONNECT_TIMEOUT);
    assert_eq!(target.tls, TlsSettings { mode: TlsMode::Prefer, roots: Roots::System });
    assert_eq!(target.max, None);
}

#[test]
fn several_hosts_addresses_and_sockets_are_parsed() {
    let several = parse("postgres://me@a:1,b,[::1]:2/pia");
    let socket = parse("postgresql:///pia?host=/var/run/postgresql");
    let encoded = parse("postgresql://%2Fvar%2Frun%2Fpostgresql/pia");
    let address = parse("hostaddr=127.0.0.1 dbname=pia");

    assert_eq!(several.config.get_hosts().len(), 3);
    assert_eq!(several.config.get_ports(), [1, 5432, 2]);
    assert_eq!(socket.config.get_hosts(), [Host::Unix("/var/run/postgresql".into())]);
    assert_eq!(encoded.config.get_hosts(), socket.config.get_hosts());
    assert_eq!(address.config.get_hosts(), [Host::Tcp("127.0.0.1".to_owned())]);
}

#[test]
fn root_certificates_raise_the_mode_as_libpq_does() {
    let mode = |text: &str| PostgresTarget::parse(&format!("host=db {text}")).map(|it| it.tls.mode);

    assert_eq!(mode("sslmode=require"), Ok(TlsMode::Require));
    assert_eq!(mode("sslmode=require sslrootcert=ca.pem"), Ok(TlsMode::VerifyCa));
    assert_eq!(mode("sslrootcert=system"), Ok(TlsMode::VerifyFull));
    assert_eq!(mode("sslmode=verify-full sslrootcert=system"), Ok(TlsMode::VerifyFull));
    assert_eq!(mode("sslmode=verify-ca sslrootcert=system"), Err(TargetError::SystemRootsUnnamed));
}

#[test]
fn the_size_of_the_pool_and_the_search_path_are_applied() {
    let target = parse("Host=db;Maximum Pool Size=7;Search Path=my app;Options=-c geqo=off");

    assert_eq!(target.max.map(usize::from), Some(7));
    assert_eq!(target.config.get_options(), Some(r"-c geqo=off -c search_path=my\ app"));
}

#[test]
fn invalid_strings_are_rejected_without_being_quoted() {
    use TargetError::{Form, Missing, OtherProvider, Unknown, Value};

    for (text, error) in [
        ("Username=pia;Password=hunter2", Missing("host")),
        ("postgres:///pia", Missing("host")),
        ("Host=db;Usrname=hunter2", Unknown(2)),
        ("host=db user=pia pass word=hunter2", Form),
        ("host=db password=hunter2 hunter3=x", Unknown(3)),
        ("postgres://db/pia?hunter2=x", Unknown(1)),
        ("host=db port=hunter2", Value("port")),
        ("host='db;Password=hunter2'", Value("host")),
        ("postgres://pia:hunter2@db:70000/pia", Value("port")),
        ("postgres://[::1:5432/pia", Form),
        ("host=db sslmode=hunter2", Value("sslmode")),
        ("host=db sslrootcert=''", Value("sslrootcert")),
        ("host=db connect_timeout=soon", Value("connect_timeout")),
        ("Host=db;Maximum Pool Size=0", Value("Maximum Pool Size")),
        ("sqlite://pia.db", OtherProvider("postgresql")),
        ("hunter2", Form),
    ] {
        let rejection = PostgresTarget::parse(text).unwrap_err();

        assert_eq!(rejection, error, "{text}");
        assert!(!rejection.to_string().contains("hunter2"), "{rejection}");
    }
}

#[test]
fn the_debug_output_contains_no_password() {
    let target = parse("postgres://pia:hunter2@db/pia?options=-c%20hunter2%3Dx");

    let printed = format!("{target:?}");

    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(printed.contains("\"db\""), "{printed}");
}
