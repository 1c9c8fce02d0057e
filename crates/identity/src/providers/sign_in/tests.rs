//! Tests of sign-in with providers, over scripted ports.

use pia_kernel::{Timestamp, UserId};
use pia_testkit::FixedClock;

use super::*;
use crate::people::account::Account;
use crate::ports::{
    CodeRedemptionOutcome, MockAccountStore, MockIdentityProviders, MockLicenceInForce,
    MockProviderAccounts, MockProviderFlows, MockSeats, MockSessionStore, MockSignInCodes,
    ProviderError, SessionStartOutcome,
};
use crate::providers::redirect_target::DestinationError;
use crate::sessions::access_tokens::{AccessTokens, TokenNames};
use crate::sessions::refresh_tokens::RefreshKeys;
use crate::sessions::signing_keys::SigningKeys;
use crate::sessions::{SessionPorts, SessionSettings};

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

#[derive(Default)]
struct Fixture {
    providers: MockIdentityProviders,
    flows: MockProviderFlows,
    codes: MockSignInCodes,
    accounts: MockAccountStore,
    sessions: MockSessionStore,
}

impl Fixture {
    fn build(self) -> ProviderSignIn {
        let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let keys =
            SigningKeys { current: secret("an example of thirty-two letters"), previous: None };
        let names = TokenNames { issuer: "issuer".to_owned(), audience: "audience".to_owned() };
        let settings = LiveSetting::new(SessionSettings::default());
        let access_tokens = AccessTokens::new(&keys, names, settings.clone(), Arc::clone(&clock));
        let accounts: Arc<dyn AccountStore> = Arc::new(self.accounts);
        let caller_cache = CallerCache::new(Arc::clone(&accounts), Arc::clone(&clock));
        let session_ports = SessionPorts {
            store: Arc::new(self.sessions),
            caller_cache: caller_cache.clone(),
            access_tokens,
            refresh_keys: RefreshKeys::derive(&keys),
        };
        let sessions = Sessions::new(session_ports, settings, Arc::clone(&clock));
        let ports = ProviderPorts {
            providers: Arc::new(self.providers),
            flows: Arc::new(self.flows),
            codes: Arc::new(self.codes),
            provider_accounts: Arc::new(MockProviderAccounts::new()),
            accounts,
            seats: Arc::new(MockSeats::new()),
            licence: Arc::new(MockLicenceInForce::new()),
            public_url: "https://pia.example".to_owned(),
            clock,
        };
        let rules = LiveSetting::new(RegistrationRules::default());
        ProviderSignIn::new(ports, sessions, caller_cache, rules)
    }

    /// Returns a fake in which this account's code was redeemed; the session
    /// may be settled or not.
    fn redeemed(settled: bool) -> Self {
        let mut fixture = Self::redeeming();
        fixture.codes.expect_settle().once().returning(move |_, _| Ok(settled));
        fixture
            .sessions
            .expect_begin()
            .once()
            .returning(|_, _, _, _| Ok(SessionStartOutcome::Done));
        fixture
    }

    /// Returns a fake in which this account's code is redeemed.
    fn redeeming() -> Self {
        let mut fixture = Self::default();
        fixture
            .codes
            .expect_redeem()
            .once()
            .returning(|_, _, _, _| Ok(CodeRedemptionOutcome::Redeemed(UserId::generate())));
        fixture.accounts.expect_find().returning(|user| {
            Ok(Some(Account::local(user, "ada@example.org".to_owned(), Timestamp::UNIX_EPOCH)))
        });
        fixture
    }
}

fn request() -> ProviderSignInRequest {
    ProviderSignInRequest {
        provider: Some("google".to_owned()),
        target: Some("http://localhost:1/".to_owned()),
        challenge: Some(CHALLENGE.to_owned()),
        challenge_method: None,
        state: Some("s&t".to_owned()),
    }
}

#[tokio::test]
async fn a_flow_is_stored_under_hashes_of_the_state_and_the_cookie() {
    let mut fixture = Fixture::default();
    fixture
        .providers
        .expect_authorization_url()
        .returning(|_, request| Ok(request.state.expose().clone()));
    fixture.flows.expect_put().once().returning(|new| {
        assert_eq!(new.expires_at, Timestamp::UNIX_EPOCH + Duration::from_mins(10));
        assert_eq!(new.flow.state.as_deref(), Some("s&t"));
        assert_ne!(new.hash, new.browser);
        Ok(())
    });

    let redirect = fixture.build().begin(request(), None).await.unwrap();

    assert_ne!(redirect.url, *redirect.browser.expose());
    assert_eq!(redirect.url.len(), 43);
    assert_eq!(redirect.browser.expose().len(), 43);
}

#[tokio::test]
async fn an_unreachable_provider_is_reported_with_the_state_and_nothing_is_stored() {
    let mut fixture = Fixture::default();
    fixture.providers.expect_authorization_url().returning(|_, _| Err(ProviderError::Unreachable));

    let Err(StartProviderSignInError::Failed(failed)) =
        fixture.build().begin(request(), None).await
    else {
        panic!("it began")
    };

    assert!(matches!(failed.reason, ProviderSignInError::ProviderUnreachable));
    let url = failed.return_state.unwrap().with(&[("error", "e")]);
    assert_eq!(url, "http://localhost:1/?error=e&state=s%26t");
}

#[tokio::test]
async fn an_unconfigured_provider_is_reported_to_the_waiting_program() {
    let without_program = ProviderSignInRequest { target: None, challenge: None, ..request() };
    let return_url = "http://localhost:1/?error=e&state=s%26t";
    for (request, expected) in [(request(), Some(return_url)), (without_program, None)] {
        let mut fixture = Fixture::default();
        let refuse = fixture.providers.expect_authorization_url();
        refuse.returning(|_, _| Err(ProviderError::NotConfigured));

        let Err(StartProviderSignInError::Failed(failed)) =
            fixture.build().begin(request, None).await
        else {
            panic!("it began")
        };

        assert!(matches!(failed.reason, ProviderSignInError::NotConfigured));
        let url = failed.return_state.map(|it| it.with(&[("error", "e")]));
        assert_eq!(url.as_deref(), expected);
    }
}

#[tokio::test]
async fn an_invalid_target_is_refused_before_the_provider_is_checked() {
    let request = ProviderSignInRequest {
        provider: Some("nobody".to_owned()),
        target: Some("https://evil.example".to_owned()),
        state: Some("x".repeat(5000)),
        ..ProviderSignInRequest::default()
    };

    let outcome = Fixture::default().build().begin(request, None).await;

    assert!(matches!(
        outcome,
        Err(StartProviderSignInError::Destination(DestinationError::Target))
    ));
}

#[tokio::test]
async fn without_a_valid_state_and_cookie_no_flow_is_looked_up() {
    let token = || Some(secret(&"a".repeat(43)));
    for (state, browser) in [
        (None, token()),
        (token(), None),
        (token(), Some(secret("short"))),
        (Some(secret("' OR 1=1 --")), token()),
    ] {
        let callback = ProviderCallback { state, ..ProviderCallback::default() };

        let outcome =
            Fixture::default().build().finish(callback, browser, SignInDevice::default()).await;

        let failure = outcome.unwrap_err();
        assert!(matches!(failure.reason, ProviderSignInError::InvalidState));
        assert!(failure.return_state.is_none());
    }
}

#[tokio::test]
async fn a_settled_code_starts_its_session() {
    let code = secret(&"c".repeat(43));

    let signed_in = Fixture::redeemed(true)
        .build()
        .redeem(&code, &secret(VERIFIER), SignInDevice::default())
        .await;

    assert_eq!(signed_in.unwrap().account.email, "ada@example.org");
}

#[tokio::test]
async fn a_code_that_is_replayed_meanwhile_has_its_session_ended() {
    let mut fixture = Fixture::redeemed(false);
    fixture.sessions.expect_revoke().once().returning(|_, _, _, _| Ok(Some(1)));
    let code = secret(&"c".repeat(43));

    let outcome = fixture.build().redeem(&code, &secret(VERIFIER), SignInDevice::default()).await;

    assert!(matches!(outcome, Err(RedeemError::InvalidGrant)));
}

#[tokio::test]
async fn a_code_of_an_account_that_is_deleted_meanwhile_is_refused() {
    let mut fixture = Fixture::redeeming();
    fixture.sessions.expect_begin().once().returning(|_, _, _, _| Ok(SessionStartOutcome::Stale));
    let code = secret(&"c".repeat(43));

    let outcome = fixture.build().redeem(&code, &secret(VERIFIER), SignInDevice::default()).await;

    assert!(matches!(outcome, Err(RedeemError::InvalidGrant)));
}

#[tokio::test]
async fn malformed_codes_never_reach_the_store_but_malformed_verifiers_do() {
    let sign_in = Fixture::default().build();
    for code in ["", "short", &"ä".repeat(43)] {
        let outcome =
            sign_in.redeem(&secret(code), &secret(VERIFIER), SignInDevice::default()).await;
        assert!(matches!(outcome, Err(RedeemError::InvalidGrant)), "{code}");
    }
    let mut fixture = Fixture::default();
    fixture
        .codes
        .expect_redeem()
        .withf(|_, challenge, _, _| challenge.is_none())
        .once()
        .returning(|_, _, _, _| Ok(CodeRedemptionOutcome::Refused));

    let code = secret(&"c".repeat(43));
    let outcome = fixture.build().redeem(&code, &secret("bad"), SignInDevice::default()).await;

    assert!(matches!(outcome, Err(RedeemError::InvalidGrant)));
}
