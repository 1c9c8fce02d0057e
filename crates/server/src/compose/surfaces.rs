//! Services of the surfaces, and the gates before them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use pia_assistant::{Credits, UsageReport};
use pia_console::{AccountPages, SetupPages};
use pia_http::{Api, AssignmentsApi, BrowserRedirects, KnowledgeApi};
use pia_identity::ApiKeyAuthenticator;
use pia_knowledge::Retrieval;
use pia_mcp::Mcp;
use pia_passwords::PoolSize;
use pia_pods::{Connectors, ToolPlane};
use pia_policy::Groups;
use pia_scim::Scim;
use pia_storage_assistant::SqlUsageSums;
use pia_web::{Budgets, ConcurrencyLimiter, ConsoleCookie, Gates, RouteTable, Runner};

use super::infrastructure::Infrastructure;
use super::operations::OperationParts;
use super::use_cases::UseCases;
use crate::bridges::PageAccounts;
use crate::host::Host;
use crate::readiness::ReadinessChecks;

/// Use cases of the JSON API.
pub(super) struct ApiParts {
    pub(super) use_cases: UseCases,
    pub(super) groups: Groups,
    pub(super) credits: Credits,
    pub(super) operation: OperationParts,
    pub(super) knowledge: KnowledgeApi,
    pub(super) assignments: AssignmentsApi,
    pub(super) connectors: Connectors,
    pub(super) tools: ToolPlane,
}

/// Builds the services of the JSON API.
pub(super) fn api(base: &Infrastructure<'_>, parts: ApiParts, runner: &Runner) -> Api {
    let UseCases {
        identity,
        administration,
        sync,
        chats,
        e2ee,
        client_policies,
        personas,
        plugins,
        certificates,
        feedback,
        settings,
        provisioning,
        lifecycle,
        ..
    } = parts.use_cases;

    let readiness = ReadinessChecks::new(base.db.clone(), base.licence.state(), base.clock());
    Api {
        identity,
        administration,
        browsers: BrowserRedirects::from_public_url(&base.public_url()),
        sync,
        chats,
        e2ee,
        client_policies,
        groups: parts.groups,
        personas,
        plugins,
        certificates,
        audit: lifecycle.audit,
        audit_retention: lifecycle.audit_retention,
        clock: base.clock(),
        feedback,
        licences: parts.operation.licences,
        settings,
        scim_tokens: provisioning.tokens,
        credits: parts.credits,
        usage: UsageReport::new(Arc::new(SqlUsageSums::new(base.db.clone())), base.clock()),
        models: parts.operation.models,
        mails: parts.operation.mails,
        maintenance: parts.operation.maintenance,
        knowledge: parts.knowledge,
        assignments: parts.assignments,
        connectors: parts.connectors,
        tools: parts.tools,
        readiness: Arc::new(readiness),
        host: Arc::new(Host::new(&base.config.latest(), base.certificate.clone())),
        openapi: base.config.follow(|it| it.open_api.enabled),
        runner: runner.clone(),
        sign_ins: sign_ins(base, runner),
    }
}

/// Builds the limiter of sign-ins. It admits more than hash at once, so that
/// no thread idles while some wait for the database.
fn sign_ins(base: &Infrastructure<'_>, runner: &Runner) -> ConcurrencyLimiter {
    const PER_THREAD: NonZeroUsize = NonZeroUsize::new(4).unwrap();
    let PoolSize { threads, waiting } = base.config.latest().password_hashing.size;
    let permits = threads.saturating_mul(PER_THREAD);
    ConcurrencyLimiter::new(runner.clone(), permits, threads.saturating_add(waiting.get()))
}

/// Builds the services of the Model Context Protocol.
pub(super) fn mcp(
    base: &Infrastructure<'_>,
    knowledge: &KnowledgeApi,
    retrieval: Option<Retrieval>,
    runner: &Runner,
) -> Mcp {
    Mcp {
        retrieval,
        documents: knowledge.documents.clone(),
        public_url: base.public_url().into(),
        runner: runner.clone(),
    }
}

/// Builds the services of SCIM.
pub(super) fn scim(
    base: &Infrastructure<'_>,
    use_cases: &UseCases,
    groups: Groups,
    runner: &Runner,
) -> Scim {
    Scim {
        users: use_cases.provisioning.users.clone(),
        groups,
        public_url: base.public_url().into(),
        runner: runner.clone(),
    }
}

/// Builds the services of the setup pages.
pub(super) fn setup_pages(
    base: &Infrastructure<'_>,
    use_cases: &UseCases,
    runner: &Runner,
) -> SetupPages {
    SetupPages {
        licences: Arc::new(base.setup.clone()),
        first_admin: use_cases.identity.first_admin.clone(),
        runner: runner.clone(),
    }
}

/// Builds the services of the account pages.
pub(super) fn account_pages(
    base: &Infrastructure<'_>,
    use_cases: &UseCases,
    runner: &Runner,
) -> AccountPages {
    let accounts = PageAccounts {
        identity: use_cases.identity.clone(),
        rules: base.config.follow(|it| it.local_auth.registration.clone()),
    };

    AccountPages {
        accounts: Arc::new(accounts),
        name: base.config.latest().server.name.clone(),
        providers: base.config.latest().oauth.providers.providers.keys().copied().collect(),
        has_passkeys: use_cases.identity.passkey_sign_in.is_available(),
        public_url: base.config.latest().server.public_url.to_string(),
        locations: base.locations.clone(),
        runner: runner.clone(),
    }
}

/// Builds the gates that every request passes before its handler.
pub(super) fn gates(base: &Infrastructure<'_>, use_cases: &UseCases, runner: &Runner) -> Gates {
    let parts = &use_cases.identity_parts;
    let config = base.config;
    let start = base.config.latest();
    let quotas = start.rate_limits.quotas;
    let attempts = Arc::clone(&parts.proofs.ports.attempts);
    let budgets = Arc::new(Budgets::new(quotas, attempts, base.clock()));
    let resized = Arc::clone(&budgets);
    config.on_change(move |it| resized.resize(it.rate_limits.quotas));

    let keys = Arc::clone(&parts.api_keys);
    let callers = parts.callers.clone();

    Gates {
        table: RouteTable::new(crate::routes()),
        tokens: parts.tokens.clone(),
        keys: ApiKeyAuthenticator::new(keys, callers.clone(), base.clock()),
        consoles: parts.consoles.clone(),
        scim_tokens: use_cases.provisioning.tokens.clone(),
        proofs: parts.proofs.sessions(),
        console_cookie: ConsoleCookie::from_public_url(&base.public_url()),
        callers,
        budgets,
        licence: base.licence.state(),
        setup_url: start.server.setup_url.clone(),
        rules: config.follow(|it| it.local_auth.accounts),
        metrics_token: config.follow(|it| it.metrics.token.clone()),
        ingest_key: config.follow(|it| it.knowledge.ingest_key.clone()),
        clock: base.clock(),
        runner: runner.clone(),
    }
}
