//! Verification of a provider's tokens.
//!
//! The `openidconnect` crate verifies signature, audience, nonce and expiry. Issuer,
//! tenant, authorized party and subject are verified here, because Microsoft's issuer
//! contains the tenant, which only the token names.

use std::time::Duration;

use openidconnect::core::CoreJwsSigningAlgorithm;
use openidconnect::{
    ClaimsVerificationError, ClientId, IdTokenVerifier, IssuerUrl, Nonce,
    SignatureVerificationError,
};
use pia_kernel::{Secret, Timestamp};

use crate::client::{Claims, SignedToken};
use crate::discovery::{DiscoveredProvider, TENANT_PLACEHOLDER};
use crate::settings::{IssuerRule, ProviderSettings};

/// Tolerated clock skew between servers.
const MAX_CLOCK_SKEW: Duration = Duration::from_mins(1);
/// Maximum length of a subject in bytes (OpenID Connect Core, 2).
const MAX_SUBJECT_BYTES: usize = 255;

/// Reasons for which a token is rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    /// Key is not among those that the provider published.
    #[error("its key is unknown")]
    UnknownKey,
    /// Signature, audience, nonce or expiry is wrong.
    #[error(transparent)]
    Claims(ClaimsVerificationError),
    /// Token is not valid yet.
    #[error("it isn't valid yet")]
    Early,
    /// Issuer does not match.
    #[error("its issuer is not the provider's")]
    Issuer,
    /// Tenant does not match.
    #[error("its tenant isn't the configured one")]
    Tenant,
    /// Authorized party does not match.
    #[error("it was issued to another client")]
    Party,
    /// Subject is empty, too long, or has control characters.
    #[error("its subject is empty, too long or has control characters")]
    Subject,
}

/// Verifies that a provider signed a token for this server, this sign-in and this time, and
/// returns its claims.
///
/// Only asymmetric signatures are accepted: a leaked client secret must not allow forging tokens.
pub(crate) fn verify<'a>(
    token: &'a SignedToken,
    settings: &ProviderSettings,
    discovered: &DiscoveredProvider,
    nonce: &Secret<String>,
    now: Timestamp,
) -> Result<&'a Claims, TokenError> {
    let issuer =
        IssuerUrl::new(settings.authority.clone()).map_err(|_no_url| TokenError::Issuer)?;
    let client = ClientId::new(settings.client_id.clone());
    let verifier = IdTokenVerifier::new_public_client(client, issuer, discovered.keys.clone())
        .set_allowed_algs([
            CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
            CoreJwsSigningAlgorithm::RsaSsaPssSha256,
            CoreJwsSigningAlgorithm::EcdsaP256Sha256,
        ])
        // Verified below, where its tenant is known.
        .require_issuer_match(false)
        // The time that expiry is compared with: a token may have expired a minute ago.
        .set_time_fn(move || (now - MAX_CLOCK_SKEW).into())
        .set_issue_time_verifier_fn(move |at| {
            let is_early = Timestamp::from(at) > now + MAX_CLOCK_SKEW;
            if is_early { Err("issued in the future".to_owned()) } else { Ok(()) }
        });

    let claims =
        token.claims(&verifier, &Nonce::new(nonce.expose().clone())).map_err(token_error)?;
    if !claims.additional_claims().nbf.is_none_or(|it| has_started(it, now)) {
        return Err(TokenError::Early);
    }
    if !has_published_issuer(claims, settings, discovered) {
        return Err(TokenError::Issuer);
    }
    if !settings.tenant.as_deref().is_none_or(|it| belongs_to_tenant(claims, it)) {
        return Err(TokenError::Tenant);
    }
    if claims.authorized_party().is_some_and(|it| **it != settings.client_id) {
        return Err(TokenError::Party);
    }

    let subject = claims.subject().as_str();
    if !(1..=MAX_SUBJECT_BYTES).contains(&subject.len()) || subject.chars().any(char::is_control) {
        return Err(TokenError::Subject);
    }

    Ok(claims)
}

/// Returns whether a token that is valid from this second on is valid now.
fn has_started(second: f64, now: Timestamp) -> bool {
    let max_start = Duration::from_micros((now + MAX_CLOCK_SKEW).micros().unsigned_abs());
    second <= max_start.as_secs_f64()
}

/// Returns whether the token's issuer is the one in the provider's metadata, with the token's
/// tenant in the place of the placeholder if any tenant is accepted.
fn has_published_issuer(
    claims: &Claims,
    settings: &ProviderSettings,
    discovered: &DiscoveredProvider,
) -> bool {
    let published_issuer = &discovered.metadata.issuer;
    let tenant = claims.additional_claims().tid.as_deref().filter(|it| is_tenant(it));
    match (settings.issuer, tenant) {
        (IssuerRule::AnyTenant, Some(tenant)) => {
            **claims.issuer() == published_issuer.replace(TENANT_PLACEHOLDER, tenant)
        }
        (IssuerRule::AnyTenant, None) => false,
        (IssuerRule::Exact, _) => **claims.issuer() == *published_issuer,
    }
}

/// Returns whether the token belongs to a tenant. Its `tid` claim takes
/// precedence; without one the issuer decides, if it contains the tenant as
/// Microsoft's issuers do.
fn belongs_to_tenant(claims: &Claims, tenant: &str) -> bool {
    match claims.additional_claims().tid.as_deref() {
        Some(tid) => tid.eq_ignore_ascii_case(tenant),
        None => claims.issuer().to_ascii_lowercase().split('/').any(|it| it == tenant),
    }
}

/// Returns whether a text is a GUID, which cannot change the structure of a URL.
fn is_tenant(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-')
}

fn token_error(err: ClaimsVerificationError) -> TokenError {
    match err {
        ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey,
        ) => TokenError::UnknownKey,
        err => TokenError::Claims(err),
    }
}
