//! Tests of the command line.

use std::path::Path;

use pia_identity::Role;
use pia_kernel::{ApiKeyId, BudgetPeriod, InvitationId};
use pia_policy::{Quota, SettingChange};

use super::*;

fn parse(arguments: &[&str]) -> Result<(Command, Sources), SettingErrors> {
    with(&[], arguments)
}

fn with(
    variables: &[(&str, &str)],
    arguments: &[&str],
) -> Result<(Command, Sources), SettingErrors> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let arguments: Vec<_> = arguments.iter().map(|it| (*it).to_owned()).collect();
    Sources::from_command_line(variables.iter().map(owned).collect(), &arguments)
}

#[test]
fn without_a_switch_the_server_serves_in_production() {
    let (command, sources) = parse(&[]).unwrap();

    assert_eq!(command, Command::Serve);
    assert_eq!(sources.environment, Environment::production());
    assert_eq!(sources.dir, std::env::current_dir().unwrap());
}

#[test]
fn a_switch_selects_the_command() {
    for (arguments, expected) in [
        (&["--migrate-only"][..], Command::MigrateOnly),
        (&["--help"], Command::Help),
        (&["-h"], Command::Help),
        (&["--version"], Command::Version),
        (&["-V"], Command::Version),
        (&["--migrate-only", "--help", "--version"], Command::Help),
    ] {
        let (command, sources) = parse(arguments).unwrap();

        assert_eq!(command, expected);
        assert!(sources.arguments.is_empty());
    }
}

#[test]
fn migrating_and_preparing_a_pod_are_refused_together() {
    let provision = ["--provision-pod", "create", "--name", "clock"];
    for arguments in [
        [&["--migrate-only"][..], &provision].concat(),
        [&provision[..], &["--migrate-only"]].concat(),
    ] {
        let message = parse(&arguments).unwrap_err().to_string();

        let expected =
            "SVC-CFG-001 the command line: use either `--migrate-only` or `--provision-pod`";
        assert_eq!(message, expected);

        let (command, _) = parse(&[&arguments[..], &["--help"]].concat()).unwrap();
        assert_eq!(command, Command::Help);
    }
}

#[test]
fn a_setting_is_one_argument_or_two() {
    let (_, sources) =
        parse(&["--Ai:Model=a=b", "--Ai:ApiKey", "c", "--migrate-only", "--Ai:Endpoint="]).unwrap();

    let owned = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let expected = [owned("Ai:Model", "a=b"), owned("Ai:ApiKey", "c"), owned("Ai:Endpoint", "")];
    assert_eq!(sources.arguments, expected);
}

#[test]
fn an_invalid_argument_is_reported_by_its_position_only() {
    for argument in ["s3cret", "--s3cret", "--s3cret=x", "-s3cret", "--Jwt:s3cret", ""] {
        let errors = parse(&["--migrate-only", argument]).unwrap_err();

        let message = errors.to_string();
        assert!(
            message.starts_with("SVC-CFG-001 argument 2 of the command line: expected "),
            "{message}"
        );
        assert!(
            !message.contains("s3cret") && !format!("{errors:?}").contains("s3cret"),
            "{message}"
        );
    }
}

#[test]
fn every_invalid_argument_is_reported() {
    let errors = parse(&["a", "--Ai:Model", "--Ai:ApiKey=b", "c"]).unwrap_err();

    assert_eq!(errors.iter().count(), 3);
    assert!(errors.iter().all(|it| it.code() == Code::Source && it.key().is_none()));
}

#[test]
fn the_first_source_that_names_the_environment_wins() {
    let variables = [
        ("DOTNET_ENVIRONMENT", "Fourth"),
        ("ASPNETCORE_ENVIRONMENT", "Third"),
        ("PIA_ENVIRONMENT", "Second"),
    ];
    let named = |variables: &[(&str, &str)], arguments: &[&str]| {
        with(variables, arguments).unwrap().1.environment.name().to_owned()
    };

    assert_eq!(named(&variables, &["--environment=First"]), "First");
    assert_eq!(named(&variables, &["--ENVIRONMENT", "First"]), "First");
    assert_eq!(named(&variables, &[]), "Second");
    assert_eq!(named(&variables[..2], &[]), "Third");
    assert_eq!(named(&variables[..1], &[]), "Fourth");
    assert_eq!(named(&[("PIA_ENVIRONMENT", "")], &[]), "Production");
}

#[test]
fn an_environment_name_cannot_contain_a_path() {
    for name in ["../etc", "a/b", "", "a b"] {
        let message = parse(&[&format!("--environment={name}")]).unwrap_err().to_string();

        assert!(message.starts_with("SVC-CFG-001 the command line: expected an env"), "{message}");
    }
    assert!(with(&[("PIA_ENVIRONMENT", "a/b")], &[]).is_err());
}

#[test]
fn the_content_root_must_be_an_existing_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();

    let by_argument = parse(&["--content-root", path]).unwrap().1.dir;
    let by_variable = with(&[("PIA_CONTENT_ROOT", path)], &[]).unwrap().1.dir;
    let nowhere = parse(&["--content-root=/no/such/folder"]).unwrap_err().to_string();

    assert_eq!(by_argument.as_path(), dir.path());
    assert_eq!(by_variable.as_path(), dir.path());
    assert!(by_argument.join(Path::new("x")).is_absolute());
    assert_eq!(nowhere, "SVC-CFG-001 the content root: expected a folder");
}

#[test]
fn account_commands_are_parsed() {
    let id = uuid::Uuid::now_v7();
    let ada = || "ada@example.org".to_owned();
    let invite = |email, role, days| AdminCommand::Invite { email, role, days };
    for (line, expected) in [
        ("grant ada@example.org", AdminCommand::Grant { email: ada(), role: Role::Admin }),
        (
            "grant --role kb-manager ada@example.org",
            AdminCommand::Grant { email: ada(), role: Role::KbManager },
        ),
        ("list", AdminCommand::List),
        ("deactivate ada@example.org", AdminCommand::Deactivate { email: ada() }),
        ("reactivate ada@example.org", AdminCommand::Reactivate { email: ada() }),
        ("invite", invite(None, Role::User, 7)),
        ("invite ada@example.org --days=30 --role ADMIN", invite(Some(ada()), Role::Admin, 30)),
        ("invitations", AdminCommand::Invitations),
        (&format!("revoke {id}"), AdminCommand::Revoke { id: InvitationId(id) }),
    ] {
        let arguments: Vec<&str> =
            ["--Ai:Model=m", "admin"].into_iter().chain(line.split(' ')).collect();
        let (command, sources) = parse(&[&arguments[..], &["--Ai:ApiKey", "k"]].concat()).unwrap();

        assert_eq!(command, Command::Admin(expected), "{line}");
        assert_eq!(sources.arguments.len(), 2, "{line}");
    }
}

#[test]
fn group_commands_are_parsed() {
    let text = |it: &str| it.to_owned();
    let set = |changes| GroupCommand::Set { group: text("g"), changes };
    for (line, expected) in [
        ("list", GroupCommand::List),
        ("show g", GroupCommand::Show { group: text("g") }),
        ("create n", GroupCommand::Create { name: text("n") }),
        ("rename g n", GroupCommand::Rename { group: text("g"), name: text("n") }),
        ("delete g", GroupCommand::Delete { group: text("g") }),
        ("add a@b.org g", GroupCommand::Add { email: text("a@b.org"), group: text("g") }),
        (
            "set g quota.knowledgebases=7 Quota.ManagedPersonas=",
            set(vec![
                SettingChange::Quota(Quota::KnowledgeBases, Some(7)),
                SettingChange::Quota(Quota::ManagedPersonas, None),
            ]),
        ),
        (
            "set g credits.group-weekly=9 credits.hourly= credits.pool=True credits.pool=",
            set(vec![
                SettingChange::Credits(BudgetPeriod::GroupWeekly, Some(9)),
                SettingChange::Credits(BudgetPeriod::Hourly, None),
                SettingChange::Pool(true),
                SettingChange::Pool(false),
            ]),
        ),
        (
            "set g mode.Assistant=e=f mode.Research= persona.a.b=e persona.fast=",
            set(vec![
                SettingChange::Mode(text("Assistant"), Some(text("e=f"))),
                SettingChange::Mode(text("Research"), None),
                SettingChange::PersonaType(text("a.b"), Some(text("e"))),
                SettingChange::PersonaType(text("fast"), None),
            ]),
        ),
        (
            "set g models=a,,b models=",
            set(vec![
                SettingChange::Models(vec![text("a"), text("b")]),
                SettingChange::Models(Vec::new()),
            ]),
        ),
    ] {
        let arguments: Vec<&str> = ["admin", "group"].into_iter().chain(line.split(' ')).collect();

        let (command, _) = parse(&arguments).unwrap();

        assert_eq!(command, Command::Admin(AdminCommand::Group(expected)), "{line}");
    }
}

#[test]
fn api_key_commands_are_parsed() {
    let id = uuid::Uuid::now_v7();
    let revoke = id.to_string();
    for (words, expected) in [
        (["list", "a@b.org"], ApiKeyCommand::List { email: "a@b.org".to_owned() }),
        (["revoke", &*revoke], ApiKeyCommand::Revoke { id: ApiKeyId(id) }),
    ] {
        let (command, _) = parse(&["admin", "api-key", words[0], words[1]]).unwrap();

        assert_eq!(command, Command::Admin(AdminCommand::ApiKey(expected)));
    }
}

#[test]
fn invalid_admin_commands_are_refused_and_not_repeated() {
    for line in [
        "",
        "s3cret",
        "grant",
        "grant ada@example.org s3cret",
        "grant ada@example.org --role s3cret",
        "grant ada@example.org --days 5",
        "list s3cret",
        "list --role user",
        "deactivate ada@example.org --role user",
        "invite ada@example.org s3cret",
        "invite --days 0",
        "invite --days 366",
        "invite --days s3cret",
        "revoke s3cret",
        "invite --role",
        "list --s3cret",
        "list -s3cret",
        "audit",
        "audit s3cret",
        "audit verify a b",
        "audit checkpoint --days 5",
        "api-key",
        "api-key s3cret",
        "api-key list",
        "api-key revoke s3cret",
        "api-key list a@b.org --days 5",
        "group",
        "group s3cret",
        "group show",
        "group list --role user",
        "group set g",
        "group set g s3cret",
        "group set g s3cret=1",
        "group set g quota.s3cret=1",
        "group set g quota.KnowledgeBases=s3cret",
        "group set g credits.s3cret=1",
        "group set g credits.pool=s3cret",
        "group set g models.s3cret=a",
    ] {
        let words = line.split(' ').filter(|it| !it.is_empty());
        let arguments: Vec<&str> = std::iter::once("admin").chain(words).collect();

        let message = parse(&arguments).unwrap_err().to_string();

        let has_advice = message.contains("expected ") || message.contains("command: use ");
        assert!(message.starts_with("SVC-CFG-001 ") && has_advice, "{message}");
        assert!(!message.contains("s3cret"), "{message}");
    }
    for arguments in [&["--role", "admin"][..], &["--days=5"], &["grant", "ada@example.org"]] {
        assert!(parse(arguments).is_err(), "{arguments:?}");
    }
    assert_eq!(parse(&["admin", "list", "--help"]).unwrap().0, Command::Help);
}

#[test]
fn a_known_verb_without_its_arguments_has_its_syntax() {
    for (line, syntax) in [
        ("grant", "grant EMAIL [--role ROLE]"),
        ("deactivate", "deactivate EMAIL"),
        ("list x", "list"),
        ("invite a b", "invite [EMAIL] [--role ROLE] [--days N]"),
        ("kb share", "kb share BASE [GROUP]..."),
        ("group set g", "group set GROUP KEY=VALUE..."),
        ("api-key revoke", "api-key revoke ID"),
        ("credits check x", "credits check"),
        ("pods drain", "pods drain POD"),
        ("audit checkpoint x", "audit checkpoint"),
    ] {
        let arguments: Vec<&str> = ["admin"].into_iter().chain(line.split(' ')).collect();

        let message = parse(&arguments).unwrap_err().to_string();

        assert!(message.ends_with(&format!("expected `admin {syntax}`")), "{line}: {message}");
    }
    for line in ["kb", "kb shar", "kb s", "", "group list x --role user"] {
        let arguments: Vec<&str> = ["admin"].into_iter().chain(line.split(' ')).collect();

        assert!(parse(&arguments).unwrap_err().to_string().contains("command: use "), "{line}");
    }
}

#[test]
fn the_usage_is_printed_without_a_command() {
    for arguments in [&["admin", "--help"][..], &["admin", "-h"], &["admin", "help"]] {
        assert_eq!(parse(arguments).unwrap().0, Command::Help, "{arguments:?}");
    }
    assert_eq!(parse(&["--help", "admin", "help", "grant"]).unwrap().0, Command::Help);
    assert!(parse(&["admin", "kb", "help"]).is_err());
}

#[test]
fn the_usage_names_every_switch() {
    for switch in ["--migrate-only", "--help", "--version", "--environment", "--content-root"] {
        assert!(USAGE.contains(switch), "{switch}");
    }
}
