//! Serving below a base path: `https://corp.example/pia/auth/me`.
//!
//! Routes, gates and handlers see paths without the base: `/auth/me`.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Uri;
use actix_web::http::uri::PathAndQuery;
use actix_web::middleware::Next;
use actix_web::web::Data;

/// Path before every route: empty, or `/pia`.
#[derive(Debug, Clone, Default)]
pub struct BasePath(pub String);

impl BasePath {
    /// Returns the rest of `path` after the base, if it starts with the base.
    pub(crate) fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        let relative_path = path.strip_prefix(self.0.as_str())?;
        match relative_path.as_bytes().first() {
            None => Some("/"),
            Some(b'/' | b'?') => Some(relative_path),
            Some(_) => None,
        }
    }

    /// Returns the URI after the base; `None` if the base is empty, or if the
    /// URI does not start with it.
    fn strip_uri(&self, uri: &Uri) -> Option<Uri> {
        if self.0.is_empty() {
            return None;
        }

        let stripped = self.strip(uri.path_and_query()?.as_str())?;
        let path_and_query =
            if stripped.starts_with('?') { format!("/{stripped}") } else { stripped.to_owned() };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::try_from(path_and_query).ok()?);
        Uri::from_parts(parts).ok()
    }
}

/// Middleware that strips the base path before any route is matched.
///
/// A request without it is served too: some proxies strip it themselves.
pub async fn strip_base_path<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let base = request.app_data::<Data<BasePath>>();
    if let Some(uri) = base.and_then(|it| it.strip_uri(request.uri())) {
        request.match_info_mut().get_mut().update(&uri);
        request.head_mut().uri = uri;
    }

    next.call(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_segments_are_stripped() {
        let base = BasePath("/pia".to_owned());

        assert_eq!(base.strip("/pia/auth/me?a=b"), Some("/auth/me?a=b"));
        assert_eq!(base.strip("/pia"), Some("/"));
        assert_eq!(base.strip("/piano"), None);
        assert_eq!(base.strip("/auth/me"), None);
    }
}
