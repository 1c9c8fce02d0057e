//! Models of a route with the capabilities that a prompt requires.
//!
//! The first model decides whether the request is valid, as the one that was chosen.
//! Fallbacks that lack a capability are left out without an error.

use crate::error::{AssistantError, Violation};
use crate::request::messages::MAX_VIOLATIONS;
use crate::request::prompt_body::UpstreamPrompt;
use crate::routing::route::Route;
use crate::tools::HostedTool;

/// Retains the models of a route with the capabilities that the prompt
/// requires. Errors with those that the first model lacks.
pub(super) fn retain_capable(
    route: &mut Route,
    prompt: &UpstreamPrompt,
) -> Result<(), AssistantError> {
    let hosted = &prompt.hosted;

    if let Some(first) = route.first() {
        let violations: Vec<_> = hosted
            .iter()
            .filter(|it| !first.runs(it))
            .take(MAX_VIOLATIONS)
            .map(HostedTool::violation)
            .collect();
        if !violations.is_empty() {
            return Err(AssistantError::Invalid(violations));
        }
    }

    route.retain(|model| hosted.iter().all(|it| model.runs(it)));

    if let Some(field) = &prompt.address {
        if !route.first().is_some_and(|it| it.fetches()) {
            return Err(address_error(field));
        }
        route.retain(|it| it.fetches());
    }

    Ok(())
}

/// Returns the error for an address: the caller can send the data instead.
fn address_error(field: &str) -> AssistantError {
    let message = "This model can't fetch URLs. Send images and files as data: URLs.";
    AssistantError::Invalid(vec![Violation::new(field, "address_not_allowed", message)])
}
