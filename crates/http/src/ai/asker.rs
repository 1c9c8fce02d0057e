//! Who asks a model, and for what.

use actix_web::HttpRequest;
use pia_assistant::{Asker, Mode};
use pia_web::Caller;

/// The contract's header first, then the one that the desktop client sends.
const MODE_HEADERS: [&str; 2] = ["x-service-mode", "x-pia-mode"];

pub(super) fn asker(caller: &Caller, request: &HttpRequest) -> Asker {
    let named = MODE_HEADERS.into_iter().find_map(|it| request.headers().get(it));
    let mode = named.and_then(|it| it.to_str().ok()).and_then(Mode::named);
    Asker { user: caller.0.user, group: caller.0.group, key: None, mode }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use pia_identity::Standing;
    use pia_kernel::{SessionId, UserId};

    use super::*;

    fn mode_of(headers: &[(&'static str, &'static str)]) -> Option<Mode> {
        let standing = Standing::of(UserId::generate(), SessionId::generate());
        let mut request = TestRequest::default();
        for header in headers {
            request = request.insert_header(*header);
        }
        asker(&Caller(standing), &request.to_http_request()).mode
    }

    #[test]
    fn either_header_names_the_mode_in_any_case() {
        assert_eq!(mode_of(&[("X-Pia-Mode", "Research")]), Some(Mode::Research));
        assert_eq!(mode_of(&[("X-Service-Mode", "optimize")]), Some(Mode::Optimize));
        assert_eq!(mode_of(&[]), None);
    }

    #[test]
    fn the_first_header_wins_even_with_a_mode_that_nobody_knows() {
        let both = [("X-Pia-Mode", "Research"), ("X-Service-Mode", "assistant")];
        let unknown = [("X-Pia-Mode", "Research"), ("X-Service-Mode", "whatever")];

        assert_eq!(mode_of(&both), Some(Mode::Assistant));
        assert_eq!(mode_of(&unknown), None);
    }
}
