//! Tests that callers cannot redirect their calls to other upstreams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pia_server_testkit::ai_client::{
    CHAT, COMPLETIONS, JSON, OPTIMIZE, chat_request, upstream_config,
};
use pia_server_testkit::ai_peer::{Fixed, WHOLE};
use pia_server_testkit::polling::until;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Server that no setting names, which counts its connections.
struct Canary {
    address: String,
    connections: Arc<AtomicUsize>,
    _listener_task: JoinSet<()>,
}

impl Canary {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let connections = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&connections);
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            while listener.accept().await.is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { address, connections, _listener_task: listening }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Headers by which clients of some gateways name an upstream.
const HEADERS: [&str; 20] = [
    "host",
    "forwarded",
    "x-forwarded-host",
    "x-forwarded-server",
    "x-original-url",
    "x-rewrite-url",
    "x-base-url",
    "x-api-base",
    "x-endpoint",
    "x-upstream",
    "x-target-url",
    "x-custom-host",
    "x-portkey-custom-host",
    "openai-base-url",
    "helicone-target-url",
    "x-pia-mode",
    "x-pia-persona",
    "x-service-mode",
    "proxy",
    "http-proxy",
];

/// Keys by which bodies name an upstream.
const KEYS: [&str; 22] = [
    "base_url",
    "baseUrl",
    "baseURL",
    "api_base",
    "apiBase",
    "api_url",
    "api_host",
    "endpoint",
    "url",
    "host",
    "upstream",
    "target",
    "proxy",
    "proxies",
    "provider",
    "providerId",
    "custom_llm_provider",
    "model",
    "user",
    "azure_endpoint",
    "callback_url",
    "webhook",
];

/// Returns bodies with each of the keys, and with several in nested objects.
fn redirect_attempts(address: &str) -> Vec<Value> {
    let url = format!("http://{address}/v1");
    let nested = || json!({ "base_url": url, "api_base": url, "endpoint": url, "url": url });
    let each = KEYS.iter().map(|key| json!({ *key: url }));
    let of_several =
        ["extra_body", "extra_headers", "extra_query", "metadata", "provider", "store"];
    let several = of_several.iter().map(|key| json!({ *key: nested() }));
    let others = [
        json!({ "model": format!("openai/{url}") }),
        json!({ "model": { "base_url": url, "name": "x" } }),
        json!({ "metadata": { "pia_persona_type": url, "pia_persona_id": url, "pia_mode": url } }),
        json!({ "extra_headers": { "Host": address } }),
        json!({ "web_search_options": nested(), "fallbacks": [url, nested()] }),
    ];
    each.chain(several).chain(others).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_field_or_header_redirects_a_call_to_another_upstream() {
    let canary = Canary::start().await;
    let upstream = Fixed::with_json(WHOLE).await;
    let app = upstream_config(&upstream.endpoint)
        .with("Ai__Providers__0__Id", "other")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", &upstream.endpoint)
        .with("Ai__Providers__0__Model", "other-model")
        .start()
        .await;
    app.admin("group set default models=other").await.expect("rules");
    let ada = app.signed_in().await;
    let address = canary.address.as_str();
    let url = format!("http://{address}/v1");
    let requests = [
        (CHAT, chat_request("x")),
        (COMPLETIONS, chat_request("x")),
        (OPTIMIZE, json!({ "text": "x" })),
    ];
    let mut answers = Vec::new();

    for (path, body) in &requests {
        let plain = body.to_string();
        for name in HEADERS {
            for value in [address, url.as_str()] {
                let answer = ada.send("POST", path, &[JSON, (name, value)], plain.as_bytes()).await;
                answers.push((format!("{path} {name}: {value}"), answer.status));
            }
        }
        for target in
            [format!("{path}?base_url={url}&api_base={url}"), format!("http://{address}{path}")]
        {
            let answer = ada.send("POST", &target, &[JSON], plain.as_bytes()).await;
            answers.push((target, answer.status));
        }
        for attempt in redirect_attempts(address) {
            let mut body = body.clone();
            let fields = attempt.as_object().cloned().unwrap_or_default();
            body.as_object_mut().expect("an object").extend(fields);
            let answer = ada.post(path, &body).await;
            answers.push((format!("{path} {attempt}"), answer.status));
        }
    }
    let draft = json!({ "styleDescription": "casual", "providerId": url, "base_url": url });
    let answer = ada.post("/api/ai/generate-prompt", &draft).await;
    answers.push(("a draft".to_owned(), answer.status));

    let served_count = answers.iter().filter(|(_, status)| *status == 200).count();
    let unexpected: Vec<_> = answers.iter().filter(|(_, it)| ![200, 400].contains(it)).collect();
    assert_eq!(canary.connections(), 0);

    let calls = upstream.calls();
    assert_eq!(calls.len(), served_count);
    for call in &calls {
        assert!(call.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", call.head);
        assert!(!call.head.contains(address), "{}", call.head);
        assert!(!call.text().contains(address), "{}", call.text());
    }
    assert!(unexpected.is_empty(), "{unexpected:?}");

    // The canary does count connections.
    let _connection = TcpStream::connect(address).await.expect("a connection");
    until(async || (canary.connections() == 1).then_some(())).await;
}
