//! Tests of the tools of the server.

use super::*;
use crate::request::sample::PromptText;
use crate::routing::catalogue::SearchDepth;
use crate::routing::target::{Addresses, Protection, ProviderType};

fn catalogue() -> ModelCatalogue {
    let search = SearchProvider {
        id: "web".to_owned(),
        endpoint: "http://h".to_owned(),
        keys: Vec::new(),
        depth: SearchDepth::Fast,
        protection: Protection::default(),
    };
    let eyes = Target { id: Some("eyes".to_owned()), ..target() };
    ModelCatalogue {
        entries: vec![Arc::new(eyes)],
        searches: vec![Arc::new(search)],
        ..ModelCatalogue::default()
    }
}

fn target() -> Target {
    Target::new(ProviderType::OpenAi, "http://h", "m")
}

fn without_vision() -> Target {
    Target {
        vision: false,
        vision_tool: Some("EYES".to_owned()),
        web_search_tool: Some("Web".to_owned()),
        ..target()
    }
}

fn sample_prompt() -> UpstreamPrompt {
    let part = r#"{"type":"image_url","image_url":{"url":"data:x"}}"#;
    let messages = format!(r#"[{{"role":"user","content":[{part}]}}]"#);
    UpstreamPrompt {
        pictures: true,
        ..UpstreamPrompt::from_messages(&messages, PromptText::default())
    }
}

fn call(name: &str, arguments: &str) -> Call {
    Call { id: String::new(), name: name.to_owned(), arguments: arguments.to_owned() }
}

#[test]
fn a_model_with_vision_gets_pictures_and_another_a_tool() {
    let mut prompt = sample_prompt();
    let tools = ServerTools::for_prompt(
        &Target { vision: true, ..without_vision() },
        &catalogue(),
        &mut prompt,
    );
    assert!(tools.vision.is_none() && prompt.pictures && tools.search.is_some());

    let tools = ServerTools::for_prompt(&without_vision(), &catalogue(), &mut prompt);
    assert!(tools.has(LOOK) && !prompt.pictures);
    assert!(!String::from_utf8_lossy(&prompt.messages).contains("data:x"));
    let declared = tools.declarations().join(" ");
    assert!(declared.contains(SEARCH) && declared.contains(LOOK));

    let question = r#"{"picture":1,"question":"what?"}"#;
    let ServerToolTask::Look { picture, question } = tools.task(&call(LOOK, question)) else {
        panic!("no look")
    };
    assert!(String::from_utf8_lossy(&picture).contains("data:x"));
    assert_eq!(question, "what?");
}

#[test]
fn without_tools_pictures_are_removed_for_a_model_without_vision() {
    let seeing = Target { vision: true, ..without_vision() };
    let mut prompt = sample_prompt();

    ServerTools::remove_pictures(&seeing, &mut prompt);
    assert!(prompt.pictures);

    ServerTools::remove_pictures(&without_vision(), &mut prompt);
    assert!(!prompt.pictures);
    assert!(!String::from_utf8_lossy(&prompt.messages).contains("data:x"));
}

#[test]
fn fallbacks_of_a_vision_model_have_vision_and_fetch_if_required() {
    let entry = |id: &str| {
        let fallbacks = ["near", "far", "dark"].map(str::to_owned).into();
        Target { id: Some(id.to_owned()), fallbacks, ..target() }
    };
    let fetching = |id| Target { addresses: Addresses::PassedOn, ..entry(id) };
    let dark = Target { vision: false, ..fetching("dark") };
    let entries = [fetching("eyes"), entry("near"), fetching("far"), dark].map(Arc::new);
    let catalogue = ModelCatalogue { entries: entries.into(), ..catalogue() };
    let route = |mut prompt: UpstreamPrompt| {
        let vision_model =
            ServerTools::for_prompt(&without_vision(), &catalogue, &mut prompt).vision.unwrap();
        vision_model.route.iter().filter_map(|it| it.id.clone()).collect::<Vec<_>>()
    };

    assert_eq!(route(sample_prompt()), ["eyes", "near", "far"]);
    let address = Some("messages[0]".to_owned());
    assert_eq!(route(UpstreamPrompt { address, ..sample_prompt() }), ["eyes", "far"]);
}

#[test]
fn a_forced_call_or_a_tool_of_the_same_name_excludes_server_tools() {
    let mut forced = UpstreamPrompt { may_call: false, ..sample_prompt() };
    assert!(!ServerTools::for_prompt(&without_vision(), &catalogue(), &mut forced).any());
    assert!(!forced.pictures);

    let list = Bytes::from(format!(r#"[{{"function":{{"name":"{SEARCH}"}}}}]"#));
    let mut own_prompt = UpstreamPrompt {
        tool_list: Some(list),
        ..UpstreamPrompt::from_messages("[]", PromptText::default())
    };
    assert!(!ServerTools::for_prompt(&without_vision(), &catalogue(), &mut own_prompt).any());
}

#[test]
fn tools_of_connectors_yield_to_those_of_the_caller() {
    let tool = |name: &str| ConnectorTool {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    let list = r#"[{"type":"function","function":{"name":"search","description":"type"}},
        {"type":"custom","custom":{"name":"run"}}]"#;
    let prompt = UpstreamPrompt {
        tool_list: Some(Bytes::from(list)),
        ..UpstreamPrompt::from_messages("[]", PromptText::default())
    };
    let mut tools = ServerTools::default();
    tools.add_connectors(["search", "run", "type", "function"].map(tool).into(), &prompt);
    assert_eq!(tools.names(), ["type", "function"]);
    assert!(tools.any() && tools.has("type") && !tools.has("search"));
    let call = call("type", "{}");
    let expected =
        ServerToolTask::Connector { name: "type".to_owned(), arguments: "{}".to_owned() };
    assert_eq!(tools.task(&call), expected);
    let forced = UpstreamPrompt { may_call: false, ..prompt };
    let mut tools = ServerTools::default();
    tools.add_connectors(vec![tool("type")], &forced);
    assert!(!tools.any());
}

#[test]
fn an_invalid_call_is_reported_to_the_model() {
    let tools = ServerTools::for_prompt(&without_vision(), &catalogue(), &mut sample_prompt());

    let search = tools.task(&call(SEARCH, r#"{"query":" x "}"#));
    assert_eq!(search, ServerToolTask::Search("x".to_owned()));
    for (name, arguments) in [
        (SEARCH, "{"),
        (SEARCH, r#"{"query":" "}"#),
        (SEARCH, r#"{"query":7}"#),
        (LOOK, r#"{"picture":0,"question":"x"}"#),
        (LOOK, r#"{"picture":2,"question":"x"}"#),
        (LOOK, r#"{"picture":1}"#),
    ] {
        let task = tools.task(&call(name, arguments));
        assert!(matches!(task, ServerToolTask::Invalid(_)), "{arguments}: {task:?}");
    }
}
