//! Caller of a model, from the credentials and headers of a request.
//!
//! Every handler that uses a model calls `to_ai_caller` once and passes the result
//! to its use case, which checks budgets and policies by it. Headers are hints of
//! the client and never an error: a wrong one is the same as none.

use actix_web::HttpRequest;
use pia_assistant::{AiCaller, ApiKeyBudget, Mode, Surface};
use pia_identity::{KeyUse, SessionScope};
use pia_web::{Caller, Dialect};
use uuid::Uuid;

/// Headers that name the mode: the documented one, then that of the desktop
/// client.
const MODE_HEADERS: [&str; 2] = ["x-service-mode", "x-pia-mode"];

/// Headers that name the persona.
const PERSONA_HEADERS: [&str; 2] = ["x-service-persona", "x-pia-persona"];

/// Returns the caller; an unknown mode or an invalid persona counts as none.
pub(super) fn to_ai_caller(caller: &Caller, request: &HttpRequest) -> AiCaller {
    AiCaller {
        user: caller.0.user,
        group: caller.0.group,
        key: api_key_budget(caller.0.scope),
        mode: first_header(request, MODE_HEADERS).and_then(Mode::from_name),
        surface: match Dialect::from_path(request.path()) {
            Dialect::OpenAi => Surface::OpenAi,
            Dialect::Pia | Dialect::Scim => Surface::Desktop,
        },
        persona: first_header(request, PERSONA_HEADERS)
            .and_then(|it| Uuid::try_parse(it.trim()).ok()),
    }
}

/// Returns the budget of the API key, if the caller uses one.
pub(super) fn api_key_budget(scope: SessionScope) -> Option<ApiKeyBudget> {
    match scope {
        SessionScope::Key(KeyUse { key, weekly_credits }) => {
            Some(ApiKeyBudget { key, weekly: weekly_credits })
        }
        SessionScope::Full | SessionScope::Data | SessionScope::Console | SessionScope::Account => {
            None
        }
    }
}

/// Returns the value of the first of these headers that is present.
fn first_header<'a>(request: &'a HttpRequest, headers: [&'static str; 2]) -> Option<&'a str> {
    headers
        .into_iter()
        .filter_map(|it| request.headers().get(it))
        .find(|it| !it.as_bytes().trim_ascii().is_empty())?
        .to_str()
        .ok()
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use pia_identity::CallerState;
    use pia_kernel::{ApiKeyId, SessionId, UserId};

    use super::*;

    fn mode_of(headers: &[(&'static str, &'static str)]) -> Option<Mode> {
        caller_with(headers).mode
    }

    fn caller_with(headers: &[(&'static str, &'static str)]) -> AiCaller {
        let state = CallerState::new(UserId::generate(), SessionId::generate());
        let mut request = TestRequest::default();
        for header in headers {
            request = request.insert_header(*header);
        }
        to_ai_caller(&Caller(state), &request.to_http_request())
    }

    #[test]
    fn a_caller_with_a_key_has_its_budget() {
        let state = CallerState::new(UserId::generate(), SessionId::generate());
        let key_use = KeyUse { key: ApiKeyId::generate(), weekly_credits: 7 };
        let budget = |scope| {
            let request = TestRequest::default().to_http_request();
            to_ai_caller(&Caller(CallerState { scope, ..state }), &request).key
        };

        assert_eq!(
            budget(SessionScope::Key(key_use)),
            Some(ApiKeyBudget { key: key_use.key, weekly: 7 })
        );
        assert_eq!(budget(SessionScope::Full), None);
        assert_eq!(budget(SessionScope::Data), None);
    }

    #[test]
    fn either_header_names_the_mode_in_any_case() {
        assert_eq!(mode_of(&[("X-Pia-Mode", "Research")]), Some(Mode::Research));
        assert_eq!(mode_of(&[("X-Service-Mode", "optimize")]), Some(Mode::Optimize));
        assert_eq!(mode_of(&[]), None);
    }

    #[test]
    fn the_first_header_wins_even_with_an_unknown_mode() {
        let both = [("X-Pia-Mode", "Research"), ("X-Service-Mode", "assistant")];
        let unknown = [("X-Pia-Mode", "Research"), ("X-Service-Mode", "whatever")];

        assert_eq!(mode_of(&both), Some(Mode::Assistant));
        assert_eq!(mode_of(&unknown), None);
        let empty = [("X-Pia-Mode", "Research"), ("X-Service-Mode", " ")];
        assert_eq!(mode_of(&empty), Some(Mode::Research));
    }

    #[test]
    fn either_header_names_the_persona_and_an_invalid_id_is_ignored() {
        const ID: &str = "0000000a-0000-0000-0000-000000000001";
        let persona = |headers: &[(&'static str, &'static str)]| caller_with(headers).persona;

        assert_eq!(persona(&[("X-Pia-Persona", ID)]), Uuid::try_parse(ID).ok());
        assert_eq!(persona(&[("X-Pia-Persona", ID), ("X-Service-Persona", "none")]), None);
        assert_eq!(persona(&[]), None);
    }

    #[test]
    fn the_description_names_the_headers_that_are_read() {
        let document = crate::document().unwrap();

        let parameters =
            document["paths"]["/api/ai/chat"]["post"]["parameters"].as_array().unwrap();
        let names = parameters.iter().map(|it| it["name"].as_str().unwrap().to_ascii_lowercase());
        assert_eq!(names.collect::<Vec<_>>(), [MODE_HEADERS, PERSONA_HEADERS].concat());
    }
}
