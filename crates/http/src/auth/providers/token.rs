//! `POST /auth/token`: the tokens of a sign-in that happened in a browser.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, FromDevice, Gates};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::TokenEnvelope;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenRequest {
    /// The one-time code from the redirect.
    #[schema(value_type = Option<String>)]
    code: Option<Secret<String>>,
    /// What the challenge was made of.
    #[schema(value_type = Option<String>)]
    code_verifier: Option<Secret<String>>,
}

/// A key that is missing is answered as one that is wrong, and burns the code
/// as that does.
pub(crate) async fn token(
    api: Data<Api>,
    gates: Data<Gates>,
    FromDevice(device): FromDevice,
    Body(request): Body<TokenRequest>,
) -> Result<Json<TokenEnvelope>, ApiError> {
    let given = |it: Option<Secret<String>>| it.unwrap_or_else(|| Secret::new(String::new()));
    let (code, verifier) = (given(request.code), given(request.code_verifier));
    let sign_in = api.provider_sign_in.clone();
    let redeem = async move { sign_in.redeem(&code, &verifier, device).await };
    let signed_in = api.runner.run(redeem).await?;
    let owes = gates.rules.get().owes_declaration(signed_in.account.customer);
    Ok(Json(TokenEnvelope::new(signed_in, owes)))
}
