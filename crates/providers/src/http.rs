//! HTTP client for providers: bounded, over TLS, without redirects.
//!
//! Every URL passes `parse_secure_url` before a request: https, or http on loopback,
//! and no credentials in the URL. `discovery.rs` also rejects private addresses of
//! public providers with `is_public`.

use std::pin::Pin;
use std::time::Duration;

use ::http::header;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::ClientConfig;
use tokio::time::timeout;
use url::{Host, Url};

/// Maximum size of a response body.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a request with its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Error that prevents the HTTP client from being created.
#[derive(Debug, thiserror::Error)]
#[error("the client for identity providers could not be created")]
pub struct ProviderSetupError(#[from] reqwest::Error);

/// Errors of a request to a provider. They contain no URL, since some contain secrets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// URL is neither https nor local.
    #[error("the URL is neither https nor local")]
    Insecure,
    /// Request failed, or the response was cut off; the URL is omitted.
    #[error("the request failed: {0}")]
    Failed(#[source] reqwest::Error),
    /// Response did not arrive in time.
    #[error("no response in time")]
    TooSlow,
    /// Response exceeds the size limit.
    #[error("the response is longer than 1 MiB")]
    TooLong,
    /// Provider responded with an error or a redirect.
    #[error("the provider answered with status {0}")]
    Status(u16),
}

/// HTTP client that runs on the caller's runtime. It follows no redirects and ignores proxy
/// variables.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client,
    timeout: Duration,
}

impl Http {
    pub(crate) fn new(tls: ClientConfig) -> Result<Self, ProviderSetupError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("pia-server/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, timeout: REQUEST_TIMEOUT })
    }

    /// Returns the client with another timeout, over the same connections.
    pub(crate) fn within(&self, timeout: Duration) -> Self {
        Self { client: self.client.clone(), timeout }
    }

    /// Fetches a URL and returns the body of a 200 response.
    pub(crate) async fn get(
        &self,
        address: &str,
        bearer: Option<&str>,
    ) -> Result<Vec<u8>, HttpError> {
        let url = parse_secure_url(address).ok_or(HttpError::Insecure)?;
        let mut request = self.client.get(url).header(header::ACCEPT, "application/json");
        if let Some(token) = bearer {
            request = request.bearer_auth(token);
        }

        let response = self.send(request.build().map_err(request_error)?).await?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            status => Err(HttpError::Status(status)),
        }
    }

    async fn send(&self, request: reqwest::Request) -> Result<HttpResponse, HttpError> {
        let request_future = async {
            let response = self.client.execute(request).await.map_err(request_error)?;
            let status = response.status();
            if status.is_server_error() || status.is_redirection() {
                return Err(HttpError::Status(status.as_u16()));
            }
            read_response(response).await
        };
        timeout(self.timeout, request_future).await.map_err(|_elapsed| HttpError::TooSlow)?
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            parse_secure_url(&request.uri().to_string()).ok_or(HttpError::Insecure)?;
            self.send(request.try_into().map_err(request_error)?).await
        })
    }
}

/// Reads a response, whose body is limited while it arrives: a length in its header may be wrong.
async fn read_response(mut response: Response) -> Result<HttpResponse, HttpError> {
    let mut body = Vec::new();
    let status = response.status();
    let content_type = response.headers().get(header::CONTENT_TYPE).cloned();

    while let Some(chunk) = response.chunk().await.map_err(request_error)? {
        if body.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(HttpError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }

    let mut full_response = ::http::Response::new(body);
    *full_response.status_mut() = status;

    if let Some(content_type) = content_type {
        full_response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }

    Ok(full_response)
}

fn request_error(err: reqwest::Error) -> HttpError {
    HttpError::Failed(err.without_url())
}

/// Returns whether a URL may be outside this server's network. A host name other than
/// `localhost` counts as outside, whatever it resolves to.
pub(crate) fn is_public(address: &str) -> bool {
    match Url::parse(address).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name != "localhost" && !name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => {
            let is_private = ip.is_private() || ip.is_link_local() || ip.is_unspecified();
            !ip.is_loopback() && !is_private
        }
        Some(Host::Ipv6(ip)) => {
            let is_private =
                ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_unspecified();
            !ip.is_loopback() && !is_private && ip.to_ipv4_mapped().is_none()
        }
        None => false,
    }
}

/// Returns the parsed URL, if the connection to it is secure: https, or http on loopback. A
/// URL with credentials is rejected.
pub(crate) fn parse_secure_url(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    let is_loopback = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    };
    let is_secure = url.scheme() == "https" || (url.scheme() == "http" && is_loopback);
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    (is_secure && !has_credentials).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_not_public() {
        for private_address in [
            "http://localhost:1/",
            "https://a.localhost/",
            "https://127.1.2.3/",
            "https://10.0.0.1/",
            "https://192.168.0.1/",
            "https://169.254.169.254/latest",
            "https://[::1]/",
            "https://[fd00::1]/",
            "https://[::ffff:10.0.0.1]/",
            "nonsense",
        ] {
            assert!(!is_public(private_address), "{private_address}");
        }
        for public_address in
            ["https://accounts.google.com/", "https://192.0.2.1/", "https://[2001:db8::1]/"]
        {
            assert!(is_public(public_address), "{public_address}");
        }
    }

    #[test]
    fn only_https_and_loopback_urls_are_secure() {
        for secure_url in [
            "https://accounts.google.com/o",
            "http://localhost:1/",
            "http://127.0.0.1:80/x",
            "http://[::1]/",
        ] {
            assert!(parse_secure_url(secure_url).is_some(), "{secure_url}");
        }
        for other_url in [
            "http://accounts.google.com/",
            "http://localhost.example/",
            "http://10.0.0.1/",
            "ftp://localhost/",
            "https://user@example.org/",
            "https://user:password@example.org/",
            "file:///etc/passwd",
            "/relative",
            "",
        ] {
            assert!(parse_secure_url(other_url).is_none(), "{other_url}");
        }
    }
}
