//! `POST /auth/register`: registration.

use actix_web::web::{Data, Json};
use pia_identity::{CustomerType, RegistrationForm, RegistrationOutcome};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, FieldError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;

/// Creates an account with a password, without signing in.
pub(crate) async fn register(
    api: Data<Api>,
    Body(request): Body<RegisterRequest>,
) -> Result<Json<RegisterResponse>, ApiError> {
    let form = request.form()?;
    let registration_outcome =
        api.run(|api| async move { api.identity.registration.register(form).await }).await?;
    Ok(Json(RegisterResponse::new(&registration_outcome)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisterRequest {
    #[schema(value_type = String)]
    email: Option<String>,
    #[schema(value_type = String)]
    password: Option<Secret<String>>,
    display_name: Option<String>,
    /// 0 not declared, 1 business, 2 consumer.
    customer_type: Option<i64>,
    /// Required of a business if the operator requires a declaration.
    company_name: Option<String>,
    /// Token from the link of an invitation; required if only invited users may
    /// register.
    #[schema(value_type = Option<String>)]
    invitation_token: Option<Secret<String>>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisterResponse {
    success: bool,
    message: &'static str,
    requires_email_verification: bool,
}

impl RegisterResponse {
    fn new(outcome: &RegistrationOutcome) -> Self {
        let (message, requires_email_verification) = match outcome {
            RegistrationOutcome::Created(_) => ("Your account has been created. Sign in.", false),
            RegistrationOutcome::EmailQueued => {
                ("Check your inbox and open the link to verify your email.", true)
            }
        };
        Self { success: true, message, requires_email_verification }
    }
}

impl RegisterRequest {
    /// Returns the form. Missing keys become empty values, so that the domain
    /// reports all errors at once.
    fn form(self) -> Result<RegistrationForm, ApiError> {
        let customer = CustomerType::from_number(self.customer_type.unwrap_or_default());
        Ok(RegistrationForm {
            email: self.email.unwrap_or_default(),
            password: self.password.unwrap_or_else(|| Secret::new(String::new())),
            display_name: self.display_name,
            customer: customer.ok_or_else(unknown_customer_type)?,
            company_name: self.company_name,
            invitation: self.invitation_token,
        })
    }
}

fn unknown_customer_type() -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: "customerType".to_owned(),
        code: "invalid",
        message: "`customerType` must be 0, 1 or 2.".to_owned(),
    }])
}
