//! HTTP errors of the AI proxy.

use actix_web::http::StatusCode;
use pia_assistant::{
    AssistantError, BudgetRefusal, Gauge, ModelTestError, OpenAiError, TopUpError, UsageRangeError,
    Violation,
};

use pia_web::{ApiError, FieldError, OpenAiForm, RETRY_SOON};

use crate::HttpError;
use crate::admin::row_version::stale;

impl From<UsageRangeError> for HttpError {
    fn from(err: UsageRangeError) -> Self {
        let field = match err {
            UsageRangeError::From | UsageRangeError::Length => "from",
            UsageRangeError::To => "to",
        };
        ApiError::invalid(vec![FieldError {
            field: field.to_owned(),
            code: "invalid",
            message: err.to_string(),
        }])
        .into()
    }
}

impl From<TopUpError> for HttpError {
    fn from(err: TopUpError) -> Self {
        let field = "credits".to_owned();
        let message = err.to_string();
        Self::from(match err {
            TopUpError::Amount => {
                ApiError::invalid(vec![FieldError { field, code: "invalid", message }])
            }
            TopUpError::Stale => stale(),
            TopUpError::UnknownGroup => ApiError::not_found(),
            TopUpError::Unavailable(err) => err.into(),
        })
    }
}

impl From<ModelTestError> for HttpError {
    fn from(err: ModelTestError) -> Self {
        match err {
            ModelTestError::Unknown => ApiError::not_found().into(),
            ModelTestError::Unavailable(err) => err.into(),
        }
    }
}

/// 400 is reserved for errors that the caller can correct: the desktop client
/// repeats such a request without its tools. 429 is reserved for budgets: the
/// client displays each as used up.
impl From<AssistantError> for HttpError {
    fn from(err: AssistantError) -> Self {
        let error = |status, code| ApiError::refused(status, code, err.message());
        let is_final = err.is_final();
        let OpenAiError { status, kind, code, message } = err.openai();
        let refused = match err {
            AssistantError::Malformed(_) => error(StatusCode::BAD_REQUEST, "malformed_json")
                .with("errors", single_error("", &err)),
            AssistantError::Invalid(violations) => {
                ApiError::invalid(violations.into_iter().map(field_error).collect())
            }
            AssistantError::TextTooLong { limit } => too_long(limit, &err.message()),
            AssistantError::UnknownModel => error(StatusCode::NOT_FOUND, "model_not_found"),
            AssistantError::NotConfigured => {
                error(StatusCode::SERVICE_UNAVAILABLE, "ai_not_configured")
            }
            AssistantError::ToolsRefused => error(StatusCode::BAD_REQUEST, "tools_not_supported")
                .with("errors", single_error("tools", &err)),
            AssistantError::ContextTooLong => error(StatusCode::BAD_GATEWAY, "context_too_long"),
            AssistantError::OverBudget(refusal) => over_budget(&refusal, &err.message()),
            AssistantError::UpstreamBusy { retry_after } => {
                error(StatusCode::BAD_GATEWAY, "upstream_busy").retry_after(retry_after)
            }
            AssistantError::UpstreamLimitReached { retry_after } => {
                error(StatusCode::SERVICE_UNAVAILABLE, "ai_crowded").retry_after(retry_after)
            }
            AssistantError::UpstreamRefused | AssistantError::UpstreamFailed => {
                error(StatusCode::BAD_GATEWAY, "upstream_failed")
            }
            AssistantError::UpstreamTimeout => {
                error(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout")
            }
            AssistantError::Unavailable => {
                error(StatusCode::SERVICE_UNAVAILABLE, "unavailable").retry_after(RETRY_SOON)
            }
            AssistantError::Stopping => {
                error(StatusCode::SERVICE_UNAVAILABLE, "stopping").retry_after(RETRY_SOON)
            }
        }
        .in_openai(OpenAiForm { status, kind, code, message });

        Self::from(if is_final { refused.without_retry() } else { refused })
    }
}

fn field_error(Violation { field, code, message }: Violation) -> FieldError {
    FieldError { field, code, message }
}

/// Returns the error of a used-up budget, in one of three shapes. Fields that a
/// period does not have are absent, not zero.
fn over_budget(refusal: &BudgetRefusal, message: &str) -> ApiError {
    let BudgetRefusal { period, gauge, pool, top_up, resets_at, retry_after } = *refusal;
    let mut error =
        ApiError::refused(StatusCode::TOO_MANY_REQUESTS, "Token Limit Exceeded", message)
            .with("period", period.name())
            .with("resetsAt", resets_at.to_string())
            .retry_after(retry_after);

    if let Some(Gauge { limit, used }) = gauge {
        error = error.with("unit", "credits").with("limit", limit).with("used", used);
    }

    if let Some(Gauge { limit, used }) = pool {
        error = error.with("poolLimit", limit).with("poolUsed", used);
    }

    if let Some(Gauge { limit, used }) = top_up {
        error = error.with("topUpGranted", limit).with("topUpUsed", used);
    }

    error
}

/// Returns the list of one error that every 400 has.
fn single_error(field: &str, err: &AssistantError) -> serde_json::Value {
    let code = if field.is_empty() { "malformed" } else { "not_supported" };
    serde_json::json!([{ "field": field, "code": code, "message": err.message() }])
}

/// Returns the only error with a field of its own, `code`, that clients expect.
fn too_long(limit: usize, message: &str) -> ApiError {
    const CODE: &str = "optimize_text_too_long";
    let errors = serde_json::json!([{ "field": "text", "code": "too_long", "message": message }]);
    ApiError::refused(StatusCode::BAD_REQUEST, CODE, message)
        .with("code", CODE)
        .with("limit", limit)
        .with("errors", errors)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_web::ResponseError;
    use pia_assistant::Period;
    use pia_kernel::{BudgetPeriod, Timestamp};

    use super::*;

    const API: &str = include_str!("../../../../docs/API.md");

    #[test]
    fn each_error_is_in_the_documented_table_with_its_status() {
        let retry_after = Duration::from_secs(1);
        let over_budget = BudgetRefusal {
            period: Period::Budget(BudgetPeriod::Daily),
            gauge: None,
            pool: None,
            top_up: None,
            resets_at: Timestamp::from_micros(0),
            retry_after,
        };
        let errors = [
            AssistantError::Malformed(String::new()),
            AssistantError::Invalid(Vec::new()),
            AssistantError::TextTooLong { limit: 1 },
            AssistantError::UnknownModel,
            AssistantError::NotConfigured,
            AssistantError::UpstreamRefused,
            AssistantError::ToolsRefused,
            AssistantError::ContextTooLong,
            AssistantError::OverBudget(over_budget),
            AssistantError::UpstreamBusy { retry_after },
            AssistantError::UpstreamLimitReached { retry_after },
            AssistantError::UpstreamFailed,
            AssistantError::UpstreamTimeout,
            AssistantError::Unavailable,
            AssistantError::Stopping,
        ];

        for err in errors {
            let err = ApiError::from(HttpError::from(err));
            let status = err.status_code().as_u16();
            let (code, _message) = err.code_and_message();
            let row = format!("| {status} | ");
            let quoted_code = format!("`{code}`");
            let is_listed = API.lines().any(|it| it.starts_with(&row) && it.contains(&quoted_code));
            assert!(is_listed, "{status} {code}");
        }
    }
}
