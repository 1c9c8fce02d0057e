//! `/api/admin/certificates`.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_kernel::CertificateId;
use pia_web::{Body, Caller, PathId};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::auth::Done;
use crate::certificates::CertificateResponse;
use crate::{Api, HttpError};

/// Adds a certificate to the trusted signers.
pub(crate) async fn add(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<CertificateRequest>,
) -> Result<HttpResponse, HttpError> {
    let by = caller.0.user;
    let file = request.certificate.map(|it| match STANDARD.decode(it.trim()) {
        Ok(der) => der,
        Err(_no_base64) => it.into_bytes(),
    });
    let certificate =
        api.run(|api| async move { api.certificates.add(by, request.name, file).await }).await?;
    Ok(HttpResponse::Created().json(CertificateResponse::from(certificate)))
}

/// Removes a certificate from the trusted signers.
pub(crate) async fn remove(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move { api.certificates.remove(by, CertificateId(id)).await }).await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CertificateRequest {
    /// Name for people; the holder's if omitted.
    name: Option<String>,
    /// X.509 certificate in PEM, or base64 of it in DER.
    #[schema(value_type = String)]
    certificate: Option<String>,
}
