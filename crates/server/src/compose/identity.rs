//! Identity's use cases over their adapters.

use std::sync::Arc;

use pia_identity::{
    AccessTokens, AccountStore, Accounts, ApiKeyAuthenticator, ApiKeyStore, ApiKeys,
    AppPasswordStore, AppPasswords, CallerCache, FactorChallenges, FactorPorts, FactorSettings,
    PasswordHasher, PasswordThrottleStore, RateLimitStore, Reauthenticator, RefreshKeys,
    Registration, RegistrationPorts, Seats, SecondFactors, Sessions, SignIn, SignInHistory,
    SignInLog, SignInPorts,
};
use pia_kernel::{Clock, LiveSetting};
use pia_passwords::Argon2Hasher;
use pia_sealing::Sealer;
use pia_storage::Database;
use pia_storage_identity::{
    SqlAccounts, SqlApiKeys, SqlAppPasswords, SqlChallenges, SqlFactors, SqlPasswordThrottleStore,
    SqlRateLimitStore, SqlSessionStarts, SqlSessions, SqlSignIns,
};

use super::ComposeError;
use super::letters::EmailServices;
use crate::bridges::SealedSecrets;
use crate::licence::{LicenceFile, LicenceSeats};
use pia_settings::LiveConfig;

/// Identity's use cases over their adapters.
pub(super) struct Identity {
    pub(super) tokens: AccessTokens,
    pub(super) standings: CallerCache,
    pub(super) sessions: Sessions,
    pub(super) sign_in: SignIn,
    pub(super) history: SignInHistory,
    pub(super) registration: Registration,
    pub(super) accounts: Accounts,
    pub(super) reauthenticator: Reauthenticator,
    pub(super) second_factors: SecondFactors,
    pub(super) app_passwords: AppPasswords,
    pub(super) keys: (ApiKeys, ApiKeyAuthenticator),
    pub(super) challenges: FactorChallenges,
    pub(super) letters: EmailServices,
    pub(super) attempts: Arc<dyn RateLimitStore>,
    pub(super) guesses: Arc<dyn PasswordThrottleStore>,
    pub(super) hasher: Arc<dyn PasswordHasher>,
    pub(super) seats: Arc<dyn Seats>,
    pub(super) factors: (FactorPorts, LiveSetting<FactorSettings>),
    pub(super) log: Arc<dyn SignInLog>,
}

impl Identity {
    pub(super) fn compose(
        config: &LiveConfig,
        db: &Database,
        (licence, sealer): (&LicenceFile, Sealer),
        mail: &LiveSetting<bool>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ComposeError> {
        let (main_clock, clock) = (clock, || Arc::clone(clock));
        let accounts: Arc<dyn AccountStore> = Arc::new(SqlAccounts::new(db.clone()));
        let attempts: Arc<dyn RateLimitStore> = Arc::new(SqlRateLimitStore::new(db.clone()));
        let guesses = Arc::new(SqlPasswordThrottleStore::new(db.clone()));
        let guesses: Arc<dyn PasswordThrottleStore> = guesses;
        let app_passwords: Arc<dyn AppPasswordStore> = Arc::new(SqlAppPasswords::new(db.clone()));
        let log: Arc<dyn SignInLog> = Arc::new(SqlSignIns::new(db.clone()));
        let hasher = hasher(config)?;
        let standings = CallerCache::new(Arc::clone(&accounts), clock());
        let (tokens, sessions) = sessions(config, db, &standings, main_clock);
        let factors = factor_ports(db, sealer, (&accounts, &attempts), Arc::clone(&hasher) as _);
        let proofs = LiveSetting::new(factor_settings(config));
        let letters = EmailServices::compose(
            (config, db),
            mail,
            (&factors, &proofs),
            (&standings, &guesses),
            main_clock,
        );
        let sign_in = SignInPorts {
            accounts: Arc::clone(&accounts),
            app_passwords: Arc::clone(&app_passwords),
            guesses: Arc::clone(&guesses),
            hasher: Arc::clone(&hasher) as _,
            log: Arc::clone(&log),
            verification: letters.verification.clone(),
        };
        let seats: Arc<dyn Seats> = Arc::new(LicenceSeats::new(licence.state(), clock()));
        let registration = RegistrationPorts {
            accounts: Arc::clone(&accounts),
            hasher: Arc::clone(&hasher) as _,
            seats: Arc::clone(&seats),
            verification: letters.verification.clone(),
        };
        let rules = config.follow(|it| it.local_auth.registration.clone());
        let challenges = challenges((db, &guesses), &factors, &proofs, clock());
        let (gates, live) = (standings.clone(), proofs.clone());
        let app_passwords = AppPasswords::new(app_passwords, factors.clone(), gates, live, clock());
        Ok(Self {
            keys: keys(db, (&factors, &proofs), &standings, main_clock),
            app_passwords,
            factors: (factors.clone(), proofs.clone()),
            log: Arc::clone(&log),
            reauthenticator: Reauthenticator::new(factors.clone(), proofs.clone(), clock()),
            second_factors: SecondFactors::new(factors, standings.clone(), proofs, clock()),
            sign_in: SignIn::new(sign_in, sessions.clone(), challenges.clone(), clock()),
            history: SignInHistory::new(log, clock()),
            challenges,
            letters,
            registration: Registration::new(registration, rules, clock()),
            accounts: Accounts::new(accounts, standings.clone(), clock()),
            tokens,
            standings,
            sessions,
            attempts,
            guesses,
            hasher,
            seats,
        })
    }
}

fn hasher(config: &LiveConfig) -> Result<Arc<Argon2Hasher>, ComposeError> {
    let cost = config.follow(|it| it.password_hashing.cost);
    Ok(Arc::new(Argon2Hasher::new(cost, config.latest().password_hashing.size)?))
}

/// Sessions, and the tokens by which their holders are known.
fn sessions(
    config: &LiveConfig,
    db: &Database,
    standings: &CallerCache,
    clock: &Arc<dyn Clock>,
) -> (AccessTokens, Sessions) {
    let (start, settings) = (config.latest(), config.follow(|it| it.jwt.sessions));
    let (keys, names) = (&start.jwt.keys, start.jwt.names.clone());
    let tokens = AccessTokens::new(keys, names, settings.clone(), Arc::clone(clock));
    let sessions = Sessions::new(
        Arc::new(SqlSessions::new(db.clone())),
        standings.clone(),
        (tokens.clone(), RefreshKeys::derive(keys)),
        settings,
        Arc::clone(clock),
    );
    (tokens, sessions)
}

fn keys(
    db: &Database,
    (factors, proofs): (&FactorPorts, &LiveSetting<FactorSettings>),
    standings: &CallerCache,
    clock: &Arc<dyn Clock>,
) -> (ApiKeys, ApiKeyAuthenticator) {
    let store: Arc<dyn ApiKeyStore> = Arc::new(SqlApiKeys::new(db.clone()));
    let (gates, live) = (standings.clone(), proofs.clone());
    let callers = ApiKeyAuthenticator::new(Arc::clone(&store), gates.clone(), Arc::clone(clock));
    (ApiKeys::new(store, factors.clone(), gates, live, Arc::clone(clock)), callers)
}

fn factor_ports(
    db: &Database,
    sealer: Sealer,
    (accounts, attempts): (&Arc<dyn AccountStore>, &Arc<dyn RateLimitStore>),
    hasher: Arc<dyn PasswordHasher>,
) -> FactorPorts {
    FactorPorts {
        accounts: Arc::clone(accounts),
        factors: Arc::new(SqlFactors::new(db.clone())),
        attempts: Arc::clone(attempts),
        hasher,
        secrets: Arc::new(SealedSecrets(sealer)),
        starts: Arc::new(SqlSessionStarts::new(db.clone())),
    }
}

/// The settings of second factors, which authenticator apps show under the
/// server's name.
fn factor_settings(config: &LiveConfig) -> FactorSettings {
    let issuer = config.latest().server.name.clone();
    FactorSettings { issuer, ..FactorSettings::default() }
}

fn challenges(
    (db, guesses): (&Database, &Arc<dyn PasswordThrottleStore>),
    factors: &FactorPorts,
    settings: &LiveSetting<FactorSettings>,
    clock: Arc<dyn Clock>,
) -> FactorChallenges {
    let store = Arc::new(SqlChallenges::new(db.clone()));
    let proofs = (factors.clone(), settings.clone());
    FactorChallenges::new(store, Arc::clone(guesses), proofs, clock)
}
