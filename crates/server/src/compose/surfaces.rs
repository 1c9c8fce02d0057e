//! Services of the surfaces, and the gates before them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use pia_assistant::Credits;
use pia_console::{AccountPages, SetupPages};
use pia_http::{Api, BrowserRedirects};
use pia_kernel::Clock;
use pia_passwords::PoolSize;
use pia_web::{Budgets, ConcurrencyLimiter, Gates, RouteTable, Runner};

use super::infrastructure::Infrastructure;
use super::use_cases::UseCases;
use crate::bridges::PageAccounts;
use crate::readiness::FileChecks;
use pia_settings::LiveConfig;

/// Builds the services of the JSON API.
pub(super) fn api(
    config: &LiveConfig,
    (use_cases, credits): (UseCases, Credits),
    ground: &Infrastructure,
    (runner, clock): (&Runner, &Arc<dyn Clock>),
) -> Api {
    let UseCases {
        identity,
        passkeys,
        passkey_sign_in,
        provider_sign_in,
        lifecycle,
        syncing,
        chats,
        e2ee,
        people: _,
    } = use_cases;
    let readiness = FileChecks::new(ground.db.clone(), ground.licence.state(), Arc::clone(clock));
    Api {
        registration: identity.registration,
        sign_in: identity.sign_in,
        provider_sign_in,
        browsers: BrowserRedirects::from_public_url(config.latest().server.public_url.as_str()),
        sessions: identity.sessions,
        history: identity.history,
        accounts: identity.accounts,
        reauthenticator: identity.reauthenticator,
        second_factors: identity.second_factors,
        verification: identity.letters.verification,
        password_resets: identity.letters.resets,
        passwords: identity.letters.passwords,
        app_passwords: identity.app_passwords,
        api_keys: identity.keys.0,
        passkeys,
        passkey_sign_in,
        export: lifecycle.export,
        deletion: lifecycle.deletion,
        sync: syncing.api,
        chats,
        devices: e2ee.devices,
        recovery: e2ee.recovery,
        credits,
        readiness: Arc::new(readiness),
        openapi: config.follow(|it| it.open_api.enabled),
        runner: runner.clone(),
        sign_ins: sign_ins(config, runner),
    }
}

/// More are served than hash at once: while some wait for the database, no
/// thread shall wait for them.
fn sign_ins(config: &LiveConfig, runner: &Runner) -> ConcurrencyLimiter {
    const OF_A_THREAD: NonZeroUsize = NonZeroUsize::new(4).unwrap();
    let PoolSize { threads, waiting } = config.latest().password_hashing.size;
    let places = threads.saturating_mul(OF_A_THREAD);
    ConcurrencyLimiter::before(runner.clone(), places, threads.saturating_add(waiting.get()))
}

/// Builds the services of the set-up pages.
pub(super) fn console(
    use_cases: &UseCases,
    ground: &Infrastructure,
    runner: &Runner,
) -> SetupPages {
    SetupPages {
        licences: Arc::new(ground.setup.clone()),
        first_admin: use_cases.people.first_admin.clone(),
        runner: runner.clone(),
    }
}

/// Builds the services of the account pages.
pub(super) fn reception(
    config: &LiveConfig,
    use_cases: &UseCases,
    runner: &Runner,
) -> AccountPages {
    let accounts = PageAccounts {
        registration: use_cases.identity.registration.clone(),
        verification: use_cases.identity.letters.verification.clone(),
        resets: use_cases.identity.letters.resets.clone(),
        rules: config.follow(|it| it.local_auth.registration.clone()),
    };
    AccountPages {
        accounts: Arc::new(accounts),
        name: config.latest().server.name.clone(),
        public_url: config.latest().server.public_url.to_string(),
        runner: runner.clone(),
    }
}

/// Builds the gates.
pub(super) fn gates(
    config: &LiveConfig,
    use_cases: &UseCases,
    ground: &Infrastructure,
    (runner, clock): (&Runner, &Arc<dyn Clock>),
) -> Gates {
    let (start, identity) = (config.latest(), &use_cases.identity);
    let (quotas, attempts) = (start.rate_limits.quotas, Arc::clone(&identity.attempts));
    let budgets = Arc::new(Budgets::new(quotas, attempts, Arc::clone(clock)));
    let resized = Arc::clone(&budgets);
    config.on_change(move |it| resized.resize(it.rate_limits.quotas));
    let routes = pia_http::routes().into_iter().chain(pia_console::routes());
    Gates {
        table: RouteTable::new(routes.collect()),
        tokens: identity.tokens.clone(),
        callers: identity.standings.clone(),
        keys: identity.keys.1.clone(),
        budgets,
        licence: ground.licence.state(),
        setup_url: start.server.setup_url.clone(),
        rules: config.follow(|it| it.local_auth.accounts),
        metrics_token: config.follow(|it| it.metrics.token.clone()),
        clock: Arc::clone(clock),
        runner: runner.clone(),
    }
}
