//! Beginning of a turn.
//!
//! The order matters: the persona comes first, since its type chooses the model and its
//! permission the tools; the model comes before the tools, since its entry names them; and
//! passages of knowledge bases follow the persona's instructions.

use std::sync::Arc;

use bytes::Bytes;

use super::capable_models::retain_capable;
use super::knowledge_search::KnowledgeSearch;
use super::{ToolMode, Turn};
use crate::ai_caller::AiCaller;
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::personas::GrantedPersona;
use crate::request::prompt_body::{AddedMessages, UpstreamPrompt};
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::route::{Route, route};
use crate::routing::target::{Mode, Target};
use crate::rules::GroupRules;
use crate::tools::server::ServerTools;

impl Turn {
    /// Begins a turn: applies the caller's persona, chooses the models, and prepares the tools
    /// and knowledge bases that the first of them may use.
    pub(crate) async fn begin(
        gateway: Gateway,
        caller: AiCaller,
        default_mode: Mode,
        mut prompt: UpstreamPrompt,
        tool_mode: ToolMode,
    ) -> Result<Self, AssistantError> {
        let rules = gateway.rules.rules_of(caller.group).await?;
        let persona = find_persona(&gateway, &caller, default_mode).await?;
        if let Some(persona) = &persona {
            prompt.apply_persona(persona);
        }
        let tool_mode = tool_mode.filter(persona.is_none_or(|it| it.uses_tools));

        let catalogue = gateway.catalogue.get();
        let mut route = choose_route(&catalogue, &rules, &caller, default_mode, &prompt)?;
        let mut tools = choose_tools(&route, &catalogue, tool_mode, &mut prompt);
        retain_seeing_models(&mut route, &prompt);

        let mut knowledge = None;
        if default_mode == Mode::Assistant {
            let usable_tools = (tool_mode == ToolMode::WithTools).then_some(&mut tools);
            knowledge = KnowledgeSearch::begin(&gateway, &caller, &mut prompt, usable_tools).await;
        }
        if tool_mode == ToolMode::WithTools {
            tools.add_connectors(gateway.connectors.list(caller.group).await, &prompt);
        }

        let rounds = gateway.settings.get().max_tool_rounds;
        let added = declare_tools(&tools, rounds);
        Ok(Self {
            gateway,
            caller,
            default_mode,
            rules,
            route,
            prompt,
            added,
            tools,
            knowledge,
            rounds,
            tool_uses: Vec::new(),
            previous_usage: Usage::default(),
            response_started: Arc::default(),
        })
    }
}

/// Returns the persona that the caller requests, if it is granted to their group. Only
/// conversations have one.
async fn find_persona(
    gateway: &Gateway,
    caller: &AiCaller,
    default_mode: Mode,
) -> Result<Option<GrantedPersona>, AssistantError> {
    match caller.persona {
        Some(id) if default_mode == Mode::Assistant => {
            Ok(gateway.personas.find_granted(caller.group, id).await?)
        }
        _ => Ok(None),
    }
}

/// Returns the models that may answer and have the capabilities that the prompt requires.
fn choose_route(
    catalogue: &ModelCatalogue,
    rules: &GroupRules,
    caller: &AiCaller,
    default_mode: Mode,
    prompt: &UpstreamPrompt,
) -> Result<Route, AssistantError> {
    // Optimising always uses its routes, even if the mode is not named.
    let optimising = (default_mode == Mode::Optimize).then_some(default_mode);
    let mode = caller.mode.or(optimising);
    let mut models =
        route(catalogue, rules, mode, &prompt.model_hint).ok_or(AssistantError::NotConfigured)?;
    retain_capable(&mut models, prompt)?;
    Ok(models)
}

/// Returns the tools of the first model, and removes pictures from the prompt that neither it nor
/// a tool can see.
fn choose_tools(
    route: &[Arc<Target>],
    catalogue: &ModelCatalogue,
    tool_mode: ToolMode,
    prompt: &mut UpstreamPrompt,
) -> ServerTools {
    let Some(model) = route.first() else { return ServerTools::default() };
    match tool_mode {
        ToolMode::WithTools => ServerTools::for_prompt(model, catalogue, prompt),
        ToolMode::WithoutTools => {
            ServerTools::remove_pictures(model, prompt);
            ServerTools::default()
        }
    }
}

/// Removes fallbacks that would lose the pictures that the first model sees.
fn retain_seeing_models(route: &mut Route, prompt: &UpstreamPrompt) {
    if prompt.pictures && route.first().is_some_and(|it| it.vision) {
        route.retain(|it| it.vision);
    }
}

/// Returns the declarations of the tools; none without a round in which to call them.
fn declare_tools(tools: &ServerTools, rounds: u32) -> AddedMessages {
    if rounds == 0 {
        return AddedMessages::default();
    }
    let declarations = tools.declarations().into_iter().map(Bytes::from).collect();
    AddedMessages { messages: Vec::new(), tools: declarations }
}
