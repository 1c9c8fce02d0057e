//! Test support: setup pages in several states.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pia_identity::{
    FirstAdmin, FirstAdminOutcome, FirstAdminPorts, MockFirstAdminStore, MockPasswordHasher,
    MockSeats, MockSetupToken, RegistrationRules,
};
use pia_kernel::{LiveSetting, Secret, Timestamp};
use pia_policy::{InstallError, Licence, LicenceService, SetupState};
use pia_testkit::FixedClock;
use pia_web::Runner;

use crate::setup_pages::SetupPages;

pub(crate) type LicenceUpload = Result<Licence, InstallError>;

/// Licence service in a fixed state that accepts one installation.
pub(crate) struct SetupServices {
    state: SetupState,
    result: Mutex<Option<LicenceUpload>>,
    pub(crate) installs: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl LicenceService for SetupServices {
    fn setup_state(&self) -> SetupState {
        self.state.clone()
    }

    async fn install(&self, token: &Secret<String>, text: &[u8]) -> LicenceUpload {
        let text = String::from_utf8(text.to_vec()).unwrap();
        self.installs.lock().unwrap().push((token.expose().clone(), text));
        self.result.lock().unwrap().take().unwrap()
    }

    async fn replace(&self, _: &[u8]) -> LicenceUpload {
        panic!("the setup replaces no licence")
    }
}

pub(crate) fn services(
    state: SetupState,
    admins: Admins,
    result: Option<LicenceUpload>,
) -> (Arc<SetupServices>, SetupPages) {
    let services =
        Arc::new(SetupServices { state, result: Mutex::new(result), installs: Mutex::default() });
    let first_admin = first_admin(admins);
    let console = SetupPages {
        licences: Arc::clone(&services) as Arc<_>,
        first_admin,
        runner: Runner::on_current_runtime(),
    };
    (services, console)
}

/// Progress of creating the first administrator.
#[derive(Clone, Copy)]
pub(crate) enum Admins {
    There,
    Missing,
    /// Outcome of creating the first one with the token `right`.
    Made(FirstAdminOutcome),
}

fn first_admin(admins: Admins) -> FirstAdmin {
    let mut store = MockFirstAdminStore::new();
    let mut seats = MockSeats::new();
    let mut token = MockSetupToken::new();
    let mut hasher = MockPasswordHasher::new();
    store.expect_exists().returning(move || Ok(matches!(admins, Admins::There)));

    if let Admins::Made(outcome) = admins {
        store.expect_create_first_admin().returning(move |_, _, _| Ok(outcome));
    }

    seats.expect_limit().return_const(None);
    seats.expect_admins().return_const(None);
    token.expect_is_right().returning(|it| Ok(it.expose() == "right"));
    token.expect_record_administrator().returning(|| ());
    hasher.expect_hash().returning(|_| Ok(Secret::new("$kept$".to_owned())));

    let ports = FirstAdminPorts {
        store: Arc::new(store),
        hasher: Arc::new(hasher),
        seats: Arc::new(seats),
        token: Arc::new(token),
    };

    let rules = LiveSetting::new(RegistrationRules::default());

    FirstAdmin::new(ports, rules, Arc::new(FixedClock(Timestamp::UNIX_EPOCH)))
}
