//! Gates that know no account.

use std::sync::Arc;
use std::time::Duration;

use pia_identity::{
    AccessTokens, AccountRules, ApiKeyAuthenticator, CallerCache, ConsoleSessions, ConsoleSettings,
    MockAccountStore, MockApiKeyStore, MockRateLimitStore, MockScimTokenStore, MockSessionStarts,
    MockSessionStore, RateQuota, RefreshKeys, ScimTokens, SessionPorts, SessionProofs,
    SessionSettings, Sessions, SigningKeys, TokenNames,
};
use pia_kernel::{Clock, LiveSetting, Secret, Timestamp};
use pia_policy::{Licence, LicenceState};
use pia_testkit::FixedClock;
use pia_web::{Budgets, ConsoleCookie, Gates, Quotas, RouteTable, Runner};

pub(crate) const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const PUBLIC_URL: &str = "https://pia.example";

/// Returns the gates of these routes, whose rate limits nobody reaches.
pub(crate) fn gates(table: RouteTable) -> Gates {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(NOW));
    let callers = CallerCache::new(Arc::new(MockAccountStore::new()), Arc::clone(&clock));
    let keys = Arc::new(MockApiKeyStore::new());
    Gates {
        table,
        tokens: tokens(&clock),
        keys: ApiKeyAuthenticator::new(keys, callers.clone(), Arc::clone(&clock)),
        consoles: consoles(&callers, &clock),
        proofs: SessionProofs::new(Arc::new(MockSessionStarts::new()), Arc::clone(&clock)),
        console_cookie: ConsoleCookie::from_public_url(PUBLIC_URL),
        scim_tokens: ScimTokens::new(Arc::new(MockScimTokenStore::new()), Arc::clone(&clock)),
        callers,
        budgets: Arc::new(budgets(&clock)),
        licence: LiveSetting::new(licence()),
        setup_url: format!("{PUBLIC_URL}/admin/setup"),
        rules: LiveSetting::new(AccountRules::default()),
        metrics_token: LiveSetting::new(None),
        ingest_key: LiveSetting::new(None),
        clock,
        runner: Runner::on_current_runtime(),
    }
}

fn budgets(clock: &Arc<dyn Clock>) -> Budgets {
    let quota = RateQuota { burst: 100_000_000, window: Duration::from_mins(1) };
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

fn consoles(callers: &CallerCache, clock: &Arc<dyn Clock>) -> ConsoleSessions {
    let ports = SessionPorts {
        store: Arc::new(MockSessionStore::new()),
        caller_cache: callers.clone(),
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

fn licence() -> LicenceState {
    LicenceState::Loaded(Licence {
        id: uuid::Uuid::nil(),
        edition: "Community".to_owned(),
        licensee: "A test".to_owned(),
        features: [].into(),
        max_users: None,
        max_admins: None,
        issued_at: NOW,
        expires_at: None,
    })
}
