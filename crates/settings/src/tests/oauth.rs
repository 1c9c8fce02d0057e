//! Tests of identity providers.

use pia_identity::Provider;
use pia_providers::{IssuerRule, ProviderSettings};

use super::*;

const TENANT: &str = "72F988BF-86f1-41af-91ab-2d7cd011db47";

fn provider(operator: &Operator, name: Provider) -> Option<ProviderSettings> {
    operator.read().oauth.providers.providers.get(&name).cloned()
}

#[test]
fn a_provider_with_a_client_id_is_enabled() {
    let operator = Operator::development()
        .variable("OAUTH_GOOGLE_CLIENT_ID", "google-id")
        .variable("OAUTH_GOOGLE_CLIENT_SECRET", "google-secret")
        .variable("OAuth__microsoft__ClientId", "microsoft-id");

    let google = provider(&operator, Provider::Google).unwrap();
    let microsoft = provider(&operator, Provider::Microsoft).unwrap();

    assert_eq!(google.client_id.as_str(), "google-id");
    assert_eq!(google.issuer, IssuerRule::Exact);
    assert!(google.client_secret.is_some_and(|it| it.ct_eq("google-secret")));
    assert_eq!(google.authority, "https://accounts.google.com");
    assert_eq!(google.scopes, ["openid", "email", "profile"]);
    assert_eq!(microsoft.authority, "https://login.microsoftonline.com/common/v2.0");
    assert_eq!(microsoft.issuer, IssuerRule::AnyTenant);
    assert!(!microsoft.trusts_email);
    assert!(microsoft.client_secret.is_none());
    for other in [Provider::EntraId, Provider::Oidc] {
        assert!(provider(&operator, other).is_none());
    }
}

#[test]
fn a_tenant_is_configured_by_its_id_and_trusted_with_addresses() {
    let operator = Operator::development()
        .variable("OAUTH_ENTRAID_CLIENT_ID", "id")
        .variable("OAuth__entraid__TenantId", TENANT);

    let tenant = provider(&operator, Provider::EntraId).unwrap();

    let authority = format!("https://login.microsoftonline.com/{}/v2.0", TENANT.to_lowercase());
    assert_eq!(tenant.authority, authority);
    assert_eq!(tenant.issuer, IssuerRule::Exact);
    assert_eq!(tenant.tenant, Some(TENANT.to_lowercase()));
    assert!(tenant.trusts_email);
}

#[test]
fn a_provider_without_an_authority_is_an_error() {
    for name in ["entraid", "oidc"] {
        let errors = Operator::development()
            .variable(&format!("OAuth__{name}__ClientId"), "id")
            .errors()
            .join("\n");

        assert!(errors.contains(&format!("OAuth:{name}:ClientId")), "{errors}");
        assert!(errors.contains("SVC-CFG-005"), "{errors}");
    }
}

#[test]
fn an_authority_without_tls_is_refused() {
    let is_refused = |value: &str| {
        let operator = Operator::development().variable("OAuth__oidc__Authority", value);
        operator.sources.load_config().is_err()
    };

    for valid in ["https://id.example", "https://id.example/realms/a/", "http://127.0.0.1:8080"] {
        assert!(!is_refused(valid), "{valid}");
    }
    for invalid in [
        "http://id.example",
        "http://localhost.evil.example",
        "https://user:password@id.example",
        "https://id.example/?a=b",
        "https://id.example/#a",
        "id.example",
        "ftp://localhost",
    ] {
        assert!(is_refused(invalid), "{invalid}");
    }
}

#[test]
fn invalid_values_are_refused_and_not_repeated() {
    for (key, value) in [
        ("OAuth__entraid__TenantId", "common"),
        ("OAuth__entraid__TenantId", "contoso.onmicrosoft.com"),
        ("OAuth__oidc__Scopes", "email profile"),
        ("OAuth__oidc__Scopes", "openid \"quoted\""),
        ("OAuth__google__TrustEmail", "perhaps"),
        ("OAuth__Timeout", "1h"),
    ] {
        let errors = Operator::development().variable(key, value).errors().join("\n");

        assert!(errors.contains("SVC-CFG-003") && !errors.contains(value), "{errors}");
    }
}

#[test]
fn scopes_are_separated_by_blanks_or_commas() {
    for (text, scopes) in
        [("openid,email", ["openid", "email"]), ("email  openid", ["email", "openid"])]
    {
        let operator = Operator::development()
            .variable("OAUTH_GOOGLE_CLIENT_ID", "id")
            .variable("OAuth__google__Scopes", text);

        assert_eq!(provider(&operator, Provider::Google).unwrap().scopes, scopes);
    }
}

#[test]
fn a_secret_without_a_client_id_has_a_notice_and_is_not_repeated() {
    let operator = Operator::development().variable("OAUTH_OIDC_CLIENT_SECRET", "the-oidc-secret");

    let notices = operator.notices().join("\n");

    assert!(notices.contains("OAuth:oidc:ClientSecret"), "{notices}");
    assert!(!format!("{notices}{:?}", operator.read()).contains("the-oidc-secret"));
}
