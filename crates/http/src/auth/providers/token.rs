//! `POST /auth/token`: tokens of a sign-in in a browser.

use actix_web::HttpRequest;
use actix_web::web::{Data, Json};
use pia_identity::RedeemError;
use pia_kernel::Secret;
use pia_web::{ApiError, FromDevice, Gates, RawBody};
use utoipa::ToSchema;

use super::presented_code::PresentedCode;
use crate::Api;
use crate::auth::SignInResponse;

/// Redeems a code. A request that fails for another reason still consumes the
/// codes that it contains, with the same response.
pub(crate) async fn token(
    api: Data<Api>,
    gates: Data<Gates>,
    FromDevice(device): FromDevice,
    request: HttpRequest,
    body: RawBody,
) -> Result<Json<SignInResponse>, ApiError> {
    RawBody::expect_json(&request)?;
    let PresentedCode { codes, verifier } = PresentedCode::parse(&body)?;
    let signed_in = api
        .run(|api| async move {
            let Some((code, others)) = codes.split_first() else {
                return Err(RedeemError::InvalidGrant);
            };

            for other in others {
                if let Err(err @ RedeemError::Unavailable(_)) = api
                    .identity
                    .provider_sign_in
                    .redeem(other, &empty_verifier(), device.clone())
                    .await
                {
                    return Err(err);
                }
            }

            let verifier = match verifier {
                Some(verifier) if others.is_empty() => verifier,
                _ => empty_verifier(),
            };
            api.identity.provider_sign_in.redeem(code, &verifier, device).await
        })
        .await?;
    let owes_declaration = gates.rules.get().owes_declaration(signed_in.account.customer);

    Ok(Json(SignInResponse::new(signed_in, owes_declaration)))
}

/// A one-time code and what redeems it.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes a body")]
pub(crate) struct TokenRequest {
    /// The one-time code from the redirect.
    #[schema(value_type = String)]
    code: Option<String>,
    /// Verifier of the challenge.
    #[schema(value_type = String)]
    code_verifier: Option<String>,
}

/// Returns a verifier that matches no challenge.
fn empty_verifier() -> Secret<String> {
    Secret::new(String::new())
}
