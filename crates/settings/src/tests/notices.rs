//! Tests of notices about accepted settings.

use super::*;

#[test]
fn a_misspelled_setting_is_reported_with_a_suggestion() {
    let operator = Operator::development()
        .file("appsettings.json", r#"{ "Jwt": { "Isuer": "x" }, "Databse": { "Provider": "x" } }"#)
        .variable("Ai__Modes__Reserch__Model", "m")
        .variable("Servr__Address", "m")
        .argument("Server:Colour=red")
        .argument("Server:Tls:Certificate=x");

    let expected = [
        "setting `Ai:Modes:reserch` from the environment: is not known and has no effect; did you \
         mean `Research`?",
        "setting `databse` from appsettings.json: is not known and has no effect; did you mean \
         `Database`?",
        "setting `Jwt:isuer` from appsettings.json: is not known and has no effect; did you mean \
         `Issuer`?",
        "setting `Server:colour` from the command line: is not known and has no effect",
        "setting `Server:Tls:certificate` from the command line: is not known and has no effect",
        "setting `servr` from the environment: is not known and has no effect; did you mean \
         `Server`?",
    ];
    assert_eq!(operator.notices(), expected);
}

#[test]
fn administration_reports_unknown_settings_of_sections_that_it_does_not_read() {
    let operator = Operator::new("Development")
        .argument("Server:Nope=1")
        .argument("Jwt:Isuer=x")
        .argument("Ai:Model=m")
        .argument("LocalAuth:RequireEmailVerification=true");

    let notices = operator.sources.unknown_settings().unwrap();

    let keys: Vec<_> = notices.iter().map(Notice::key).collect();
    assert_eq!(keys, ["Jwt:isuer", "Server:nope"]);
}

#[test]
fn unrelated_sections_are_ignored() {
    let text = r#"{ "AllowedHosts": "*", "Kestrel": { "Endpoints": {} }, "$schema": "x",
        "Serilog": { "MinimumLevel": { "Microsoft.AspNetCore": "Warning" } } }"#;

    let operator = Operator::development().file("appsettings.json", text);

    assert!(operator.notices().is_empty());
}

#[test]
fn names_with_dots_and_line_breaks_are_reported_on_one_line() {
    let text = r#"{ "Logging": { "LogLevel": { "Microsoft.AspNetCore": "x" }, "a\nb": "x" } }"#;

    let operator = Operator::development().file("appsettings.json", text);

    let expected = [
        "setting `Logging:a\\nb` from appsettings.json: is not known and has no effect",
        "setting `Logging:loglevel` from appsettings.json: is not known and has no effect",
    ];
    assert_eq!(operator.notices(), expected);
}

#[test]
fn the_number_of_reported_unknown_settings_is_limited() {
    let operator =
        (0..200).fold(Operator::development(), |it, n| it.argument(&format!("Ai:Unknown{n}=x")));

    assert_eq!(operator.notices().len(), 50);
}

#[test]
fn open_registration_has_a_notice_outside_development() {
    let open = Operator::production().notices().remove(0);
    let closed_notices = Operator::production().argument("LocalAuth:Registration=closed").notices();
    let development_notices = Operator::development().notices();

    assert!(open.starts_with("setting `LocalAuth:Registration`: whoever reaches"), "{open}");
    assert!(closed_notices.is_empty() && development_notices.is_empty());
}

#[test]
fn required_verification_without_email_has_a_notice() {
    let operator = || Operator::development().argument("LocalAuth:RequireEmailVerification=true");

    let notices = operator().notices();
    let with_mail =
        operator().argument("Smtp:Host=mail.example").argument("Smtp:From=a@b.example").notices();

    let is_expected = |it: &String| it.starts_with("setting `LocalAuth:RequireEmailVerification`");
    assert!(notices.iter().any(is_expected), "{notices:?}");
    assert!(!with_mail.iter().any(is_expected), "{with_mail:?}");
}

#[test]
fn weak_settings_have_notices_outside_development() {
    let operator = Operator::production()
        .argument("LocalAuth:Registration=closed")
        .argument("Server:PublicUrl=http://pia.example.com")
        .argument("Server:BasePath=/pia")
        .argument("PasswordHashing:MemoryKib=64")
        .argument("Encryption:AcceptNewMasterKey=true")
        .argument(&format!("Jwt:PreviousSecretKey={SIGNING_KEY}"));

    let config = operator.read();

    let keys: Vec<_> = config.notices.iter().map(Notice::key).collect();
    let expected = [
        "Server:PublicUrl",
        "Server:PublicUrl",
        "Jwt:PreviousSecretKey",
        "Encryption:AcceptNewMasterKey",
        "PasswordHashing:MemoryKib",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn a_local_public_url_needs_no_https() {
    for url in ["http://localhost:8080", "http://127.0.0.1", "http://[::1]:1", "https://a.example"]
    {
        let operator = Operator::production()
            .argument("LocalAuth:Registration=closed")
            .argument(&format!("Server:PublicUrl={url}"));

        assert!(operator.notices().is_empty(), "{url}");
    }
}

#[test]
fn a_file_has_no_roles() {
    let operator = Operator::development()
        .argument("Database:MigrationConnectionString=postgres://owner@db/pia");

    let notice = operator.notices().remove(0);

    assert!(notice.contains("`Database:MigrationConnectionString`") && notice.contains("no roles"));
}
