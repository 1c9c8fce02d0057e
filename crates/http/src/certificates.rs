//! `GET /api/certificates/trusted`.

use actix_web::web::{Data, Json};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_kernel::Timestamp;
use pia_policy::TrustedCertificate;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Api, HttpError};

/// Lists the certificates of trusted plugin signers.
pub(crate) async fn trusted(api: Data<Api>) -> Result<Json<Vec<CertificateResponse>>, HttpError> {
    let trusted = api.run(|api| async move { api.certificates.list().await }).await?;
    Ok(Json(trusted.into_iter().map(Into::into).collect()))
}

/// Certificate whose holder may sign plugins.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CertificateResponse {
    id: String,
    name: String,
    /// SHA-1 of the certificate, as 40 upper-case hex digits.
    thumbprint: String,
    /// Base64 of the certificate in DER.
    public_key_data: String,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<TrustedCertificate> for CertificateResponse {
    fn from(certificate: TrustedCertificate) -> Self {
        let TrustedCertificate { id, name, thumbprint, der, updated_at } = certificate;
        let public_key_data = STANDARD.encode(der);
        Self { id: id.to_string(), name, thumbprint, public_key_data, updated_at }
    }
}
