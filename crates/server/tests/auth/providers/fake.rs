//! A fake provider with scripted responses, which it signs with its own key.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pia_kernel::{Clock, SystemClock};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::{Url, form_urlencoded};

use super::{CALLBACK, CLIENT_SECRET, encoded, parameter};

/// Prefix of this provider's codes; a number follows.
const CODE: &str = "the provider's/code+";

/// Replacement of a scripted response.
#[derive(Debug, Clone)]
pub(super) enum Override {
    /// Raw response, with its head.
    Raw(String),
    /// No response.
    Silent,
}

/// Scripted responses.
pub(super) struct Script {
    /// Claims of the token, without the nonce.
    pub(super) claims: Value,
    /// Header of the token.
    pub(super) header: Value,
    /// Nonce of the token, if not the received one.
    pub(super) nonce: Option<Value>,
    /// Further members of the discovery document.
    pub(super) discovery: Value,
    /// Keys by id; the last one signs.
    pub(super) keys: Vec<(String, EcdsaKeyPair)>,
    /// Ids of unpublished keys.
    pub(super) hidden: Vec<String>,
    /// Replaced responses, by path.
    pub(super) overrides: Vec<(&'static str, Override)>,
    /// Response of the user-info endpoint.
    pub(super) user_info: Option<Value>,
    /// Sign-ins to which a code was issued.
    admitted: Vec<AdmittedSignIn>,
}

/// Parameters of a sign-in that the request for its token must match.
struct AdmittedSignIn {
    nonce: String,
    challenge: String,
}

/// Fake provider on this machine.
pub(super) struct Fake {
    pub(super) issuer: String,
    pub(super) script: Arc<Mutex<Script>>,
    /// Requested paths.
    pub(super) calls: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Returns the seconds since the epoch, by the system clock.
pub(super) fn now() -> i64 {
    SystemClock.now().micros() / 1_000_000
}

pub(super) fn key() -> EcdsaKeyPair {
    let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(kind, &random).expect("a key");
    EcdsaKeyPair::from_pkcs8(kind, pkcs8.as_ref(), &random).expect("a key")
}

impl Fake {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let script = Arc::new(Mutex::new(Script::honest(&issuer)));
        let calls = Arc::<Mutex<Vec<String>>>::default();
        let shared = Arc::clone(&script);
        let recorded = Arc::clone(&calls);
        let at = issuer.clone();
        #[expect(clippy::disallowed_methods, reason = "aborted on drop")]
        let serving = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let script = Arc::clone(&shared);
                let calls = Arc::clone(&recorded);
                let at = at.clone();
                #[expect(clippy::disallowed_methods, reason = "ends with its connection")]
                tokio::spawn(async move { serve(socket, &script, &calls, &at).await });
            }
        });
        Self { issuer, script, calls, serving }
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        lock(&self.script)
    }

    /// Sets a claim of the token, or removes it if the value is null.
    pub(super) fn set_claim(&self, name: &str, value: Value) {
        let mut script = self.script();
        let claims = script.claims.as_object_mut().expect("claims");
        if value.is_null() {
            drop(claims.remove(name));
        } else {
            drop(claims.insert(name.to_owned(), value));
        }
    }

    /// Sets the subject and the address of the token.
    pub(super) fn set_user(&self, subject: &str, email: &str) {
        self.set_claim("sub", json!(subject));
        self.set_claim("email", json!(email));
    }

    /// Completes a sign-in at the provider. Returns the path of the callback.
    pub(super) fn admit(&self, authorization: &Url) -> String {
        let value = |name: &str| parameter(authorization, name).expect(name);
        let endpoint = format!("{}/authorize?", self.issuer);
        assert!(authorization.as_str().starts_with(&endpoint), "{authorization}");
        assert_eq!(value("response_type"), "code");
        assert_eq!(value("client_id"), "pia");
        assert_eq!(value("redirect_uri"), CALLBACK);
        assert_eq!(value("code_challenge_method"), "S256");

        let scope = value("scope");
        let mut scopes: Vec<_> = scope.split(' ').collect();
        scopes.sort_unstable();
        assert_eq!(scopes, ["email", "openid", "profile"]);

        let state = value("state");
        let nonce = value("nonce");
        assert!(state.len() == 43 && nonce.len() == 43 && state != nonce);

        let mut script = self.script();
        let code = format!("{CODE}{}", script.admitted.len());
        script.admitted.push(AdmittedSignIn { nonce, challenge: value("code_challenge") });
        callback_path(&[("code", &code), ("state", &state)])
    }

    pub(super) fn called(&self, path: &str) -> usize {
        lock(&self.calls).iter().filter(|it| *it == path).count()
    }
}

/// Returns the path of the callback with these parameters.
pub(super) fn callback_path(parameters: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    format!("/auth/callback?{query}")
}

impl Script {
    fn honest(issuer: &str) -> Self {
        Self {
            claims: json!({
                "iss": issuer,
                "sub": "ada-1",
                "aud": "pia",
                "iat": now(),
                "exp": now() + 300,
                "email": "Ada@example.org",
                "email_verified": true,
                "name": "Ada Lovelace",
            }),
            header: json!({ "alg": "ES256", "typ": "JWT", "kid": "first" }),
            nonce: None,
            discovery: json!({}),
            keys: vec![("first".to_owned(), key())],
            hidden: Vec::new(),
            overrides: Vec::new(),
            user_info: None,
            admitted: Vec::new(),
        }
    }

    fn respond(&self, issuer: &str, path: &str, request: &str) -> Value {
        match path.trim_start_matches("/common/v2.0") {
            "/.well-known/openid-configuration" => self.description(issuer),
            "/jwks" => json!({ "keys": self.published() }),
            "/token" => {
                let token = self.token(self.expect_valid(request));
                json!({ "access_token": "seldom used", "token_type": "Bearer", "id_token": token })
            }
            "/userinfo" => {
                assert!(request.to_lowercase().contains("authorization: bearer seldom used"));
                self.user_info.clone().expect("a user-info response")
            }
            _ => json!("nothing lies here"),
        }
    }

    fn description(&self, issuer: &str) -> Value {
        let mut description = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/jwks"),
            "response_types_supported": ["code"],
        });
        let description_map = description.as_object_mut().expect("an object");
        if self.user_info.is_some() {
            description_map
                .insert("userinfo_endpoint".to_owned(), json!(format!("{issuer}/userinfo")));
        }
        description_map.extend(self.discovery.as_object().expect("an object").clone());
        description
    }

    fn published(&self) -> Vec<Value> {
        let published = self.keys.iter().filter(|(id, _)| !self.hidden.contains(id));
        published
            .map(|(id, key)| {
                // Uncompressed point: a byte 4, then both coordinates.
                let point = key.public_key().as_ref();
                let half = |it: &[u8]| URL_SAFE_NO_PAD.encode(it);
                json!({
                    "kty": "EC", "crv": "P-256", "use": "sig", "kid": id,
                    "x": half(&point[1..33]), "y": half(&point[33..]),
                })
            })
            .collect()
    }

    /// Asserts that a token request has a valid code, verifier and client secret.
    /// Returns the nonce of the sign-in.
    fn expect_valid(&self, request: &str) -> &str {
        let (head, body) = request.split_once("\r\n\r\n").expect("a body");
        let form: Vec<(String, String)> =
            form_urlencoded::parse(body.as_bytes()).into_owned().collect();
        let field = |name: &str| {
            form.iter()
                .find(|(it, _)| it == name)
                .map(|(_, value)| value.as_str())
                .expect("a field")
        };
        assert_eq!(field("grant_type"), "authorization_code");

        let number = field("code").strip_prefix(CODE).and_then(|it| it.parse::<usize>().ok());
        let sign_in = &self.admitted[number.expect("a code")];
        assert_eq!(field("redirect_uri"), CALLBACK);

        let hash = ring::digest::digest(&ring::digest::SHA256, field("code_verifier").as_bytes());
        assert_eq!(URL_SAFE_NO_PAD.encode(hash.as_ref()), sign_in.challenge);
        let secret: String = form_urlencoded::byte_serialize(CLIENT_SECRET.as_bytes()).collect();
        let basic = format!("authorization: Basic {}", STANDARD.encode(format!("pia:{secret}")));
        assert!(head.lines().any(|it| it.eq_ignore_ascii_case(&basic)), "{head}");
        &sign_in.nonce
    }

    fn token(&self, nonce: &str) -> String {
        let mut claims = self.claims.clone();
        let nonce = self.nonce.clone().unwrap_or_else(|| json!(nonce));
        if !nonce.is_null() {
            claims["nonce"] = nonce;
        }
        let signed = format!("{}.{}", encoded(&self.header), encoded(&claims));
        let (_, key) = self.keys.last().expect("a key");
        let signature = match self.header["alg"].as_str() {
            Some("none") => String::new(),
            Some("HS256") => {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, CLIENT_SECRET.as_bytes());
                URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, signed.as_bytes()))
            }
            _ => {
                let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).expect("a key");
                URL_SAFE_NO_PAD.encode(signature)
            }
        };
        format!("{signed}.{signature}")
    }
}

async fn serve(
    mut socket: TcpStream,
    script: &Mutex<Script>,
    calls: &Mutex<Vec<String>>,
    issuer: &str,
) {
    let Some(request) = read(&mut socket).await else { return };
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    lock(calls).push(path.clone());
    let replaced =
        lock(script).overrides.iter().find(|(it, _)| *it == path).map(|(_, it)| it.clone());
    let response = match replaced {
        Some(Override::Raw(response)) => response,
        // Until the client gives up.
        Some(Override::Silent) => {
            drop(socket.read(&mut [0; 1]).await);
            return;
        }
        None => json_response("200 OK", &lock(script).respond(issuer, &path, &request).to_string()),
    };
    drop(socket.write_all(response.as_bytes()).await);
}

/// Formats a response with a JSON body.
pub(super) fn json_response(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

async fn read(socket: &mut TcpStream) -> Option<String> {
    let mut raw = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&raw).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
            if body.len() >= length.and_then(|it| it.parse().ok()).unwrap_or(0) {
                return Some(text);
            }
        }
        if socket.read_buf(&mut raw).await.ok()? == 0 {
            return None;
        }
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
