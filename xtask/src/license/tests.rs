//! Tests of keys and licences on the command line.

use std::fs;
use std::path::{Path, PathBuf};

use pia_policy::{Edition, Licence, VerifyingKey};
use tempfile::TempDir;

use super::{Outcome, inspect, issue, keys};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the words of `line`, in which `@name` is a file in this folder.
    fn args(&self, line: &str) -> Vec<String> {
        let file =
            |word: &str| word.strip_prefix('@').map(|it| self.path(it).display().to_string());
        line.split_whitespace().map(|it| file(it).unwrap_or_else(|| it.to_owned())).collect()
    }

    fn keygen(&self, line: &str) -> Outcome<String> {
        keys::generate(self.args(line).into_iter())
    }

    fn issue(&self, line: &str) -> Outcome<String> {
        issue::issue(self.args(line).into_iter())
    }

    fn inspect(&self, line: &str) -> Outcome<String> {
        inspect::inspect(self.args(line).into_iter())
    }
}

fn refusal(outcome: Outcome<String>) -> String {
    outcome.unwrap_err().to_string()
}

fn development_key() -> VerifyingKey {
    keys::signing_key(None).unwrap().verifying_key()
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn builds_accept_the_development_key_of_the_repository() {
    assert!(development_key().is_development_key());
}

#[test]
fn a_licence_of_the_development_key_is_issued_without_naming_a_key() {
    let folder = Folder::new();

    folder.issue("--licensee Somebody --edition Enterprise --out @license.lic").unwrap();

    let text = fs::read(folder.path("license.lic")).unwrap();
    let licence = Licence::parse(text, &development_key()).unwrap();
    assert_eq!(licence.licensee, "Somebody");
    assert_eq!(licence.features, Edition::Enterprise.features());
    assert_eq!(licence.expires_at, None);
}

#[test]
fn a_licence_contains_all_options() {
    let folder = Folder::new();

    let text = folder
        .issue(
            "--licensee=Somebody --edition Special --feature Sync --feature E2EE --max-users 5 \
             --max-admins 2 --expires 2999-12-31",
        )
        .unwrap();

    let licence = Licence::parse(text, &development_key()).unwrap();
    let features: Vec<_> = licence.features.iter().map(|it| it.name()).collect();
    assert_eq!(licence.edition.as_str(), "Special");
    assert_eq!(features, ["Sync", "E2EE"]);
    assert_eq!(licence.max_users, Some(5));
    assert_eq!(licence.max_admins, Some(2));
    assert_eq!(licence.expires_at.unwrap().to_string(), "2999-12-31T23:59:59Z");
}

#[test]
fn expiry_may_be_a_time_or_a_number_of_days() {
    let folder = Folder::new();

    for (flags, micros) in [
        ("--expires 2999-01-02T03:04:05+01:00", None),
        ("--days 30", Some(30 * 24 * 60 * 60 * 1_000_000_i64)),
    ] {
        let text = folder.issue(&format!("--licensee Somebody {flags}")).unwrap();

        let licence = Licence::parse(text, &development_key()).unwrap();
        let end = licence.expires_at.unwrap();
        match micros {
            Some(micros) => assert_eq!(end.micros() - licence.issued_at.micros(), micros),
            None => assert_eq!(end.to_string(), "2999-01-02T02:04:05Z"),
        }
    }
}

#[test]
fn a_new_key_is_private_and_its_licences_need_its_public_key() {
    let folder = Folder::new();

    let output = folder.keygen("--out @key").unwrap();
    folder.issue("--key @key --licensee Somebody --out @license.lic").unwrap();

    assert_eq!(mode(&folder.path("key")), 0o600);
    let public = output.lines().find_map(|it| it.split_once("PIA_LICENSE_PUBLIC_KEY=")).unwrap().1;
    let good = folder.inspect(&format!("@license.lic --public-key {public}")).unwrap();
    assert!(good.contains("licensee:    Somebody"), "{good}");
    let bad = refusal(folder.inspect("@license.lic"));
    assert!(bad.contains("that this build does not accept"), "{bad}");
    assert!(bad.contains("nothing vouches for it") && bad.contains("Somebody"), "{bad}");
    let key = fs::read_to_string(folder.path("key")).unwrap();
    let secret = key.lines().last().unwrap();
    assert!(!output.contains(secret), "{output}");
}

#[test]
fn a_printed_key_is_usable() {
    let folder = Folder::new();

    let key = folder.keygen("").unwrap();
    fs::write(folder.path("key"), key).unwrap();

    folder.issue("--key @key --licensee Somebody").unwrap();
}

#[test]
fn a_key_is_never_overwritten() {
    let folder = Folder::new();
    folder.keygen("--out @key").unwrap();
    let before = fs::read(folder.path("key")).unwrap();

    assert!(refusal(folder.keygen("--out @key")).contains("exists"));
    let message = refusal(folder.issue("--key @key --licensee Somebody --out @key"));
    assert!(message.contains("something else than a licence"), "{message}");

    assert_eq!(fs::read(folder.path("key")).unwrap(), before);
}

#[test]
fn a_licence_replaces_an_older_one() {
    let folder = Folder::new();
    folder.issue("--licensee Before --out @license.lic").unwrap();

    folder.issue("--licensee After --out @license.lic").unwrap();

    assert!(folder.inspect("@license.lic").unwrap().contains("After"));
}

#[test]
fn an_inspected_licence_is_described() {
    let folder = Folder::new();
    folder.issue("--licensee Somebody --max-users 5 --out @license.lic").unwrap();

    let output = folder.inspect("@license.lic").unwrap();

    for line in [
        "signature:   good",
        "(the development key)",
        "features:    Sync AiProxy E2EE",
        "users:       5",
        "admins:      no limit",
        "ends:        never",
        "standing:    in force",
    ] {
        assert!(output.contains(line), "{line} in {output}");
    }
}

#[test]
fn licences_that_a_server_refuses_are_refused() {
    let folder = Folder::new();
    let text = folder.issue("--licensee Somebody").unwrap();

    for (content, reason) in [
        (String::new(), "it is empty"),
        (text.chars().take(text.len() - 9).collect(), "incomplete"),
        (text.replace(".ey", ".eY"), "changed or forged"),
    ] {
        fs::write(folder.path("license.lic"), content).unwrap();

        let message = refusal(folder.inspect("@license.lic"));

        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn invalid_arguments_are_reported() {
    let folder = Folder::new();

    for (line, reason) in [
        ("", "say whom the licence is for"),
        ("--licensee", "--licensee needs a value"),
        ("--licensee A --licensee B", "--licensee was given more than once"),
        ("--licensee A B", "\"B\" belongs to no option"),
        ("--licensee A --users 5", "there is no option --users"),
        ("--licensee A --edition Platinum", "there is no edition \"Platinum\": take Community"),
        ("--licensee A --feature sync", "there is no feature \"sync\": take of OAuth"),
        ("--licensee A --max-users many", "--max-users is not a number: \"many\""),
        ("--licensee A --max-users 0", "its maxUsers is 0"),
        ("--licensee A --expires soon", "--expires is no time: \"soon\""),
        ("--licensee A --expires 2030-13-01", "--expires is no time"),
        ("--licensee A --expires 2020-01-01", "would have ended already"),
        ("--licensee A --days 0", "would have ended already"),
        ("--licensee A --days 1 --expires 2999-01-01", "not both"),
        ("--licensee A --key @absent", "No such file"),
        ("--licensee A --out @absent/license.lic", "No such file"),
    ] {
        let message = refusal(folder.issue(line));

        assert!(message.contains(reason), "{line}: {message}");
    }
    assert!(refusal(folder.inspect("")).contains("name one file"));
    assert!(refusal(folder.inspect("@absent")).contains("No such file"));
    assert!(refusal(folder.inspect("@a --public-key AAAA")).contains("not 32 bytes"));
}
