//! Gates that admit one account.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Data;
use pia_identity::{
    AccessTokens, AccountRules, ApiKeyAuthenticator, ApiKeyRef, CallerCache, CallerState,
    ConsoleSessions, ConsoleSettings, KeyUse, MockAccountStore, MockApiKeyStore,
    MockRateLimitStore, MockScimTokenStore, MockSessionStarts, MockSessionStore, RateQuota,
    RefreshKeys, ScimTokens, SessionPorts, SessionProofs, SessionScope, SessionSettings, Sessions,
    SigningKeys, TokenNames,
};
use pia_kernel::{ApiKeyId, Clock, GroupId, LiveSetting, Secret, SessionId, Timestamp, UserId};
use pia_mcp::routes;
use pia_policy::{Feature, Licence, LicenceState};
use pia_testkit::FixedClock;
use pia_web::{Budgets, ConsoleCookie, Gates, Quotas, RouteTable, Runner};

use crate::fixture::{NOW, PUBLIC_URL};

/// API key of the account.
pub(crate) const API_KEY: &str = "pia_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Returns the gates, which admit a member of this group, with the end of the licence.
pub(crate) fn gates(group: GroupId, expires_at: Option<Timestamp>) -> Data<Gates> {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(NOW));
    let caller_cache = CallerCache::new(Arc::new(accounts(group)), Arc::clone(&clock));
    let keys = ApiKeyAuthenticator::new(api_keys(), caller_cache.clone(), Arc::clone(&clock));
    Data::new(Gates {
        table: RouteTable::new(routes()),
        tokens: tokens(&clock),
        keys,
        consoles: consoles(&caller_cache, &clock),
        proofs: SessionProofs::new(Arc::new(MockSessionStarts::new()), Arc::clone(&clock)),
        console_cookie: ConsoleCookie::from_public_url(PUBLIC_URL),
        scim_tokens: ScimTokens::new(Arc::new(MockScimTokenStore::new()), Arc::clone(&clock)),
        callers: caller_cache,
        budgets: Arc::new(budgets(&clock)),
        licence: LiveSetting::new(licence(expires_at)),
        setup_url: format!("{PUBLIC_URL}/admin/setup"),
        rules: LiveSetting::new(AccountRules::default()),
        metrics_token: LiveSetting::new(None),
        ingest_key: LiveSetting::new(None),
        clock,
        runner: Runner::on_current_runtime(),
    })
}

/// Returns the value of `Authorization` with an access token of a session.
pub(crate) fn session_token(gates: &Gates) -> String {
    let issued = gates.tokens.issue(UserId::generate(), SessionId::generate()).unwrap();
    format!("Bearer {}", issued.token.expose())
}

fn accounts(group: GroupId) -> MockAccountStore {
    let mut accounts = MockAccountStore::new();
    accounts.expect_caller_state().returning(move |user, session, _| {
        Ok(Some(CallerState { group, ..CallerState::new(user, session) }))
    });
    accounts.expect_key_state().returning(move |key, _| {
        let scope = SessionScope::Key(KeyUse { key: key.key, weekly_credits: 0 });
        let state = CallerState::new(key.user, SessionId::generate());
        Ok(Some(CallerState { group, scope, credential: key.into(), ..state }))
    });
    accounts
}

fn api_keys() -> Arc<MockApiKeyStore> {
    let mut keys = MockApiKeyStore::new();
    let key = ApiKeyRef { user: UserId::generate(), key: ApiKeyId::generate() };
    keys.expect_find().returning(move |_| Ok(Some(key)));
    keys.expect_record_use().returning(|_, _, _| Ok(()));
    Arc::new(keys)
}

fn budgets(clock: &Arc<dyn Clock>) -> Budgets {
    let quota = RateQuota { burst: 100, window: Duration::from_mins(1) };
    let quotas = Quotas {
        global: quota,
        auth: quota,
        local_auth: quota,
        sync: quota,
        ai: quota,
        feedback: quota,
        pod_uplink: quota,
        scim: quota,
    };
    Budgets::new(quotas, Arc::new(MockRateLimitStore::new()), Arc::clone(clock))
}

fn consoles(caller_cache: &CallerCache, clock: &Arc<dyn Clock>) -> ConsoleSessions {
    let ports = SessionPorts {
        store: Arc::new(MockSessionStore::new()),
        caller_cache: caller_cache.clone(),
        access_tokens: tokens(clock),
        refresh_keys: RefreshKeys::derive(&signing_keys()),
    };
    let settings = LiveSetting::new(SessionSettings::default());
    let sessions = Sessions::new(ports, settings, Arc::clone(clock));
    ConsoleSessions::new(sessions, tokens(clock), LiveSetting::new(ConsoleSettings::default()))
}

fn tokens(clock: &Arc<dyn Clock>) -> AccessTokens {
    let names = TokenNames { issuer: "i".to_owned(), audience: "a".to_owned() };
    let settings = LiveSetting::new(SessionSettings::default());
    AccessTokens::new(&signing_keys(), names, settings, Arc::clone(clock))
}

fn signing_keys() -> SigningKeys {
    let current = Secret::new("an example of thirty-two letters".to_owned());
    SigningKeys { current, previous: None }
}

fn licence(expires_at: Option<Timestamp>) -> LicenceState {
    LicenceState::Loaded(Licence {
        id: uuid::Uuid::nil(),
        edition: "Community".to_owned(),
        licensee: "A test".to_owned(),
        features: [Feature::Knowledge].into(),
        max_users: None,
        max_admins: None,
        issued_at: NOW,
        expires_at,
    })
}
