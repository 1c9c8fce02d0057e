//! Tests of the models of `Ai` and of the modes.

use pia_assistant::{Addresses, Mode, ProviderType, Rates, Target};

use super::*;

/// Returns the model that serves a mode: name, endpoint and key.
fn model(operator: &Operator, mode: Mode) -> Option<[String; 3]> {
    let target = operator.read().ai.catalogue.serving(Some(mode))?;
    let key = target.keys.first().map(|it| it.expose().clone()).unwrap_or_default();
    Some([target.model.clone(), target.endpoint.clone(), key])
}

#[test]
fn a_model_needs_its_name_and_a_key_or_an_endpoint() {
    let key = Operator::development().argument("Ai:Model=m").argument("Ai:ApiKey=k");
    let endpoint =
        Operator::development().argument("Ai:Model=m").argument("Ai:Endpoint=http://h/v1/");
    let name = Operator::development().argument("Ai:Model=m");
    let nothing = Operator::development();

    assert_eq!(model(&key, Mode::Optimize).unwrap(), ["m", "https://api.openai.com/v1", "k"]);
    assert_eq!(model(&endpoint, Mode::Optimize).unwrap(), ["m", "http://h/v1", ""]);
    assert_eq!(model(&name, Mode::Optimize), None);
    assert_eq!(model(&nothing, Mode::Optimize), None);
    assert_eq!(nothing.notices(), Vec::<String>::new());
    let expected = "setting `Ai:Model` from the command line: is not used: a model needs its name, \
                    and a key or an endpoint";
    assert_eq!(name.notices(), [expected]);
}

#[test]
fn a_mode_inherits_missing_settings_from_the_default() {
    let operator = Operator::development()
        .argument("Ai:Model=m")
        .argument("Ai:ApiKey=k")
        .argument("Ai:Modes:Research:Model=r")
        .argument("Ai:Modes:Assistant:Endpoint=http://here")
        .argument("Ai:Modes:Assistant:ApiKey=");

    assert_eq!(model(&operator, Mode::Optimize).unwrap(), ["m", "https://api.openai.com/v1", "k"]);
    assert_eq!(model(&operator, Mode::Research).unwrap(), ["r", "https://api.openai.com/v1", "k"]);
    assert_eq!(model(&operator, Mode::Assistant).unwrap(), ["m", "http://here", ""]);
}

#[test]
fn a_complete_mode_needs_no_default() {
    let operator = Operator::development()
        .argument("Ai:Modes:Assistant:Model=a")
        .argument("Ai:Modes:Assistant:ApiKey=k");

    assert_eq!(model(&operator, Mode::Assistant).unwrap(), ["a", "https://api.openai.com/v1", "k"]);
    assert_eq!(model(&operator, Mode::Research), None);
}

fn target(operator: &Operator, mode: Mode) -> Target {
    let target = operator.read().ai.catalogue.serving(Some(mode)).unwrap();
    Target::clone(&target)
}

#[test]
fn a_provider_type_has_a_name_and_a_number() {
    for (number, provider) in (1..).zip(ProviderType::ALL) {
        for name in [provider.name().to_lowercase(), number.to_string()] {
            let operator = Operator::development().arguments(&[
                &format!("Ai:ProviderType={name}"),
                "Ai:Model=m",
                "Ai:ApiKey=k",
                "Ai:Endpoint=http://h/v1",
                "Ai:AzureDeploymentName=d",
            ]);

            assert_eq!(target(&operator, Mode::Optimize).provider, provider, "{name}");
        }
    }
    for name in ["0", "9", "01", "PiaCloud"] {
        let operator = Operator::development().argument(&format!("Ai:ProviderType={name}"));
        assert!(operator.errors()[0].contains("expected one of OpenAI, AzureOpenAI, "), "{name}");
    }
}

#[test]
fn a_search_provider_is_not_a_chat_model() {
    for key in
        ["Ai:ProviderType", "Ai:Modes:Assistant:ProviderType", "Ai:Modes:Research:ProviderType"]
    {
        let errors = Operator::development().argument(&format!("{key}=linkup")).errors();

        let expected = format!(
            "SVC-CFG-005 setting `{key}` from the command line: Linkup searches the web and is no \
             chat model"
        );
        assert_eq!(errors, [expected]);
    }
}

#[test]
fn a_type_has_a_default_endpoint_or_requires_one() {
    let endpoint = |provider: &str| {
        let operator = Operator::development().arguments(&[
            &format!("Ai:ProviderType={provider}"),
            "Ai:Model=m",
            "Ai:ApiKey=k",
        ]);
        operator.sources.load_config().map(|it| it.ai.catalogue.default.unwrap().endpoint.clone())
    };

    for (provider, default_endpoint) in [
        ("OpenAI", "https://api.openai.com/v1"),
        ("Ollama", "http://localhost:11434"),
        ("OpenRouter", "https://openrouter.ai/api/v1"),
        ("Mistral", "https://api.mistral.ai/v1"),
        ("Anthropic", "https://api.anthropic.com/v1"),
    ] {
        assert_eq!(endpoint(provider).unwrap(), default_endpoint);
    }
    for provider in ["OpenAICompatible", "VLlm"] {
        let message = endpoint(provider).unwrap_err().to_string();
        let expected = format!(
            "SVC-CFG-002 setting `Ai:Endpoint`: is missing: the type {provider} needs the base URL \
             of its server"
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn azure_needs_its_endpoint_and_its_deployment() {
    let operator = || Operator::development().argument("Ai:ProviderType=AzureOpenAI");

    let errors = operator().errors();

    assert!(errors[0].starts_with("SVC-CFG-002 setting `Ai:Endpoint`"), "{errors:?}");
    assert!(errors[1].starts_with("SVC-CFG-002 setting `Ai:AzureDeploymentName`"), "{errors:?}");
    let operator = operator().arguments(&[
        "Ai:Endpoint=https://x.openai.azure.com/",
        "Ai:AzureDeploymentName=gpt",
        "Ai:ApiKey=k",
    ]);
    let minimal = target(&operator, Mode::Optimize);
    assert_eq!(minimal.model, "gpt");
    assert_eq!(minimal.deployment.as_deref(), Some("gpt"));
    assert_eq!(minimal.api_version.as_deref(), Some("2024-10-21"));

    let operator = operator.arguments(&["Ai:AzureApiVersion=2025-04-01-preview", "Ai:Model=m"]);
    let configured = target(&operator, Mode::Optimize);
    assert_eq!(configured.model, "m");
    assert_eq!(configured.api_version.as_deref(), Some("2025-04-01-preview"));
}

#[test]
fn a_server_on_this_machine_needs_no_key() {
    let operator =
        Operator::development().arguments(&["Ai:ProviderType=Ollama", "Ai:Model=llama3.2"]);

    assert!(target(&operator, Mode::Optimize).keys.is_empty());
    assert!(operator.notices().is_empty());
}

#[test]
fn keys_are_deduplicated() {
    let operator = Operator::development().arguments(&[
        "Ai:Model=m",
        "Ai:ApiKey=a",
        "Ai:ApiKeys:0=b",
        "Ai:ApiKeys:1=a",
        "Ai:Modes:Research:ApiKeys=c,d",
    ]);
    let keys = |mode| {
        target(&operator, mode).keys.iter().map(|it| it.expose().clone()).collect::<Vec<_>>()
    };

    assert_eq!(keys(Mode::Assistant), ["a", "b"]);
    assert_eq!(keys(Mode::Research), ["c", "d"]);
}

#[test]
fn a_mode_may_have_everything_that_a_model_has() {
    let operator = Operator::development().arguments(&[
        "Ai:Model=m",
        "Ai:ApiKey=k",
        "Ai:EnableWebSearch=true",
        "Ai:ReasoningEffort=low",
        "Ai:Protection:MaxConcurrent=5",
        "Ai:Protection:TokensPerMinute=6",
        "Ai:Modes:Research:EnableWebSearch=false",
        "Ai:Modes:Research:ReasoningEffort=XHigh",
        "Ai:Modes:Research:EnableVision=false",
        "Ai:Modes:Research:EnableAddresses=false",
        "Ai:Modes:Research:Protection:MaxConcurrent=2",
    ]);

    let assistant = target(&operator, Mode::Assistant);
    let research = target(&operator, Mode::Research);

    assert!(assistant.web_search && assistant.vision);
    assert!(!research.web_search && !research.vision);
    assert_eq!(assistant.addresses, Addresses::PassedOn);
    assert_eq!(research.addresses, Addresses::Refused);
    assert_eq!(assistant.reasoning_effort.unwrap().name(), "Low");
    assert_eq!(research.reasoning_effort.unwrap().name(), "XHigh");
    assert_eq!(assistant.protection.concurrent, Some(5));
    assert_eq!(research.protection.concurrent, Some(2));
    assert_eq!(research.protection.tokens_per_minute, Some(6));
}

#[test]
fn a_mode_of_another_type_with_the_same_endpoint_has_a_notice() {
    let operator = Operator::development().arguments(&[
        "Ai:Model=m",
        "Ai:Endpoint=http://h",
        "Ai:Modes:Research:ProviderType=Ollama",
    ]);

    let [notice] = operator.notices().try_into().unwrap();

    assert!(notice.starts_with("setting `Ai:Modes:Research:ProviderType`"), "{notice}");
    assert_eq!(target(&operator, Mode::Research).endpoint, "http://h");
}

#[test]
fn the_rates_of_the_nearest_section_apply() {
    let operator = Operator::development().arguments(&[
        "Ai:Model=m",
        "Ai:ApiKey=k",
        "Ai:CreditRates:OutputPerMillion=4000.5",
        "Ai:CreditRates:ConnectorPerMillion=1",
        "Ai:Modes:Research:CreditRates:InputPerMillion=250",
    ]);

    let default = target(&operator, Mode::Optimize);
    let research = target(&operator, Mode::Research);

    let rates =
        Rates { input: 1_000_000, output: 4_000_500, cached_input: 1_000_000, connector: 1000 };
    assert_eq!(default.rates, rates);
    assert_eq!(research.rates, Rates { input: 250_000, cached_input: 250_000, ..rates });
}

#[test]
fn a_rate_must_be_a_number() {
    for rate in
        ["InputPerMillion", "OutputPerMillion", "CachedInputPerMillion", "ConnectorPerMillion"]
    {
        for section in ["Ai", "Ai:Modes:Assistant", "Ai:Providers:0"] {
            for value in ["", "-1", "10000000.1", "1e8", "much"] {
                let key = format!("{section}:CreditRates:{rate}");
                let operator = Operator::development()
                    .arguments(&["Ai:Providers:0:Id=a", "Ai:Providers:0:Model=m"])
                    .argument(&format!("{key}={value}"));

                let errors = operator.errors();

                let expected = format!(
                    "SVC-CFG-003 setting `{key}` from the command line: expected a number from 0 \
                     to 10000000"
                );
                assert_eq!(errors, [expected]);
            }
        }
    }
}

#[test]
fn a_cached_token_costs_no_more_than_a_fresh_one() {
    let key = "Ai:Modes:Assistant:CreditRates:CachedInputPerMillion";
    for settings in [
        &["Ai:Modes:Assistant:CreditRates:CachedInputPerMillion=1000.001"][..],
        &[
            "Ai:CreditRates:CachedInputPerMillion=900",
            "Ai:Modes:Assistant:CreditRates:InputPerMillion=800",
        ],
    ] {
        let errors = Operator::development().arguments(settings).errors();

        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with(&format!("SVC-CFG-005 setting `{key}`")), "{errors:?}");
    }
}

#[test]
fn unsupported_features_of_a_type_are_off_with_a_notice() {
    for (provider, setting) in [
        ("Ollama", "EnableWebSearch=true"),
        ("VLlm", "EnableWebSearch=true"),
        ("OpenAICompatible", "EnableWebSearch=true"),
        ("AzureOpenAI", "EnableWebSearch=true"),
        ("OpenAI", "MistralAgentId=a"),
        ("Mistral", "SupportsReasoningEffort=true"),
        ("Mistral", "AzureApiVersion=2024-10-21"),
    ] {
        let operator = Operator::development().arguments(&[
            "Ai:Model=m",
            "Ai:Endpoint=http://h/v1",
            &format!("Ai:ProviderType={provider}"),
            &format!("Ai:{setting}"),
        ]);
        let operator = match provider {
            "AzureOpenAI" => operator.argument("Ai:AzureDeploymentName=d"),
            _ => operator,
        };

        let [notice] = operator.notices().try_into().unwrap();

        let (name, _) = setting.split_once('=').unwrap();
        assert!(
            notice.starts_with(&format!("setting `Ai:{name}` from the command line")),
            "{notice}"
        );
        let target = target(&operator, Mode::Optimize);
        assert!(!target.web_search && target.agent.is_none() && !target.takes_reasoning_effort);
    }
}

#[test]
fn web_search_is_on_for_types_that_support_it() {
    for provider in ["OpenAI", "OpenRouter", "Mistral", "Anthropic"] {
        let operator = Operator::development().arguments(&[
            "Ai:Model=m",
            "Ai:ApiKey=k",
            "Ai:EnableWebSearch=true",
            &format!("Ai:ProviderType={provider}"),
        ]);

        assert!(target(&operator, Mode::Optimize).web_search, "{provider}");
        assert!(operator.notices().is_empty());
    }
}
