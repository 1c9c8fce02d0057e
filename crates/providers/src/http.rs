//! The one way out to providers: bounded, over TLS, and to configured hosts.

use std::pin::Pin;
use std::time::Duration;

use ::http::header;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::ClientConfig;
use tokio::time::timeout;
use url::{Host, Url};

/// Longer than any answer of a provider.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Timeout for establishing a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Error that prevents the HTTP client from being created.
#[derive(Debug, thiserror::Error)]
#[error("the client for identity providers could not be made")]
pub struct ProviderSetupError(#[from] reqwest::Error);

/// Errors of a request to a provider. They contain no URL, since some hold
/// secrets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// Address may be read or forged on the way.
    #[error("the address is neither https nor on this machine")]
    Insecure,
    /// Request failed.
    #[error("the request failed: {0}")]
    Failed(#[source] reqwest::Error),
    /// Answer did not arrive in time.
    #[error("there was no answer in time")]
    TooSlow,
    /// Answer exceeds the size limit.
    #[error("the answer is longer than 1 MiB")]
    TooLong,
    /// The provider says that it failed, or that it is elsewhere.
    #[error("the provider answered with status {0}")]
    Status(u16),
}

/// Sends requests to providers on the runtime that it is called on. It follows
/// no redirects and asks the environment for no proxy.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client,
    patience: Duration,
}

impl Http {
    pub(crate) fn new(tls: ClientConfig) -> Result<Self, ProviderSetupError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT)
            .user_agent(concat!("pia-server/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, patience: Duration::from_secs(10) })
    }

    /// Returns the client with another timeout.
    pub(crate) fn within(&self, patience: Duration) -> Self {
        Self { client: self.client.clone(), patience }
    }

    /// Fetches a URL and returns the body of a 200 response.
    pub(crate) async fn get(
        &self,
        address: &str,
        bearer: Option<&str>,
    ) -> Result<Vec<u8>, HttpError> {
        let mut request = self.client.get(parse_secure_url(address).ok_or(HttpError::Insecure)?);
        request = request.header(header::ACCEPT, "application/json");
        if let Some(token) = bearer {
            request = request.bearer_auth(token);
        }
        let request = request.build().map_err(failed)?;
        let answer = self.send(request).await?;
        match answer.status().as_u16() {
            200 => Ok(answer.into_body()),
            other => Err(HttpError::Status(other)),
        }
    }

    async fn send(&self, request: reqwest::Request) -> Result<HttpResponse, HttpError> {
        let answer = async {
            let response = self.client.execute(request).await.map_err(failed)?;
            let status = response.status();
            if status.is_server_error() || status.is_redirection() {
                return Err(HttpError::Status(status.as_u16()));
            }
            whole(response).await
        };
        timeout(self.patience, answer).await.map_err(|_elapsed| HttpError::TooSlow)?
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            parse_secure_url(&request.uri().to_string()).ok_or(HttpError::Insecure)?;
            self.send(request.try_into().map_err(failed)?).await
        })
    }
}

async fn whole(mut response: Response) -> Result<HttpResponse, HttpError> {
    let (mut body, status) = (Vec::new(), response.status());
    let kind = response.headers().get(header::CONTENT_TYPE).cloned();
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        if body.len() + piece.len() > MAX_BODY_BYTES {
            return Err(HttpError::TooLong);
        }
        body.extend_from_slice(&piece);
    }
    let mut answer = ::http::Response::new(body);
    *answer.status_mut() = status;
    if let Some(kind) = kind {
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    Ok(answer)
}

fn failed(err: reqwest::Error) -> HttpError {
    HttpError::Failed(err.without_url())
}

/// Returns whether a URL may be outside the network that this server runs in. A
/// host name may, whatever it resolves to.
pub(crate) fn is_public(address: &str) -> bool {
    match Url::parse(address).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name != "localhost" && !name.ends_with(".localhost"),
        Some(Host::Ipv4(it)) => {
            let ours = it.is_private() || it.is_link_local() || it.is_unspecified();
            !it.is_loopback() && !ours
        }
        Some(Host::Ipv6(it)) => {
            let ours = it.is_unique_local() || it.is_unicast_link_local() || it.is_unspecified();
            !it.is_loopback() && !ours && it.to_ipv4_mapped().is_none()
        }
        None => false,
    }
}

/// The address, if nobody can listen on the way there.
pub(crate) fn parse_secure_url(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    let here = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let secure = url.scheme() == "https" || (url.scheme() == "http" && here);
    (secure && url.username().is_empty() && url.password().is_none()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_we_can_reach_is_not_public() {
        for ours in [
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
            assert!(!is_public(ours), "{ours}");
        }
        for theirs in
            ["https://accounts.google.com/", "https://192.0.2.1/", "https://[2001:db8::1]/"]
        {
            assert!(is_public(theirs), "{theirs}");
        }
    }

    #[test]
    fn nobody_can_listen_on_the_way() {
        for good in [
            "https://accounts.google.com/o",
            "http://localhost:1/",
            "http://127.0.0.1:80/x",
            "http://[::1]/",
        ] {
            assert!(parse_secure_url(good).is_some(), "{good}");
        }
        for bad in [
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
            assert!(parse_secure_url(bad).is_none(), "{bad}");
        }
    }
}
