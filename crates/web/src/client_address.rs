//! Client address of a request, behind trusted proxies.
//!
//! Proxies append the address of their peer to `X-Forwarded-For`. The list is
//! therefore read from its end, and only while the address before is that of a
//! trusted proxy: entries further left may be invented by the client. `surface`
//! stores the result in the request, where rate limits, login history and audit
//! entries read it.

use std::net::IpAddr;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{FORWARDED, X_FORWARDED_FOR};
use ipnet::IpNet;

/// Proxies whose `X-Forwarded-For` is trusted.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Vec<IpNet>);

/// Client address of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress {
    /// IP address; `None` if the connection has none.
    pub ip: Option<IpAddr>,
    /// True if the request has a forwarding header, from whomever: then it is not
    /// taken for a local one.
    forwarded: bool,
}

impl ClientAddress {
    /// Returns whether the client is a program on this machine, and not a proxy
    /// that forwards for others.
    pub(crate) fn is_local(&self) -> bool {
        !self.forwarded && self.ip.is_some_and(|it| it.to_canonical().is_loopback())
    }
}

impl TrustedProxies {
    /// Creates a set of proxies.
    pub fn new(proxies: Vec<IpNet>) -> Self {
        Self(proxies)
    }

    /// Returns the first address that is not a trusted proxy, from the peer of
    /// the connection backwards. Headers set by that client are ignored.
    pub(crate) fn client_of(&self, request: &ServiceRequest) -> ClientAddress {
        let headers = request.headers();
        let forwarded = headers.contains_key(X_FORWARDED_FOR) || headers.contains_key(FORWARDED);
        let Some(mut ip) = request.peer_addr().map(|it| it.ip().to_canonical()) else {
            return ClientAddress { ip: None, forwarded };
        };

        // As bytes: a client's own header must not make the part unreadable
        // that a proxy appends.
        let hops: Vec<&[u8]> = headers
            .get_all(X_FORWARDED_FOR)
            .flat_map(|it| it.as_bytes().split(|byte| *byte == b','))
            .collect();

        for hop in hops.into_iter().rev() {
            if !self.contains(ip) {
                break;
            }
            let Some(previous) = std::str::from_utf8(hop).ok().and_then(parse) else { break };
            ip = previous;
        }

        ClientAddress { ip: Some(ip), forwarded }
    }

    /// Returns whether the peer of the connection is a trusted proxy.
    pub(crate) fn include_peer_of(&self, request: &ServiceRequest) -> bool {
        request.peer_addr().is_some_and(|it| self.contains(it.ip().to_canonical()))
    }

    fn contains(&self, ip: IpAddr) -> bool {
        self.0.iter().any(|it| it.contains(&ip))
    }
}

/// Parses an address, with or without a port, in the forms that proxies write.
fn parse(hop: &str) -> Option<IpAddr> {
    let address = hop.trim().trim_matches('"');
    let bare = address.parse::<IpAddr>().ok();
    let with_port = || address.parse::<std::net::SocketAddr>().ok().map(|it| it.ip());
    let bracketed = || address.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    bare.or_else(with_port).or_else(bracketed).map(|it| it.to_canonical())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use actix_web::test::TestRequest;

    use super::*;

    fn client(trusted: &[&str], peer: &str, header: &str) -> String {
        let trusted = TrustedProxies::new(trusted.iter().map(|it| it.parse().unwrap()).collect());
        let request = TestRequest::default()
            .peer_addr(format!("{peer}:1").parse().unwrap())
            .insert_header((X_FORWARDED_FOR, header))
            .to_srv_request();
        trusted.client_of(&request).ip.unwrap().to_string()
    }

    #[test]
    fn an_untrusted_client_cannot_choose_its_address() {
        assert_eq!(client(&[], "192.0.2.1", "198.51.100.7"), "192.0.2.1");
        assert_eq!(client(&["10.0.0.0/8"], "192.0.2.1", "198.51.100.7"), "192.0.2.1");
    }

    #[test]
    fn trusted_proxies_are_followed_up_to_the_first_untrusted_address() {
        let trusted = ["10.0.0.0/8"];

        assert_eq!(client(&trusted, "10.0.0.1", "1.1.1.1, 198.51.100.7, 10.0.0.2"), "198.51.100.7");
        assert_eq!(client(&trusted, "10.0.0.1", "198.51.100.7:4711"), "198.51.100.7");
        assert_eq!(client(&trusted, "10.0.0.1", "[2001:db8::1]:4711"), "2001:db8::1");
        assert_eq!(client(&trusted, "10.0.0.1", "unknown"), "10.0.0.1");
    }

    #[test]
    fn an_unreadable_client_header_does_not_hide_a_proxys_entry() {
        let trusted = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
        let header = HeaderValue::from_bytes(b"\xff\xfe, 198.51.100.7").unwrap();
        let request = TestRequest::default()
            .peer_addr("10.0.0.1:1".parse().unwrap())
            .insert_header((X_FORWARDED_FOR, header))
            .to_srv_request();

        assert_eq!(trusted.client_of(&request).ip, "198.51.100.7".parse().ok());
    }

    #[test]
    fn a_forwarded_request_is_not_local() {
        let request = TestRequest::default()
            .peer_addr("127.0.0.1:1".parse().unwrap())
            .insert_header((X_FORWARDED_FOR, "198.51.100.7"))
            .to_srv_request();

        assert!(!TrustedProxies::default().client_of(&request).is_local());
    }
}
