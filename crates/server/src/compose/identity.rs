//! Identity's use cases over their adapters.
//!
//! `IdentityParts` holds what several use cases share, above all one `CallerCache`:
//! a second one would not notice invalidations. `compose` builds `Identity` from
//! them.

use std::sync::Arc;

use pia_identity::{
    AccessTokens, AccountDeletion, AccountExport, AccountStore, Accounts, ApiKeyStore, ApiKeys,
    AppPasswordStore, AppPasswords, BrowserSignIn, CallerCache, ConsoleSessions, FactorChallenges,
    FactorPorts, FactorProofs, FactorSettings, FirstAdmin, FirstAdminPorts, Identity,
    PasswordThrottleStore, RateLimitStore, Reauthenticator, RefreshKeys, Registration,
    RegistrationPorts, Seats, SecondFactors, SessionPorts, Sessions, SignIn, SignInHistory,
    SignInLog, SignInPorts, TokenNames, Verification,
};
use pia_kernel::{Eraser, LiveSetting};
use pia_passwords::Argon2Hasher;
use pia_storage_identity::{
    SqlAccounts, SqlApiKeys, SqlAppPasswords, SqlChallenges, SqlFactors, SqlFirstAdmin,
    SqlPasswordThrottleStore, SqlRateLimitStore, SqlSessionStarts, SqlSessions, SqlSignIns,
};
use pia_storage_lifecycle::SqlPersonalData;

use super::infrastructure::Infrastructure;
use super::{ComposeError, emails, passkeys, providers};
use crate::bridges::SealedSecrets;
use crate::licence::LicenceSeats;

/// Parts that several use cases of identity share.
pub(super) struct IdentityParts {
    pub(super) proofs: FactorProofs,
    pub(super) throttle: Arc<dyn PasswordThrottleStore>,
    pub(super) log: Arc<dyn SignInLog>,
    pub(super) seats: Arc<dyn Seats>,
    pub(super) callers: CallerCache,
    pub(super) tokens: AccessTokens,
    pub(super) sessions: Sessions,
    pub(super) consoles: ConsoleSessions,
    pub(super) challenges: FactorChallenges,
    pub(super) api_keys: Arc<dyn ApiKeyStore>,
    app_passwords: Arc<dyn AppPasswordStore>,
}

impl IdentityParts {
    pub(super) fn compose(base: &Infrastructure<'_>) -> Result<Self, ComposeError> {
        let db = &base.db;
        let proofs = factor_proofs(base)?;
        let callers = CallerCache::new(Arc::clone(&proofs.ports.accounts), base.clock());
        let (tokens, sessions) = sessions(base, &callers);
        let throttle: Arc<dyn PasswordThrottleStore> =
            Arc::new(SqlPasswordThrottleStore::new(db.clone()));
        let challenges = FactorChallenges::new(
            Arc::new(SqlChallenges::new(db.clone())),
            Arc::clone(&throttle),
            proofs.clone(),
        );

        Ok(Self {
            proofs,
            throttle,
            log: Arc::new(SqlSignIns::new(db.clone())),
            seats: Arc::new(LicenceSeats::new(base.licence.state(), base.clock())),
            callers,
            tokens,
            consoles: consoles(base, &sessions),
            sessions,
            challenges,
            api_keys: Arc::new(SqlApiKeys::new(db.clone())),
            app_passwords: Arc::new(SqlAppPasswords::new(db.clone())),
        })
    }
}

/// Composes identity's use cases; `eraser` erases accounts in all domains.
pub(super) fn compose(
    base: &Infrastructure<'_>,
    parts: &IdentityParts,
    eraser: &Arc<dyn Eraser>,
) -> Result<Identity, ComposeError> {
    let proofs = &parts.proofs;
    let callers = &parts.callers;

    let verification = emails::verification(base, parts);
    let (password_resets, passwords) = emails::passwords(base, parts);
    let (passkeys, passkey_sign_in) = passkeys::compose(base, parts);

    let reauthenticator = Reauthenticator::new(proofs.clone());
    let api_keys = Arc::clone(&parts.api_keys);
    let app_passwords = Arc::clone(&parts.app_passwords);
    let data = SqlPersonalData::new(base.db.clone(), base.sealer.clone());
    let accounts = Arc::clone(&proofs.ports.accounts);
    let sign_in = compose_sign_in(base, parts, &verification);
    let provider_sign_in = providers::compose(base, parts)?;

    Ok(Identity {
        browser_sign_in: BrowserSignIn::new(
            sign_in.clone(),
            passkey_sign_in.clone(),
            provider_sign_in.clone(),
            parts.consoles.clone(),
        ),
        consoles: parts.consoles.clone(),
        accounts: Accounts::new(accounts, callers.clone(), base.clock()),
        address_changes: emails::address_changes(base, parts),
        api_keys: ApiKeys::new(api_keys, proofs.clone(), callers.clone()),
        app_passwords: AppPasswords::new(app_passwords, proofs.clone(), callers.clone()),
        deletion: AccountDeletion::new(
            reauthenticator.clone(),
            Arc::clone(eraser),
            callers.clone(),
        ),
        export: AccountExport::new(Arc::new(data), base.clock()),
        first_admin: first_admin(base, parts),
        history: SignInHistory::new(Arc::clone(&parts.log), base.clock()),
        passkey_sign_in,
        passkeys,
        password_resets,
        passwords,
        provider_sign_in,
        reauthenticator,
        registration: registration(base, parts, &verification),
        second_factors: SecondFactors::new(proofs.clone(), callers.clone()),
        sessions: parts.sessions.clone(),
        sign_in,
        verification,
    })
}

fn factor_proofs(base: &Infrastructure<'_>) -> Result<FactorProofs, ComposeError> {
    let config = base.config;
    let db = &base.db;
    let cost = config.follow(|it| it.password_hashing.cost);
    let hasher = Argon2Hasher::new(cost, config.latest().password_hashing.size)?;
    let accounts: Arc<dyn AccountStore> = Arc::new(SqlAccounts::new(db.clone()));
    let attempts: Arc<dyn RateLimitStore> = Arc::new(SqlRateLimitStore::new(db.clone()));
    let ports = FactorPorts {
        accounts,
        factors: Arc::new(SqlFactors::new(db.clone())),
        attempts,
        hasher: Arc::new(hasher),
        secrets: Arc::new(SealedSecrets(base.sealer.clone())),
        starts: Arc::new(SqlSessionStarts::new(db.clone())),
    };

    // Authenticator apps display the issuer.
    let issuer = config.latest().server.name.clone();
    let settings = LiveSetting::new(FactorSettings { issuer, ..FactorSettings::default() });

    Ok(FactorProofs { ports, settings, clock: base.clock() })
}

/// Composes sessions and their access tokens.
fn sessions(base: &Infrastructure<'_>, callers: &CallerCache) -> (AccessTokens, Sessions) {
    let start = base.config.latest();
    let settings = base.config.follow(|it| it.jwt.sessions);
    let keys = &start.jwt.keys;
    let names = start.jwt.names.clone();
    let tokens = AccessTokens::new(keys, names, settings.clone(), base.clock());
    let ports = SessionPorts {
        store: Arc::new(SqlSessions::new(base.db.clone())),
        caller_cache: callers.clone(),
        access_tokens: tokens.clone(),
        refresh_keys: RefreshKeys::derive(keys),
    };
    let sessions = Sessions::new(ports, settings, base.clock());

    (tokens, sessions)
}

/// Composes the sessions of the console, whose cookies are tokens for a
/// separate audience.
fn consoles(base: &Infrastructure<'_>, sessions: &Sessions) -> ConsoleSessions {
    let start = base.config.latest();
    let TokenNames { issuer, audience } = start.jwt.names.clone();
    let names = TokenNames { issuer, audience: format!("{audience}/console") };
    let lifetimes = base.config.follow(|it| it.jwt.sessions);
    let tokens = AccessTokens::new(&start.jwt.keys, names, lifetimes, base.clock());
    ConsoleSessions::new(sessions.clone(), tokens, base.config.follow(|it| it.admin))
}

fn compose_sign_in(
    base: &Infrastructure<'_>,
    parts: &IdentityParts,
    verification: &Verification,
) -> SignIn {
    let ports = SignInPorts {
        accounts: Arc::clone(&parts.proofs.ports.accounts),
        app_passwords: Arc::clone(&parts.app_passwords),
        throttle: Arc::clone(&parts.throttle),
        hasher: Arc::clone(&parts.proofs.ports.hasher),
        log: Arc::clone(&parts.log),
        verification: verification.clone(),
    };
    SignIn::new(ports, parts.sessions.clone(), parts.challenges.clone(), base.clock())
}

fn registration(
    base: &Infrastructure<'_>,
    parts: &IdentityParts,
    verification: &Verification,
) -> Registration {
    let ports = RegistrationPorts {
        accounts: Arc::clone(&parts.proofs.ports.accounts),
        hasher: Arc::clone(&parts.proofs.ports.hasher),
        seats: Arc::clone(&parts.seats),
        verification: verification.clone(),
    };
    let rules = base.config.follow(|it| it.local_auth.registration.clone());
    Registration::new(ports, rules, base.clock())
}

fn first_admin(base: &Infrastructure<'_>, parts: &IdentityParts) -> FirstAdmin {
    let ports = FirstAdminPorts {
        store: Arc::new(SqlFirstAdmin::new(base.db.clone())),
        hasher: Arc::clone(&parts.proofs.ports.hasher),
        seats: Arc::clone(&parts.seats),
        token: Arc::new(base.setup.clone()),
    };
    let rules = base.config.follow(|it| it.local_auth.registration.clone());
    FirstAdmin::new(ports, rules, base.clock())
}
