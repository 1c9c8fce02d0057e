//! Tests of the setup, and of its token.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use pia_identity::{FirstAdminOutcome, FirstAdminStore, NewAccount, SeatLimits};
use pia_kernel::SideEffects;
use pia_policy::LicenceError;

use super::*;
use crate::licence::tests::{DAY, TestServer, logged};

impl TestServer {
    fn token_path(&self) -> PathBuf {
        self.folder.path().join(".setup-token")
    }

    /// Returns the setup of a server that has an administrator.
    fn setup(&self) -> Setup {
        self.setup_with(Admins::There.administrators())
    }

    fn setup_with(&self, admins: Administrators) -> Setup {
        Setup::open(Arc::new(self.open()), self.token_path(), admins)
    }

    fn token(&self) -> Secret<String> {
        Secret::new(fs::read_to_string(self.token_path()).unwrap())
    }

    fn mode(&self) -> u32 {
        fs::metadata(self.token_path()).unwrap().permissions().mode() & 0o777
    }
}

/// Scripted state of administrators.
#[derive(Clone, Copy)]
enum Admins {
    There,
    Missing,
    Unknown,
}

impl Admins {
    /// Returns the administrators as found at the start.
    fn administrators(self) -> Administrators {
        let admins = Administrators::load(Arc::new(self));
        futures_util::FutureExt::now_or_never(admins).unwrap()
    }
}

#[async_trait]
impl FirstAdminStore for Admins {
    async fn exists(&self) -> Result<bool, Unavailable> {
        match self {
            Self::There => Ok(true),
            Self::Missing => Ok(false),
            Self::Unknown => Err(Unavailable::new("storage", "away")),
        }
    }

    async fn create_first_admin(
        &self,
        _new: NewAccount,
        _limits: SeatLimits,
        _effects: SideEffects,
    ) -> Result<FirstAdminOutcome, Unavailable> {
        Ok(FirstAdminOutcome::AlreadySetUp)
    }
}

fn wrong_token() -> Secret<String> {
    Secret::new("A".repeat(43))
}

#[test]
fn an_unlicensed_server_writes_a_token_that_its_owner_alone_can_read() {
    let server = TestServer::new();

    let log = logged(|| drop(server.setup()));

    let token = server.token();
    assert_eq!(token.expose().trim().len(), 43);
    assert_eq!(server.mode(), 0o600);
    assert!(log.contains("SVC-SET-001") && log.contains(".setup-token"), "{log}");
    assert!(!log.contains(token.expose().trim()), "{log}");
}

#[test]
fn a_licensed_server_with_an_administrator_has_no_token() {
    let server = TestServer::new();
    server.write_file(server.licence("Somebody"));

    let log = logged(|| drop(server.setup()));

    assert!(!server.token_path().exists());
    assert!(!log.contains("SVC-SET"), "{log}");
}

#[test]
fn instances_that_share_the_folder_share_the_token() {
    let server = TestServer::new();
    let first_setup = server.setup();
    let token = server.token();

    let second_setup = server.setup();

    assert_eq!(server.token().expose(), token.expose());
    assert!(first_setup.token.verify(&token).unwrap());
    assert!(second_setup.token.verify(&token).unwrap());
}

#[test]
fn tokens_differ() {
    let first_server = TestServer::new();
    let other_server = TestServer::new();
    let _setups = (first_server.setup(), other_server.setup());

    assert_ne!(first_server.token().expose(), other_server.token().expose());
}

#[test]
fn a_token_that_others_can_read_gets_strict_permissions() {
    let server = TestServer::new();
    let setup = server.setup();
    fs::set_permissions(server.token_path(), fs::Permissions::from_mode(0o644)).unwrap();

    setup.check();

    assert_eq!(server.mode(), 0o600);
}

#[test]
fn a_missing_or_empty_token_is_replaced() {
    let server = TestServer::new();
    let setup = server.setup();
    let previous_token = server.token();

    fs::remove_file(server.token_path()).unwrap();
    assert!(!setup.token.verify(&previous_token).unwrap());
    setup.check();
    fs::write(server.token_path(), "").unwrap();
    setup.check();

    assert!(!setup.token.verify(&previous_token).unwrap());
    assert!(setup.token.verify(&server.token()).unwrap());
}

#[test]
fn a_file_that_is_not_a_token_is_left_alone_and_authorises_nothing() {
    let server = TestServer::new();
    for content in ["my diary", "AAAA", &"A".repeat(1000)] {
        fs::write(server.token_path(), content).unwrap();

        let log = logged(|| {
            let setup = server.setup();
            setup.check();
            assert!(!setup.token.verify(&Secret::new(content.to_owned())).unwrap());
            server.write_file(server.licence("Somebody"));
            setup.check();
        });

        assert_eq!(fs::read_to_string(server.token_path()).unwrap(), content);
        assert_eq!(log.matches("SVC-SET-002").count(), 1, "{log}");
        fs::remove_file(server.path()).unwrap();
    }
}

#[test]
fn a_symbolic_link_is_not_a_token() {
    let server = TestServer::new();
    let target = server.folder.path().join("elsewhere");
    fs::write(&target, wrong_token().expose()).unwrap();
    symlink(&target, server.token_path()).unwrap();

    let setup = server.setup();

    assert!(!setup.token.verify(&wrong_token()).unwrap());
    assert_eq!(fs::read_to_string(&target).unwrap(), *wrong_token().expose());
}

#[test]
fn a_token_that_cannot_be_written_is_logged_once() {
    let server = TestServer::new();
    let path = server.folder.path().join("absent/.setup-token");

    let log = logged(|| {
        let admins = Admins::There.administrators();
        let setup = Setup::open(Arc::new(server.open()), path, admins);
        setup.check();
    });

    assert_eq!(log.matches("SVC-SET-003").count(), 1, "{log}");
}

#[tokio::test]
async fn the_token_authorises_the_installation_of_a_licence() {
    let server = TestServer::new();
    let setup = server.setup();

    let licence = setup.install(&server.token(), server.licence("Somebody").as_bytes()).await;

    assert_eq!(licence.unwrap().licensee, "Somebody");
    assert_eq!(setup.setup_state(), SetupState::Done);
    assert!(!server.token_path().exists());
}

#[tokio::test]
async fn a_wrong_token_reveals_and_changes_nothing() {
    let server = TestServer::new();
    let setup = server.setup();
    let valid_licence = server.licence("Somebody");
    let almost_correct_token = {
        let token = server.token().expose().trim().to_owned();
        let other_last_letter = if token.ends_with('A') { 'E' } else { 'A' };
        token.chars().take(42).chain([other_last_letter]).collect()
    };

    for token in [wrong_token(), Secret::new(String::new()), Secret::new(almost_correct_token)] {
        for text in [valid_licence.as_str(), "no licence"] {
            let outcome = setup.install(&token, text.as_bytes()).await;

            assert!(matches!(outcome, Err(InstallError::WrongToken)));
        }
    }
    assert_eq!(setup.setup_state(), SetupState::NoLicence);
    assert!(!server.path().exists());
}

#[tokio::test]
async fn a_licence_that_is_not_accepted_leaves_the_token_for_another_try() {
    let server = TestServer::new();
    let setup = server.setup();

    let refused_outcome = setup.install(&server.token(), b"no licence").await;
    let accepted_outcome =
        setup.install(&server.token(), server.licence("Somebody").as_bytes()).await;

    assert!(matches!(refused_outcome, Err(InstallError::Refused(LicenceError::Truncated(_)))));
    assert!(accepted_outcome.is_ok());
}

#[tokio::test]
async fn set_up_is_completed_by_a_licence() {
    let server = TestServer::new();
    let setup = server.setup();
    let token = server.token();
    setup.install(&token, server.licence("Somebody").as_bytes()).await.unwrap();

    let repeated_outcome = setup.install(&token, server.licence("Another").as_bytes()).await;

    assert!(matches!(repeated_outcome, Err(InstallError::AlreadyLicensed)));
}

#[tokio::test]
async fn one_of_many_concurrent_installations_succeeds() {
    let server = TestServer::new();
    let setup = server.setup();
    let token = server.token();
    let text = server.licence("Somebody");

    let installations = (0..16).map(|_| setup.install(&token, text.as_bytes()));
    let outcomes = futures_util::future::join_all(installations).await;

    assert_eq!(outcomes.iter().filter(|it| it.is_ok()).count(), 1);
}

#[test]
fn a_licensed_server_without_an_administrator_waits_for_one() {
    for admins in [Admins::Missing, Admins::Unknown] {
        let server = TestServer::new();
        server.write_file(server.licence("Somebody"));

        let log = logged(|| drop(server.setup_with(admins.administrators())));

        assert_eq!(server.mode(), 0o600);
        assert!(log.contains("SVC-SET-004") && !log.contains("SVC-SET-001"), "{log}");
    }
}

#[tokio::test]
async fn one_token_serves_for_the_licence_and_then_for_the_administrator() {
    let server = TestServer::new();
    let setup = server.setup_with(Admins::Missing.administrators());
    let token = server.token();

    setup.install(&token, server.licence("Somebody").as_bytes()).await.unwrap();
    assert!(setup.is_right(&token).await.unwrap());
    assert!(!setup.is_right(&wrong_token()).await.unwrap());
    setup.record_administrator().await;

    assert!(!setup.is_right(&token).await.unwrap());
    assert!(!server.token_path().exists());
}

#[tokio::test]
async fn an_administrator_who_was_created_elsewhere_revokes_the_token() {
    let server = TestServer::new();
    server.write_file(server.licence("Somebody"));
    let admins = Administrators { store: Arc::new(Admins::There), found: false.into() };
    let setup = server.setup_with(admins);
    assert!(server.token_path().exists());

    let token_is_gone = async {
        while server.token_path().exists() {
            tokio::task::yield_now().await;
        }
    };

    tokio::select! {
        () = setup.clone().watch(CancellationToken::new()) => panic!("it ended"),
        () = token_is_gone => {}
    }
}

#[tokio::test]
async fn an_administrator_does_not_revoke_a_token_that_the_licence_needs() {
    let server = TestServer::new();
    let setup = server.setup_with(Admins::Missing.administrators());

    setup.record_administrator().await;

    assert!(setup.is_right(&server.token()).await.unwrap());
}

#[tokio::test]
async fn a_licence_that_has_ended_opens_set_up_again() {
    let server = TestServer::new();
    server.write_file(server.licence("Before"));
    let setup = server.setup();

    server.clock.advance(DAY);
    setup.check();
    let renewal_outcome = setup.install(&server.token(), server.licence("Behind").as_bytes()).await;

    assert_eq!(renewal_outcome.unwrap().licensee, "Behind");
    assert_eq!(setup.setup_state(), SetupState::Done);
}

#[test]
fn a_licence_file_that_is_copied_by_hand_completes_set_up() {
    let server = TestServer::new();
    let setup = server.setup();

    server.write_file(server.licence("Somebody"));
    let log = logged(|| setup.check());

    assert_eq!(setup.setup_state(), SetupState::Done);
    assert!(!server.token_path().exists());
    assert!(log.contains("setup token deleted"), "{log}");
}

#[tokio::test]
async fn the_watcher_checks_at_once_and_continues() {
    let server = TestServer::new();
    let setup = server.setup();
    server.write_file(server.licence("Somebody"));

    let licence_is_found = async {
        while setup.setup_state() != SetupState::Done {
            tokio::task::yield_now().await;
        }
    };

    tokio::select! {
        () = setup.clone().watch(CancellationToken::new()) => panic!("it ended"),
        () = licence_is_found => {}
    }
}
