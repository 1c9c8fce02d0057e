//! Beginning of a turn.

use std::sync::Arc;

use bytes::Bytes;

use super::capable_models::retain_capable;
use super::knowledge_search::KnowledgeSearch;
use super::{ToolMode, Turn};
use crate::ai_caller::AiCaller;
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::request::prompt_body::{AddedMessages, UpstreamPrompt};
use crate::routing::route::route;
use crate::routing::target::Mode;
use crate::tools::server::ServerTools;

impl Turn {
    /// Begins a turn: chooses its models, and the tools of the server for the first.
    pub(crate) async fn begin(
        gateway: Gateway,
        caller: AiCaller,
        default_mode: Mode,
        mut prompt: UpstreamPrompt,
        tool_mode: ToolMode,
    ) -> Result<Self, AssistantError> {
        let rules = gateway.rules.rules_of(caller.group).await?;
        let persona = match caller.persona {
            Some(id) if default_mode == Mode::Assistant => {
                gateway.personas.find_granted(caller.group, id).await?
            }
            _ => None,
        };
        if let Some(persona) = &persona {
            prompt.apply_persona(persona);
        }
        let tool_mode = tool_mode.filter(persona.is_none_or(|it| it.uses_tools));
        let catalogue = gateway.catalogue.get();
        // Optimising always uses its routes, even if the mode is not named.
        let optimising = (default_mode == Mode::Optimize).then_some(default_mode);
        let mut route = route(&catalogue, &rules, caller.mode.or(optimising), &prompt.model_hint)
            .ok_or(AssistantError::NotConfigured)?;
        retain_capable(&mut route, &prompt)?;

        let mut tools = match (tool_mode, route.first()) {
            (ToolMode::WithTools, Some(first)) => {
                ServerTools::for_prompt(first, &catalogue, &mut prompt)
            }
            _ => ServerTools::default(),
        };

        if prompt.pictures {
            // The first model has vision, or the pictures would have been
            // removed.
            route.retain(|it| it.vision);
        }

        let mut knowledge = None;
        if default_mode == Mode::Assistant {
            let usable_tools = (tool_mode == ToolMode::WithTools).then_some(&mut tools);
            knowledge = KnowledgeSearch::begin(&gateway, &caller, &mut prompt, usable_tools).await;
        }

        if tool_mode == ToolMode::WithTools {
            tools.add_connectors(gateway.connectors.list(caller.group).await, &prompt);
        }

        let rounds = gateway.settings.get().max_tool_rounds;
        let declarations = if rounds > 0 { tools.declarations() } else { Vec::new() };
        let added = AddedMessages {
            messages: Vec::new(),
            tools: declarations.into_iter().map(Bytes::from).collect(),
        };
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
