//! Tests of licences that administrators store.

use super::*;

#[test]
fn a_stored_licence_is_in_force_at_once_and_after_a_restart() {
    let bench = TestServer::new();
    let file = bench.open();
    let wrapped_licence = bench.licence("Somebody").replace('.', ".\r\n ");

    let stored_licence = file.store(wrapped_licence.as_bytes()).unwrap();

    assert_eq!(stored_licence.licensee, "Somebody");
    assert_eq!(licensee(&file), "Somebody");
    assert_eq!(licensee(&bench.open()), "Somebody");
}

#[test]
fn a_stored_licence_is_readable_by_its_owner_alone_and_leaves_no_other_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = TestServer::new();
    bench.write_file("something before");

    bench.open().store(bench.licence("Somebody").as_bytes()).unwrap();

    let mode = fs::metadata(bench.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 1);
}

#[test]
fn a_smaller_or_older_licence_may_be_stored() {
    let bench = TestServer::new();
    let larger = bench.licence_ending("Larger", None);
    let smaller = bench.licence("Smaller");
    let file = bench.open();

    file.store(larger.as_bytes()).unwrap();
    file.store(smaller.as_bytes()).unwrap();

    assert_eq!(licensee(&file), "Smaller");
}

#[test]
fn a_licence_that_is_not_accepted_is_not_stored() {
    let bench = TestServer::new();
    let valid_licence = bench.licence("Somebody");
    let file = bench.open();
    file.store(valid_licence.as_bytes()).unwrap();
    let previous_content = fs::read(bench.path()).unwrap();

    let ended = bench.licence_ending("Somebody", Some(bench.clock.now()));
    for bad in [foreign(), String::new(), valid_licence.replace(".ey", ".eY")] {
        assert!(matches!(file.store(bad.as_bytes()), Err(InstallError::Refused(_))));
    }
    assert!(matches!(file.store(ended.as_bytes()), Err(InstallError::Ended(_))));

    assert_eq!(fs::read(bench.path()).unwrap(), previous_content);
    assert_eq!(licensee(&file), "Somebody");
}

#[test]
fn a_licence_that_cannot_be_written_changes_nothing() {
    let bench = TestServer::new();
    let missing_path = bench.folder.path().join("absent/license.lic");
    let clock = Arc::new(bench.clock.clone());
    let file = LicenceFile::open(missing_path, bench.key.verifying_key(), clock);

    let outcome = file.store(bench.licence("Somebody").as_bytes());

    assert!(matches!(outcome, Err(InstallError::Unavailable(_))));
    assert_eq!(file.setup_state(), SetupState::NoLicence);
}
