//! Origin of this server's pages.

use http::Uri;

/// Returns the origin of a public URL, with its port: an origin without one
/// stands for every port to rmcp. `None` if the URL has no origin.
pub(crate) fn own_origin(public_url: &str) -> Option<String> {
    let url: Uri = public_url.parse().ok()?;
    let scheme = url.scheme_str()?;
    let default_port = if scheme == "https" { 443 } else { 80 };
    let port = url.port_u16().unwrap_or(default_port);
    Some(format!("{scheme}://{}:{port}", url.host()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_a_url_has_a_port_and_no_path() {
        for (url, origin) in [
            ("https://pia.example", "https://pia.example:443"),
            ("https://pia.example:8443/assistant", "https://pia.example:8443"),
            ("http://[::1]", "http://[::1]:80"),
        ] {
            assert_eq!(own_origin(url).as_deref(), Some(origin), "{url}");
        }
        assert_eq!(own_origin("/assistant"), None);
    }
}
