//! Tests of the entries of `Ai:Providers`.

mod tools;

use pia_assistant::{
    Addresses, ModelCatalogue, Protection, ProviderType, Rates, ReasoningEffort, SearchDepth,
    Target,
};

use super::*;

/// Settings of a minimal entry: the chat model `main`.
const MODEL_ENTRY: [&str; 3] =
    ["Ai:Providers:0:Id=main", "Ai:Providers:0:Model=gpt-5", "Ai:Providers:0:ApiKey=k"];
/// Settings of the search provider `web`.
const SEARCH_ENTRY: [&str; 4] = [
    "Ai:Providers:1:Id=web",
    "Ai:Providers:1:ProviderType=Linkup",
    "Ai:Providers:1:ApiKey=s",
    "Ai:Providers:1:Model=deep",
];

/// Creates sources with the entries of a chat model and of a search provider.
fn model_and_search() -> Operator {
    Operator::development().arguments(&MODEL_ENTRY).arguments(&SEARCH_ENTRY)
}

fn entry(operator: &Operator, id: &str) -> Target {
    Target::clone(operator.read().ai.catalogue.entry(id).unwrap())
}

fn ids(catalogue: &ModelCatalogue) -> Vec<&str> {
    catalogue.entries.iter().filter_map(|it| it.id.as_deref()).collect()
}

/// Returns the keys of the settings whose values are errors.
fn error_keys(operator: &Operator) -> Vec<String> {
    let errors = operator.sources.load_config().unwrap_err();
    errors.iter().filter_map(|it| it.key().map(str::to_owned)).collect()
}

#[test]
fn a_minimal_entry_is_complete() {
    let operator = Operator::development().arguments(&MODEL_ENTRY);

    let target = entry(&operator, "MAIN");

    assert_eq!(target.id.as_deref(), Some("main"));
    assert_eq!(target.name.as_deref(), Some("main"));
    assert_eq!(target.provider, ProviderType::OpenAi);
    assert_eq!(target.endpoint, "https://api.openai.com/v1");
    assert_eq!(target.model, "gpt-5");
    assert!(target.keys[0].ct_eq("k"));
    assert!(target.vision && !target.web_search && !target.takes_reasoning_effort);
    assert_eq!(target.reasoning_effort, None);
    assert_eq!(target.rates, Rates::default());
    assert!(operator.notices().is_empty());
}

#[test]
fn addresses_are_passed_on_at_public_endpoints_or_if_enabled() {
    let fetches = |more: &[&str]| {
        entry(&Operator::development().arguments(&MODEL_ENTRY).arguments(more), "main").addresses
            == Addresses::PassedOn
    };
    let typed = |name: &str| fetches(&[&format!("Ai:Providers:0:ProviderType={name}")]);
    let elsewhere = "Ai:Providers:0:Endpoint=https://models.example/v1";

    let public = ["OpenAI", "OpenRouter", "Mistral", "Anthropic"];
    assert_eq!(public.map(typed), [true; 4]);
    assert!(!typed("Ollama"));
    for name in ["OpenAI", "OpenAICompatible", "VLlm", "Anthropic"] {
        assert!(!fetches(&[&format!("Ai:Providers:0:ProviderType={name}"), elsewhere]), "{name}");
    }
    assert!(fetches(&[elsewhere, "Ai:Providers:0:EnableAddresses=true"]));
    assert!(!fetches(&["Ai:Providers:0:EnableAddresses=false"]));
}

#[test]
fn unsupported_parameters_can_be_configured() {
    let with = |names: &str| {
        let names = format!("Ai:Providers:0:UnsupportedParameters={names}");
        Operator::development().arguments(&MODEL_ENTRY).argument(&names)
    };

    assert_eq!(entry(&with("Temperature, top_k"), "main").unsupported, ["temperature", "top_k"]);
    assert!(entry(&with(""), "main").unsupported.is_empty());
    assert_eq!(error_keys(&with("top_z")), ["Ai:Providers:0:UnsupportedParameters"]);
}

#[test]
fn upstream_tools_have_a_type_and_a_price() {
    let with = |tools: &str| {
        let tools = format!("Ai:Providers:0:UpstreamTools={tools}");
        Operator::development().arguments(&MODEL_ENTRY).argument(&tools)
    };
    let tools_of = |operator: &Operator| -> Vec<(String, i64)> {
        let tools = &entry(operator, "main").upstream_tools;
        tools.iter().map(|it| (it.kind.clone(), it.price.0)).collect()
    };

    let priced = with("web_search=10, openrouter:web_search=0.5,mcp=0");
    assert_eq!(
        tools_of(&priced),
        [("web_search", 10_000_000), ("openrouter:web_search", 500_000), ("mcp", 0)]
            .map(|(kind, price)| (kind.to_owned(), price))
    );
    assert!(tools_of(&with("")).is_empty() && priced.notices().is_empty());
    for wrong in ["web_search", "web_search=", "=5", "a b=5", "function=1", "custom=1", "a=1,a=2"] {
        assert_eq!(error_keys(&with(wrong)), ["Ai:Providers:0:UpstreamTools"], "{wrong}");
    }
    let translated = with("web_search=10").argument("Ai:Providers:0:ProviderType=Anthropic");
    assert!(tools_of(&translated).is_empty());
    let [notice] = translated.notices().try_into().unwrap();
    assert!(notice.contains("UpstreamTools") && notice.ends_with("with the type Anthropic"));
}

#[test]
fn a_file_can_configure_every_setting_of_an_entry() {
    let text = r#"{ "Ai": { "Providers": [
        { "Id": "a", "Name": "Large", "ProviderType": "OpenAICompatible",
          "Endpoint": "https://models.example/v1/", "ApiKeys": ["k1", "k2"], "Model": "m",
          "ReasoningEffort": "high", "SupportsReasoningEffort": true, "EnableVision": false,
          "WebSearchToolProviderId": "WEB", "VisionToolProviderId": "b", "Fallbacks": ["b"],
          "CreditRates": { "InputPerMillion": 500, "CachedInputPerMillion": 0 },
          "Protection": { "RequestsPerMinute": 60, "TokensPerMinute": 9, "MaxConcurrent": 4 } },
        { "Id": "b", "ProviderType": 6, "ApiKey": "k", "MistralAgentId": "ag:1" },
        { "Id": "web", "ProviderType": "linkup", "ApiKey": "s", "Model": "Fast" } ] } }"#;
    let operator = Operator::development().file("appsettings.json", text);

    let large = entry(&operator, "a");
    let agent = entry(&operator, "b");

    assert_eq!(large.name.as_deref(), Some("Large"));
    assert_eq!(large.endpoint, "https://models.example/v1");
    assert_eq!(large.keys.len(), 2);
    assert_eq!(large.reasoning_effort, Some(ReasoningEffort::High));
    assert!(large.takes_reasoning_effort && !large.vision);
    assert_eq!(large.web_search_tool.as_deref(), Some("WEB"));
    assert_eq!(large.vision_tool.as_deref(), Some("b"));
    assert_eq!(large.fallbacks, ["b"]);
    assert_eq!(large.rates.input, 500_000);
    assert_eq!(large.rates.cached_input, 0);
    assert_eq!(large.protection.requests_per_minute, Some(60));
    assert_eq!(large.protection.tokens_per_minute, Some(9));
    assert_eq!(large.protection.concurrent, Some(4));
    assert_eq!(agent.model, "ag:1");
    assert_eq!(agent.agent.as_deref(), Some("ag:1"));
    let catalogue = operator.read().ai.catalogue;
    let search = catalogue.search("web").unwrap();
    assert_eq!(search.endpoint, "https://api.linkup.so/v1");
    assert_eq!(search.depth, SearchDepth::Fast);
    assert!(search.keys[0].ct_eq("s") && operator.notices().is_empty());
}

#[test]
fn the_environment_names_entries_by_their_number() {
    let operator = Operator::development()
        .variable("Ai__Providers__0__Id", "main")
        .variable("AI__PROVIDERS__0__MODEL", "m")
        .variable("Ai__Providers__0__CreditRates__OutputPerMillion", "7")
        .variable("Ai__Providers__0__ApiKeys__0", "k");

    let target = entry(&operator, "main");

    assert_eq!(target.model, "m");
    assert_eq!(target.rates.output, 7000);
    assert!(target.keys[0].ct_eq("k"));
}

#[test]
fn ids_are_required_and_unique() {
    let nameless = Operator::development().argument("Ai:Providers:0:Model=m");
    let twice = model_and_search().arguments(&["Ai:Providers:2:Id=WEB", "Ai:Providers:2:Model=m"]);
    let long = Operator::development()
        .argument(&format!("Ai:Providers:0:Id={}", "x".repeat(101)))
        .argument("Ai:Providers:0:Model=m");

    for (id, reason) in [
        ("a,b", "expected no comma: ids stand in lists"),
        ("Pia-Cloud", "`pia-cloud` stands for the model of a mode, not for an entry"),
    ] {
        let model = "Ai:Providers:0:Model=m";
        let odd = Operator::development().variable("Ai__Providers__0__Id", id).argument(model);
        let errors = odd.errors();
        assert!(errors.len() == 1 && errors[0].ends_with(reason), "{errors:?}");
        assert_eq!(error_keys(&odd), ["Ai:Providers:0:Id"]);
    }
    assert!(nameless.errors()[0].starts_with("SVC-CFG-002 setting `Ai:Providers:0:Id`"));
    assert_eq!(error_keys(&twice), ["Ai:Providers:2:Id"]);
    assert_eq!(error_keys(&long), ["Ai:Providers:0:Id"]);
}

#[test]
fn entries_behind_a_gap_are_ignored_and_reported_once() {
    let operator = model_and_search().arguments(&[
        "Ai:Providers:3:Id=late",
        "Ai:Providers:3:ProviderType=nonsense",
        "Ai:Providers:5:Unknown=x",
        "Ai:Providers:07:Id=odd",
        "Ai:Providers:main:Id=odd",
    ]);

    let notices = operator.notices();

    let from = "from the command line: ";
    let expected = [
        format!("setting `Ai:Providers:07` {from}is ignored: entries have numbers, from 0 on"),
        format!(
            "setting `Ai:Providers:3` {from}the entry (`late`) is ignored, since there is no entry 2"
        ),
        format!("setting `Ai:Providers:5` {from}the entry is ignored, since there is no entry 2"),
        format!("setting `Ai:Providers:main` {from}is ignored: entries have numbers, from 0 on"),
    ];
    assert_eq!(notices, expected);
    assert_eq!(ids(&operator.read().ai.catalogue), ["main"]);
}

#[test]
fn without_entry_0_all_entries_are_ignored() {
    let operator = Operator::development().argument("Ai:Providers:1:Id=late");

    let [notice] = operator.notices().try_into().unwrap();

    assert!(
        notice.contains("`Ai:Providers:1`") && notice.contains("(`late`) is ignored"),
        "{notice}"
    );
    assert!(ids(&operator.read().ai.catalogue).is_empty());
}

#[test]
fn an_empty_catalogue_has_no_notices() {
    let text = r#"{ "Ai": { "Providers": [] } }"#;

    assert!(Operator::development().file("appsettings.json", text).notices().is_empty());
}

#[test]
fn malformed_entries_are_reported() {
    assert_eq!(
        error_keys(&Operator::development().argument("Ai:Providers=main")),
        ["Ai:Providers"]
    );
    let errors = error_keys(&Operator::development().argument("Ai:Providers:0=main"));
    assert_eq!(errors, ["Ai:Providers:0:Id", "Ai:Providers:0:Model", "Ai:Providers:0"]);
}

#[test]
fn a_misspelled_setting_of_an_entry_is_reported_with_a_suggestion() {
    let [notice] =
        model_and_search().argument("Ai:Providers:0:Fallback=web").notices().try_into().unwrap();

    assert!(
        notice.ends_with("is not known and has no effect; did you mean `Fallbacks`?"),
        "{notice}"
    );
}

#[test]
fn the_required_settings_of_a_type_are_checked() {
    let entry = |settings: &[&str]| {
        let operator = Operator::development().argument("Ai:Providers:0:Id=a");
        let set = |it: Operator, setting: &&str| it.argument(&format!("Ai:Providers:0:{setting}"));
        error_keys(&settings.iter().fold(operator, set))
    };

    assert_eq!(entry(&["ApiKey=k"]), ["Ai:Providers:0:Model"]);
    assert_eq!(
        entry(&["ProviderType=AzureOpenAI"]),
        ["Ai:Providers:0:Endpoint", "Ai:Providers:0:AzureDeploymentName"]
    );
    assert_eq!(entry(&["ProviderType=VLlm", "Model=m"]), ["Ai:Providers:0:Endpoint"]);
    assert_eq!(entry(&["ProviderType=5", "Model=m"]), ["Ai:Providers:0:Endpoint"]);
    assert_eq!(entry(&["ProviderType=Other", "Model=m"]), ["Ai:Providers:0:ProviderType"]);
    assert_eq!(entry(&["ReasoningEffort=most", "Model=m"]), ["Ai:Providers:0:ReasoningEffort"]);
    assert_eq!(entry(&["AzureApiVersion=a b", "Model=m"]), ["Ai:Providers:0:AzureApiVersion"]);
    assert_eq!(
        entry(&["Protection:MaxConcurrent=0", "Model=m"]),
        ["Ai:Providers:0:Protection:MaxConcurrent"]
    );
}

#[test]
fn all_errors_of_the_catalogue_are_reported_at_once() {
    let operator = Operator::development().arguments(&[
        "Ai:ProviderType=Linkup",
        "Ai:WebSearchToolProviderId=none",
        "Ai:Providers:0:Id=a",
        "Ai:Providers:0:ProviderType=AzureOpenAI",
        "Ai:Providers:0:CreditRates:InputPerMillion=",
        "Ai:Providers:1:Id=A",
        "Ai:Providers:1:ProviderType=Linkup",
        "Ai:Providers:1:Model=far",
    ]);

    let mut keys = error_keys(&operator);

    keys.sort();
    let expected = [
        "Ai:ProviderType",
        "Ai:Providers:0:AzureDeploymentName",
        "Ai:Providers:0:CreditRates:InputPerMillion",
        "Ai:Providers:0:Endpoint",
        "Ai:Providers:1:Id",
        "Ai:Providers:1:Model",
        "Ai:WebSearchToolProviderId",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn a_paid_endpoint_without_a_key_has_a_notice() {
    let operator = Operator::development().arguments(&[
        "Ai:Providers:0:Id=a",
        "Ai:Providers:0:Model=m",
        "Ai:Providers:1:Id=b",
        "Ai:Providers:1:Model=m",
        "Ai:Providers:1:Endpoint=http://localhost:1",
        "Ai:Providers:2:Id=c",
        "Ai:Providers:2:Model=m",
        "Ai:Providers:2:ProviderType=Ollama",
        "Ai:Providers:3:Id=d",
        "Ai:Providers:3:Model=fast",
        "Ai:Providers:3:ProviderType=Linkup",
    ]);

    let config = operator.read();

    let keys: Vec<_> = config.notices.iter().map(Notice::key).collect();
    assert_eq!(keys, ["Ai:Providers:0:ApiKey", "Ai:Providers:3:ApiKey"]);
}

#[test]
fn entries_need_a_restart_and_models_do_not() {
    let operator = model_and_search().arguments(&["Ai:Model=m", "Ai:ApiKey=k"]);
    let config = LiveConfig::new(operator.read());
    let started = config.latest();
    let catalogue =
        config.follow(move |it| it.ai.catalogue.clone().with_entries_of(&started.ai.catalogue));
    let operator = operator.arguments(&[
        "Ai:Model=other",
        "Ai:Providers:0:Model=gpt-6",
        "Ai:Providers:2:Id=new",
        "Ai:Providers:2:Model=m",
        "Ai:Providers:2:ApiKey=k",
    ]);

    let changes = config.reload(&operator.sources).unwrap();

    assert_eq!(changes.reloaded, ["Ai:Model"]);
    assert!(changes.restart_only.contains(&"Ai:Providers:0:Model".to_owned()));
    assert!(changes.restart_only.contains(&"Ai:Providers:2:Id".to_owned()));
    let catalogue = catalogue.get();
    assert_eq!(catalogue.default.as_ref().unwrap().model, "other");
    assert_eq!(ids(&catalogue), ["main"]);
    assert_eq!(catalogue.entries[0].model, "gpt-5");
    assert_eq!(catalogue.searches.len(), 1);
}

#[test]
fn a_removed_entry_needs_a_restart() {
    let config = LiveConfig::new(model_and_search().read());

    let changes = config.reload(&Operator::development().arguments(&MODEL_ENTRY).sources).unwrap();

    assert!(changes.restart_only.contains(&"Ai:Providers:1:Id".to_owned()), "{changes:?}");
    assert!(changes.reloaded.is_empty());
}

#[test]
fn debug_output_omits_the_keys_of_the_catalogue() {
    let operator = model_and_search().argument("Ai:Providers:0:ApiKeys=s3cretA,s3cretB");

    let config = operator.read();

    assert!(!format!("{config:?}{:?}", config.ai).contains("s3cret"));
}
