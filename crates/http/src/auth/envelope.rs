//! Response of every sign-in.

use pia_identity::{Account, SignedIn};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignInResponse {
    /// JWT.
    access_token: String,
    /// Refresh token, which can be used once.
    refresh_token: String,
    /// Lifetime of the access token in seconds.
    expires_in: u64,
    user: EnvelopeUser,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EnvelopeUser {
    /// GUID that never changes.
    id: String,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    /// Identity provider of the account: `local` for a password.
    provider: String,
    /// True if the account must declare whether it is a business before it can use
    /// routes other than `/auth/`.
    requires_business_profile: bool,
}

impl SignInResponse {
    pub(crate) fn new(signed_in: SignedIn, requires_business_profile: bool) -> Self {
        let SignedIn { account, grant } = signed_in;
        Self {
            access_token: grant.access.expose().clone(),
            refresh_token: grant.refresh.expose().clone(),
            expires_in: grant.expires_in.as_secs(),
            user: EnvelopeUser::new(account, requires_business_profile),
        }
    }
}

impl EnvelopeUser {
    fn new(account: Account, requires_business_profile: bool) -> Self {
        Self {
            id: account.user.to_string(),
            email: account.email,
            display_name: account.display_name,
            provider: account.provider,
            requires_business_profile,
        }
    }
}
