//! Tests of searches, and of the tools of entries.

use super::*;

/// Settings of the embedding model `vectors`.
const EMBEDDING_ENTRY: [&str; 4] = [
    "Ai:Providers:2:Id=vectors",
    "Ai:Providers:2:Model=m",
    "Ai:Providers:2:ApiKey=k",
    "Ai:Providers:2:Embeddings=true",
];
/// Settings of the chat model `blind`, which cannot see pictures.
const BLIND_ENTRY: [&str; 4] = [
    "Ai:Providers:2:Id=blind",
    "Ai:Providers:2:Model=m",
    "Ai:Providers:2:ApiKey=k",
    "Ai:Providers:2:EnableVision=false",
];

#[test]
fn a_search_has_a_depth_in_any_case() {
    for depth in ["fast", "standard", "DEEP"] {
        let operator = model_and_search().argument(&format!("Ai:Providers:1:Model={depth}"));

        let catalogue = operator.read().ai.catalogue;

        assert_eq!(catalogue.searches[0].depth.name(), depth.to_lowercase());
    }
}

#[test]
fn an_unknown_depth_of_a_search_is_an_error() {
    for depth in ["deeper", "", "1"] {
        let operator = model_and_search().argument(&format!("Ai:Providers:1:Model={depth}"));

        assert_eq!(error_keys(&operator), ["Ai:Providers:1:Model"], "{depth}");
    }
}

#[test]
fn a_search_may_have_several_keys_and_limits() {
    let operator = model_and_search().arguments(&[
        "Ai:Providers:1:ApiKeys=t,s",
        "Ai:Providers:1:Protection:RequestsPerMinute=7",
        "Ai:Providers:1:Protection:MaxConcurrent=2",
    ]);

    let catalogue = operator.read().ai.catalogue;

    let search = catalogue.search("web").unwrap();
    let keys: Vec<_> = search.keys.iter().map(|it| it.expose().as_str()).collect();
    assert_eq!(keys, ["s", "t"]);
    assert_eq!(search.protection.requests_per_minute, Some(7));
    assert_eq!(search.protection.concurrent, Some(2));
    assert!(operator.notices().is_empty());
}

#[test]
fn settings_without_effect_on_a_search_are_reported() {
    for setting in [
        "AzureDeploymentName=d",
        "AzureApiVersion=2024-10-21",
        "MistralAgentId=a",
        "ReasoningEffort=low",
        "SupportsReasoningEffort=true",
        "EnableWebSearch=true",
        "EnableVision=false",
        "EnableAddresses=true",
        "UpstreamTools=web_search=1",
        "UnsupportedParameters=top_k",
        "WebSearchToolProviderId=web",
        "VisionToolProviderId=main",
        "Fallbacks=main",
        "CreditRates:InputPerMillion=1",
        "CreditRates:OutputPerMillion=1",
        "CreditRates:CachedInputPerMillion=1",
        "CreditRates:ConnectorPerMillion=1",
        "Protection:TokensPerMinute=1",
    ] {
        let operator = model_and_search().argument(&format!("Ai:Providers:1:{setting}"));

        let [notice] = operator.notices().try_into().unwrap();

        let (name, _) = setting.split_once('=').unwrap();
        let expected_start =
            format!("setting `Ai:Providers:1:{name}` from the command line: has no effect");
        assert!(notice.starts_with(&expected_start), "{notice}");
        let catalogue = operator.read().ai.catalogue;
        assert_eq!(catalogue.search("web").unwrap().protection, Protection::default());
    }
}

#[test]
fn an_embedding_model_is_not_a_chat_model() {
    let catalogue = model_and_search().arguments(&EMBEDDING_ENTRY).read().ai.catalogue;

    assert!(catalogue.entry("vectors").is_none());
    assert!(catalogue.embedder("Vectors").is_some());
}

#[test]
fn an_embedding_model_serves_no_chats_and_has_a_type_with_embeddings() {
    for (setting, reason) in [
        ("Ai:Fallbacks=vectors", "expected chat models, not one of embeddings"),
        ("Ai:VisionToolProviderId=vectors", "expected a chat model, not one of embeddings"),
        ("Ai:Providers:2:ProviderType=Anthropic", "this type of provider has no embeddings"),
    ] {
        let errors = model_and_search().arguments(&EMBEDDING_ENTRY).argument(setting).errors();

        assert!(errors.iter().any(|it| it.contains(reason)), "{errors:?}");
    }
}

#[test]
fn a_tool_must_be_an_entry_of_the_right_type() {
    for section in ["Ai", "Ai:Modes:Research", "Ai:Providers:0"] {
        for (setting, reason) in [
            ("WebSearchToolProviderId=none", "names no entry of Ai:Providers"),
            ("WebSearchToolProviderId=blind", "expected an entry of type Linkup"),
            ("VisionToolProviderId=none", "names no entry of Ai:Providers"),
            ("VisionToolProviderId=web", "expected a chat model, not Linkup"),
            ("VisionToolProviderId=blind", "names an entry whose EnableVision is off"),
            ("Fallbacks=blind,none", "names an entry that Ai:Providers does not have"),
            ("Fallbacks=blind,web", "expected chat models, not Linkup"),
        ] {
            let operator = model_and_search()
                .arguments(&BLIND_ENTRY)
                .argument(&format!("{section}:{setting}"));

            let errors = operator.errors();

            let (name, _) = setting.split_once('=').unwrap();
            let expected =
                format!("SVC-CFG-005 setting `{section}:{name}` from the command line: {reason}");
            assert_eq!(errors, [expected]);
        }
    }
}

#[test]
fn an_entry_is_not_its_own_fallback() {
    let operator = model_and_search().argument("Ai:Providers:0:Fallbacks=MAIN");

    assert_eq!(error_keys(&operator), ["Ai:Providers:0:Fallbacks"]);
}

#[test]
fn tools_may_be_named_in_any_case_and_before_their_entries() {
    let operator = model_and_search().arguments(&[
        "Ai:Providers:0:WebSearchToolProviderId=Web",
        "Ai:Model=m",
        "Ai:ApiKey=k",
        "Ai:VisionToolProviderId=MAIN",
        "Ai:Fallbacks:0=Main",
    ]);

    let default = operator.read().ai.catalogue.default.unwrap();

    assert_eq!(default.vision_tool.as_deref(), Some("MAIN"));
    assert_eq!(default.fallbacks, ["Main"]);
}
