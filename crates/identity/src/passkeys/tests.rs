//! Tests of adding and removing passkeys.

use pia_kernel::{Clock, LiveSetting, Recipient, SessionId};
use pia_testkit::ManualClock;

use super::*;
use crate::factors::proofs::{FactorAnswer, FactorPorts, FactorSettings};
use crate::fakes::{InMemoryFactors, PASSWORD};
use crate::ports::{
    Ceremony, Credentials, Factor, FactorState, MockAccountStore, MockPasskeyCeremony,
    MockPasskeyChallenges, MockPasskeyStore, PasskeyCredential, VerifiedProof,
};

struct World {
    store: MockPasskeyStore,
    challenges: MockPasskeyChallenges,
    ceremony: Option<MockPasskeyCeremony>,
    factors: FactorPorts,
    session_ref: SessionRef,
}

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn new_world() -> World {
    let mut ceremony = MockPasskeyCeremony::new();
    ceremony.expect_begin_registration().returning(|_, _| {
        Ok(Ceremony { options: "{}".to_owned(), state: Secret::new("a state".to_owned()) })
    });
    World {
        store: MockPasskeyStore::new(),
        challenges: MockPasskeyChallenges::new(),
        ceremony: Some(ceremony),
        factors: Arc::<InMemoryFactors>::default().ports(),
        session_ref: SessionRef { user: UserId::generate(), session: SessionId::generate() },
    }
}

impl World {
    fn build(self) -> Passkeys {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(NOW));
        let ceremony = self.ceremony.map(|it| Arc::new(it) as Arc<dyn PasskeyCeremony>);
        let ports = PasskeyPorts {
            store: Arc::new(self.store),
            challenges: Arc::new(self.challenges),
            ceremony,
        };
        let caller_cache = CallerCache::new(Arc::new(MockAccountStore::new()), Arc::clone(&clock));
        let settings = LiveSetting::new(FactorSettings::default());
        Passkeys::new(ports, FactorProofs { ports: self.factors, settings, clock }, caller_cache)
    }

    fn with_passkeys(mut self, count: usize) -> Self {
        self.store.expect_of_user().returning(move |_| Ok((0..count).map(entry).collect()));
        self
    }

    /// Sets whether opening a challenge succeeds.
    fn opened(mut self, good: bool) -> Self {
        self.challenges.expect_open_registration().returning(move |_, _, challenge, _| {
            assert_eq!(challenge.expires_at, NOW + Duration::from_mins(5));
            Ok(good)
        });
        self
    }

    /// Gives the account an identity provider and no password.
    fn without_password(mut self) -> Self {
        let mut accounts = MockAccountStore::new();
        let of = |user| Account::local(user, "ada@example.org".to_owned(), NOW);
        let user = self.session_ref.user;
        accounts.expect_find().returning(move |user| Ok(Some(of(user))));
        accounts
            .expect_by_email()
            .returning(move |_| Ok(Some(Credentials { account: of(user), password_hash: None })));
        self.factors.accounts = Arc::new(accounts);
        self
    }

    /// Sets the state of the challenge and the outcome of storing the passkey.
    fn answered(mut self, state: Option<&'static str>, added: PasskeyCreationOutcome) -> Self {
        self.challenges.expect_take_registration().returning(move |_, _, now| {
            assert_eq!(now, NOW);
            Ok(state.map(|it| Secret::new(it.to_owned())))
        });
        let ceremony = self.ceremony.as_mut().unwrap();
        ceremony.expect_finish_registration().returning(|state, answer| {
            assert_eq!(state.expose(), "a state");
            match answer {
                "right" => Ok(PasskeyCredential { id: vec![1], key: "key".to_owned(), counter: 0 }),
                "malformed" => Err(CeremonyError::Malformed { field: "credential.id".to_owned() }),
                "unreadable" => Err(CeremonyError::Unreadable("state".to_owned())),
                _ => Err(CeremonyError::Refused("origin".to_owned())),
            }
        });
        self.store.expect_add().returning(move |_, _, _| Ok(added));
        self
    }
}

fn entry(number: usize) -> PasskeyEntry {
    PasskeyEntry {
        blocked_at: None,
        id: PasskeyId::generate(),
        name: format!("Key {number}"),
        created_at: NOW,
        used_at: None,
        credential: vec![7],
    }
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn password(text: &str) -> ReauthProof {
    ReauthProof::Password(secret(text))
}

#[tokio::test]
async fn the_password_authorises_adding_a_passkey() {
    let mut world = new_world().with_passkeys(19);
    let session_ref = world.session_ref;
    world.challenges.expect_open_registration().once().returning(
        move |user, authorization, _, effects| {
            assert_eq!(user, session_ref.user);
            assert_eq!(authorization, PasskeyAuthorization::Evidence(VerifiedProof::Password));
            assert_eq!(effects, SideEffects::default());
            Ok(true)
        },
    );

    let options = world.build().begin(session_ref, Some(password(PASSWORD))).await.unwrap();

    assert_eq!(options.token.expose().len(), 43);
    assert_eq!(options.options, "{}");
}

#[tokio::test]
async fn a_recovery_code_authorises_adding_a_passkey_and_its_owner_is_emailed() {
    let factors = Arc::<InMemoryFactors>::default();
    factors.state().factor = Some(Factor { sealed: vec![], state: FactorState::On });
    let mut world = World { factors: factors.ports(), ..new_world().with_passkeys(0) };
    let session_ref = world.session_ref;
    world.challenges.expect_open_registration().once().returning(
        move |_, authorization, _, effects| {
            assert!(matches!(
                authorization,
                PasskeyAuthorization::Evidence(VerifiedProof::RecoveryCode(_))
            ));
            assert_eq!(effects.audit[0].action, "recovery_code.used");
            let email = QueuedEmail::new("recovery-code-used").to_user(NOW, session_ref.user);
            assert_eq!(effects.mail, [email]);
            Ok(true)
        },
    );
    let code = FactorAnswer::RecoveryCode(secret("K3V90-0QXZ7-1BCDE-FGHJK-MNPQR"));

    let outcome = world.build().begin(session_ref, Some(ReauthProof::Factor(code))).await;

    assert!(outcome.is_ok());
}

#[tokio::test]
async fn a_wrong_or_consumed_proof_is_refused() {
    let wrong = new_world().with_passkeys(0);
    let spent = new_world().with_passkeys(0).opened(false);
    let nothing_on = new_world().with_passkeys(0);
    let code = ReauthProof::Factor(FactorAnswer::Code(secret("123456")));

    let session_ref = wrong.session_ref;
    for outcome in [
        wrong.build().begin(session_ref, Some(password("a wrong password"))).await,
        spent.build().begin(session_ref, Some(password(PASSWORD))).await,
        nothing_on.build().begin(session_ref, Some(code)).await,
    ] {
        assert!(matches!(outcome, Err(PasskeyOptionsError::WrongProof)), "{outcome:?}");
    }
}

#[tokio::test]
async fn an_account_with_a_password_requires_a_proof() {
    let world = new_world().with_passkeys(0);

    let session_ref = world.session_ref;
    let outcome = world.build().begin(session_ref, None).await;

    assert!(matches!(outcome, Err(PasskeyOptionsError::ProofNeeded)));
}

#[tokio::test]
async fn an_account_without_a_proof_requires_a_new_session() {
    for good in [true, false] {
        let mut world = new_world().with_passkeys(0).without_password();
        let session_ref = world.session_ref;
        world.challenges.expect_open_registration().once().returning(
            move |_, authorization, _, _| {
                let since = NOW - Duration::from_mins(10);
                assert_eq!(
                    authorization,
                    PasskeyAuthorization::NewSession { session: session_ref.session, since }
                );
                Ok(good)
            },
        );

        let outcome = world.build().begin(session_ref, None).await;

        match outcome {
            Ok(_) => assert!(good),
            Err(err) => {
                assert!(!good && matches!(err, PasskeyOptionsError::SessionTooOld), "{err}");
            }
        }
    }
}

#[tokio::test]
async fn a_twenty_first_is_refused() {
    let world = new_world().with_passkeys(20);

    let session_ref = world.session_ref;
    let outcome = world.build().begin(session_ref, Some(password(PASSWORD))).await;

    assert!(matches!(outcome, Err(PasskeyOptionsError::Full { limit: 20 })));
}

#[tokio::test]
async fn without_a_ceremony_passkeys_are_off() {
    let off = || World { ceremony: None, ..new_world() }.build();
    let session_ref = new_world().session_ref;

    let outcome = off().begin(session_ref, Some(password(PASSWORD))).await;
    let added = off().add(session_ref, &secret("token"), "Key", "right").await;

    assert!(matches!(outcome, Err(PasskeyOptionsError::Off)));
    assert!(matches!(added, Err(PasskeyAddError::Off)));
}

#[tokio::test]
async fn a_passkey_is_added_with_its_email() {
    let mut world = new_world();
    let session_ref = world.session_ref;
    world.store.expect_add().once().returning(move |change, new, max| {
        assert_eq!(change.user, session_ref.user);
        assert_eq!(change.session, session_ref.session);
        assert_eq!(max, 20);
        let mail = &change.effects.mail[0];
        assert_eq!(mail.to, Recipient::User(session_ref.user));
        assert_eq!(mail.email, QueuedEmail::new("passkey-added").with("name", "My key"));
        assert_eq!(change.effects.audit[0].action, "passkey.added");
        assert_eq!(new.name, "My key");
        assert_eq!(new.credential.key, "key");
        Ok(PasskeyCreationOutcome::Stored)
    });
    let world = world.answered(Some("a state"), PasskeyCreationOutcome::Known);

    let added =
        world.build().add(session_ref, &secret("token"), " My key ", "right").await.unwrap();

    assert_eq!(added.name, "My key");
    assert_eq!(added.created_at, NOW);
    assert_eq!(added.used_at, None);
}

#[tokio::test]
async fn each_failure_has_its_error() {
    type ErrorCheck = fn(&PasskeyAddError) -> bool;
    let state = Some("a state");
    let cases: [(Option<&'static str>, PasskeyCreationOutcome, &str, ErrorCheck); 8] = [
        (None, PasskeyCreationOutcome::Stored, "right", |it| matches!(it, PasskeyAddError::Over)),
        (state, PasskeyCreationOutcome::Known, "right", |it| matches!(it, PasskeyAddError::Known)),
        (state, PasskeyCreationOutcome::Full, "right", |it| {
            matches!(it, PasskeyAddError::Full { limit: 20 })
        }),
        (state, PasskeyCreationOutcome::SessionOver, "right", |it| {
            matches!(it, PasskeyAddError::Gone)
        }),
        (state, PasskeyCreationOutcome::Stored, "forged", |it| {
            matches!(it, PasskeyAddError::Refused)
        }),
        (
            state,
            PasskeyCreationOutcome::Stored,
            "malformed",
            |it| matches!(it, PasskeyAddError::Malformed { field } if field == "credential.id"),
        ),
        (state, PasskeyCreationOutcome::Stored, "unreadable", |it| {
            matches!(it, PasskeyAddError::Unavailable(_))
        }),
        (state, PasskeyCreationOutcome::Stored, "other", |it| {
            matches!(it, PasskeyAddError::Refused)
        }),
    ];
    for (state, added, answer, is) in cases {
        let world = new_world().answered(state, added);
        let session_ref = world.session_ref;

        let err =
            world.build().add(session_ref, &secret("token"), "Key", answer).await.unwrap_err();

        assert!(is(&err), "{added:?} {answer}: {err}");
    }
}

#[tokio::test]
async fn a_malformed_token_is_not_looked_up() {
    for token in ["", &"x".repeat(129)] {
        let world = new_world();
        let session_ref = world.session_ref;

        let outcome = world.build().add(session_ref, &secret(token), "Key", "right").await;

        assert!(matches!(outcome, Err(PasskeyAddError::Over)));
    }
}

#[tokio::test]
async fn a_passkey_is_removed_with_its_email() {
    let mut world = new_world();
    let session_ref = world.session_ref;
    let own_passkey = entry(3);
    let id = own_passkey.id;
    let listed_passkey = own_passkey.clone();
    world.store.expect_of_user().returning(move |_| Ok(vec![entry(1), listed_passkey.clone()]));
    world.store.expect_remove().once().returning(move |change, removed| {
        let email = QueuedEmail::new("passkey-removed").with("name", "Key 3");
        assert_eq!(removed, id);
        assert_eq!(change.effects.mail[0].email, email);
        assert_eq!(change.effects.audit[0].action, "passkey.removed");
        Ok(true)
    });
    let passkeys = world.build();

    passkeys.remove(session_ref, id).await.unwrap();
    let unknown = passkeys.remove(session_ref, PasskeyId::generate()).await;

    assert!(matches!(unknown, Err(PasskeyRemoveError::Unknown)));
}
