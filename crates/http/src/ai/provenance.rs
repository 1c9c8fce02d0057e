//! Header that marks an answer as made by a model.

use actix_web::http::header::HeaderName;

/// Stands on every answer that a model gave, so that whoever passes it on can
/// mark it as that.
pub(super) const AI_GENERATED: (HeaderName, &str) =
    (HeaderName::from_static("x-ai-generated"), "true");
