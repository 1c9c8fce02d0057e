//! Header that marks generated responses.

use actix_web::http::header::HeaderName;

/// Header of every response of a model, so that others can mark its content as
/// generated.
pub(super) const AI_GENERATED: (HeaderName, &str) =
    (HeaderName::from_static("x-ai-generated"), "true");
