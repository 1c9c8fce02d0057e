//! Routes of accounts, sign-in and sessions.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth;

pub(super) fn routes() -> Vec<Route> {
    vec![
        register(),
        hosted_register(),
        login(),
        hosted_login(),
        refresh(),
        logout(),
        me(),
        sessions(),
        // Before the route with an id, whose pattern would match it.
        revoke_others(),
        revoke_session(),
        login_history(),
        business_profile(),
    ]
}

fn register() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/register",
        access: Access::Anonymous,
        licensing: Licensing::InForce,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Address,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::register),
        docs: Docs {
            tag: "auth",
            summary: "Creates an account with a password. Doesn't sign in.",
            request: Some(wire::<auth::RegisterRequest>),
            answer: ResponseDoc::Json(wire::<auth::RegisterResponse>),
            refusals: &[
                (403, "`registration_closed`, or all seats are taken: `user_limit_reached`."),
                (
                    409,
                    "An account has this email address: `email_exists`. Not reported where \
                     addresses are verified.",
                ),
            ],
        },
    }
}

fn hosted_register() -> Route {
    let summary = "Alias of `/auth/register`.";
    let route = register();
    Route { path: "/api/auth/register", docs: Docs { summary, ..route.docs }, ..route }
}

fn login() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/login/local",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Address,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::LocalAuth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::login),
        docs: Docs {
            tag: "auth",
            summary: "Signs in with a password.",
            request: Some(wire::<auth::LoginRequest>),
            answer: ResponseDoc::Json(wire::<auth::SignInResponse>),
            refusals: &[
                (
                    401,
                    "Wrong email address or password: `invalid_credentials`. Or a second factor \
                     is required: `mfa_required`, with `mfaToken` and `methods`.",
                ),
                (403, "The email address isn't verified yet: `email_not_verified`."),
            ],
        },
    }
}

fn hosted_login() -> Route {
    let summary = "Alias of `/auth/login/local`.";
    let route = login();
    Route { path: "/api/auth/login", docs: Docs { summary, ..route.docs }, ..route }
}

fn refresh() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/refresh",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Address,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::InHandler(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::refresh),
        docs: Docs {
            tag: "auth",
            summary: "Exchanges a refresh token for a new pair of tokens.",
            request: Some(wire::<auth::RefreshRequest>),
            answer: ResponseDoc::Json(wire::<auth::RefreshResponse>),
            refusals: &[(401, "The token is invalid or expired: `invalid_refresh_token`.")],
        },
    }
}

fn logout() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/logout",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Address,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::InHandler(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::logout),
        docs: Docs {
            tag: "auth",
            summary: "Ends the session of a refresh token.",
            request: Some(wire::<auth::LogoutRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[],
        },
    }
}

fn me() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/me",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        body_limit: 0,
        handler: |route| route.to(auth::me),
        docs: Docs {
            tag: "auth",
            summary: "Returns the caller's account.",
            request: None,
            answer: ResponseDoc::Json(wire::<auth::MeResponse>),
            refusals: &[],
        },
    }
}

fn sessions() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/sessions",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(auth::sessions),
        docs: Docs {
            tag: "auth",
            summary: "Lists the caller's sessions.",
            request: None,
            answer: ResponseDoc::Page(wire::<auth::SessionsResponse>),
            refusals: &[],
        },
    }
}

fn revoke_session() -> Route {
    Route {
        method: Method::DELETE,
        path: "/auth/sessions/{sessionId}",
        access: Access::Owner,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        // Not read: some clients send an empty object with every request.
        body_limit: KIB,
        handler: |route| route.to(auth::revoke_session),
        docs: Docs {
            tag: "auth",
            summary: "Ends one of the caller's sessions.",
            request: None,
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[(404, "The caller has no such session: `not_found`.")],
        },
    }
}

fn revoke_others() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/sessions/revoke-others",
        handler: |route| route.to(auth::revoke_others),
        docs: Docs {
            tag: "auth",
            summary: "Ends all other sessions of the caller.",
            request: None,
            answer: ResponseDoc::Json(wire::<auth::RevokedResponse>),
            refusals: &[],
        },
        ..revoke_session()
    }
}

fn login_history() -> Route {
    Route {
        path: "/auth/login-history",
        handler: |route| route.to(auth::login_history),
        docs: Docs {
            tag: "auth",
            summary: "Lists the sign-in attempts of the caller's account, newest first.",
            request: None,
            answer: ResponseDoc::Page(wire::<auth::LoginHistoryResponse>),
            refusals: &[],
        },
        ..sessions()
    }
}

fn business_profile() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/business-profile",
        access: Access::Bearer,
        licensing: Licensing::InForce,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Auth),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::declare),
        docs: Docs {
            tag: "auth",
            summary: "Declares that the caller uses the service as a business.",
            request: Some(wire::<auth::BusinessProfileRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[],
        },
    }
}
