//! What stands behind the program's name.

use std::path::Path;

use super::*;

fn of(arguments: &[&str]) -> Result<(Command, Sources), Faults> {
    with(&[], arguments)
}

fn with(variables: &[(&str, &str)], arguments: &[&str]) -> Result<(Command, Sources), Faults> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let arguments: Vec<_> = arguments.iter().map(|it| (*it).to_owned()).collect();
    Sources::of(variables.iter().map(owned).collect(), &arguments)
}

#[test]
fn without_a_switch_the_server_serves_in_production() {
    let (command, sources) = of(&[]).unwrap();

    assert_eq!(command, Command::Serve);
    assert_eq!(sources.environment, Environment::production());
    assert_eq!(sources.dir, std::env::current_dir().unwrap());
}

#[test]
fn a_switch_says_what_to_do_and_is_no_setting() {
    for (arguments, expected) in [
        (&["--migrate-only"][..], Command::MigrateOnly),
        (&["--help"], Command::Help),
        (&["-h"], Command::Help),
        (&["--version"], Command::Version),
        (&["-V"], Command::Version),
        (&["--migrate-only", "--help", "--version"], Command::Help),
    ] {
        let (command, sources) = of(arguments).unwrap();

        assert_eq!(command, expected);
        assert!(sources.arguments.is_empty());
    }
}

#[test]
fn a_setting_is_one_argument_or_two() {
    let (_, sources) =
        of(&["--Ai:Model=a=b", "--Ai:ApiKey", "c", "--migrate-only", "--Ai:Endpoint="]).unwrap();

    let owned = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let expected = [owned("Ai:Model", "a=b"), owned("Ai:ApiKey", "c"), owned("Ai:Endpoint", "")];
    assert_eq!(sources.arguments, expected);
}

#[test]
fn what_is_not_understood_is_named_by_its_place_and_not_repeated() {
    for argument in ["s3cret", "--s3cret", "--s3cret=x", "-s3cret", "--Jwt:s3cret", ""] {
        let faults = of(&["--migrate-only", argument]).unwrap_err();

        let told = faults.to_string();
        assert!(
            told.starts_with("SVC-CFG-001 argument 2 of the command line: expected "),
            "{told}"
        );
        assert!(!told.contains("s3cret") && !format!("{faults:?}").contains("s3cret"), "{told}");
    }
}

#[test]
fn every_argument_that_is_not_understood_is_told() {
    let faults = of(&["a", "--Ai:Model", "--Ai:ApiKey=b", "c"]).unwrap_err();

    assert_eq!(faults.iter().count(), 3);
    assert!(faults.iter().all(|it| it.code() == Code::Source && it.key().is_none()));
}

#[test]
fn the_environment_has_its_name_from_the_first_who_says() {
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
fn an_environment_cannot_name_a_file_elsewhere() {
    for name in ["../etc", "a/b", "", "a b"] {
        let told = of(&[&format!("--environment={name}")]).unwrap_err().to_string();

        assert!(told.starts_with("SVC-CFG-001 the command line: expected an env"), "{told}");
    }
    assert!(with(&[("PIA_ENVIRONMENT", "a/b")], &[]).is_err());
}

#[test]
fn the_content_root_is_a_folder_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();

    let by_argument = of(&["--content-root", path]).unwrap().1.dir;
    let by_variable = with(&[("PIA_CONTENT_ROOT", path)], &[]).unwrap().1.dir;
    let nowhere = of(&["--content-root=/no/such/folder"]).unwrap_err().to_string();

    assert_eq!((by_argument.as_path(), by_variable.as_path()), (dir.path(), dir.path()));
    assert!(by_argument.join(Path::new("x")).is_absolute());
    assert_eq!(nowhere, "SVC-CFG-001 the content root: expected a folder");
}

#[test]
fn the_usage_names_every_switch() {
    for switch in ["--migrate-only", "--help", "--version", "--environment", "--content-root"] {
        assert!(USAGE.contains(switch), "{switch}");
    }
}
