//! Tools that the server runs for a model, hidden from the caller.
//!
//! `turn/begin.rs` collects them with `for_prompt`, `add_knowledge` and `add_connectors`, and
//! sends their `declarations`. When the model calls one, `task` parses the call, and
//! `Turn::serve` runs the task. A tool of the caller with the same name takes precedence.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use crate::knowledge::KnowledgeSummary;
use crate::knowledge::prompt::describe;
use crate::request;
use crate::request::prompt_body::UpstreamPrompt;
use crate::routing::catalogue::{ModelCatalogue, SearchProvider};
use crate::routing::route::{Route, with_fallbacks};
use crate::routing::target::Target;
use crate::tools::calls::Call;
use crate::tools::connectors::ConnectorTool;
pub(crate) use crate::tools::presentation::markdown_link;

const SEARCH: &str = "pia_web_search";
const LOOK: &str = "pia_look_at_picture";
const KNOWLEDGE: &str = "pia_search_knowledge";

/// Maximum length of a query or question, in characters.
const MAX_QUERY_CHARS: usize = 1000;

/// Tools of the server that one model may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerTools {
    pub(crate) search: Option<Arc<SearchProvider>>,
    pub(crate) vision: Option<VisionModel>,
    /// Description of the knowledge bases.
    pub(crate) knowledge: Option<String>,
    /// Tools of connectors that are granted to the group.
    pub(crate) connectors: Vec<ConnectorTool>,
}

/// Model that describes pictures for one without vision.
#[derive(Debug, Clone)]
pub(crate) struct VisionModel {
    /// Model with vision, and its fallbacks.
    pub(crate) route: Route,
    /// Pictures: parts of messages as JSON.
    pub(crate) pictures: Arc<[Bytes]>,
}

/// Tool call of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerToolTask {
    /// Search of the web for this query.
    Search(String),
    /// Search of the knowledge bases for this question.
    SearchKnowledge(String),
    /// Question about this picture.
    Look { picture: Bytes, question: String },
    /// Call of a connector's tool.
    Connector { name: String, arguments: String },
    /// Invalid arguments, with the message for the model.
    Invalid(&'static str),
}

impl ServerTools {
    /// Returns the tools of `target` for a prompt, and removes pictures that
    /// the model cannot see from it. There are none if the caller forces a tool
    /// call, or has a tool of the same name.
    pub(crate) fn for_prompt(
        target: &Target,
        catalogue: &ModelCatalogue,
        prompt: &mut UpstreamPrompt,
    ) -> Self {
        let mut tools =
            Self { search: search_provider(target, catalogue, prompt), ..Self::default() };
        if target.vision || !prompt.pictures {
            return tools;
        }

        let route = vision_route(target, catalogue, prompt);
        let Some(extracted) =
            request::pictures::extract_pictures(&prompt.messages, route.is_some())
        else {
            return tools;
        };

        prompt.messages = extracted.messages;
        prompt.pictures = false;
        if !extracted.pictures.is_empty()
            && let Some(route) = route
        {
            tools.vision = Some(VisionModel { route, pictures: extracted.pictures.into() });
        }

        tools
    }

    /// Removes pictures from a prompt whose model cannot see them, if no tool may describe
    /// them either.
    pub(crate) fn remove_pictures(target: &Target, prompt: &mut UpstreamPrompt) {
        if target.vision || !prompt.pictures {
            return;
        }

        if let Some(extracted) = request::pictures::extract_pictures(&prompt.messages, false) {
            prompt.messages = extracted.messages;
            prompt.pictures = false;
        }
    }

    /// Adds the search of these knowledge bases, unless there are none, or the
    /// caller forces a tool call, or has a tool of the same name.
    pub(crate) fn add_knowledge(&mut self, bases: &[KnowledgeSummary], prompt: &UpstreamPrompt) {
        if !bases.is_empty() && prompt.may_call && !is_taken(prompt, KNOWLEDGE) {
            self.knowledge = Some(describe(bases));
        }
    }

    /// Adds tools of connectors, unless the caller forces a tool call. A tool is left
    /// out if the caller has one of the same name.
    pub(crate) fn add_connectors(&mut self, tools: Vec<ConnectorTool>, prompt: &UpstreamPrompt) {
        if prompt.may_call {
            self.connectors = tools;
            let caller_names = caller_tool_names(prompt);
            self.connectors.retain(|it| !caller_names.contains(&it.name));
        }
    }

    /// Returns whether there are any tools.
    pub(crate) fn any(&self) -> bool {
        self.search.is_some()
            || self.vision.is_some()
            || self.knowledge.is_some()
            || !self.connectors.is_empty()
    }

    /// Returns the names of the tools.
    pub(crate) fn names(&self) -> Vec<String> {
        [SEARCH, LOOK, KNOWLEDGE]
            .into_iter()
            .filter(|it| self.has(it))
            .map(str::to_owned)
            .chain(self.connectors.iter().map(|it| it.name.clone()))
            .collect()
    }

    /// Returns whether a tool of this name is one of these.
    pub(crate) fn has(&self, name: &str) -> bool {
        match name {
            SEARCH => self.search.is_some(),
            LOOK => self.vision.is_some(),
            KNOWLEDGE => self.knowledge.is_some(),
            _ => self.connectors.iter().any(|it| it.name == name),
        }
    }

    /// Returns the declarations of the tools for the model.
    pub(crate) fn declarations(&self) -> Vec<String> {
        let search = self.search.as_ref().map(|_| {
            let about = "Searches the web for what is recent, or what you are not sure of. Cite \
                         each source that you use as a Markdown link: [title](address).";
            let query = json!({ "type": "string", "description": "What to search for." });
            function(SEARCH, about, &json!({ "query": query }), &["query"])
        });

        let look = self.vision.as_ref().map(|_| {
            let about = "Looks at a picture of the conversation and answers a question about it.";
            let picture = json!({ "type": "integer", "description": "The picture's number." });
            let question = json!({ "type": "string", "description": "What you want to know." });
            let members = json!({ "picture": picture, "question": question });
            function(LOOK, about, &members, &["picture", "question"])
        });

        let knowledge = self.knowledge.as_ref().map(|about| {
            let query = json!({ "type": "string", "description": "The question, complete." });
            function(KNOWLEDGE, about, &json!({ "query": query }), &["query"])
        });

        let connectors = self.connectors.iter().map(|it| {
            let ConnectorTool { name, description, parameters } = it;
            declaration(name, description, parameters)
        });

        search.into_iter().chain(look).chain(knowledge).chain(connectors).collect()
    }

    /// Returns the task of a call of one of these tools. Arguments of connectors'
    /// tools are not parsed here.
    pub(crate) fn task(&self, call: &Call) -> ServerToolTask {
        #[derive(Deserialize)]
        struct Arguments {
            query: Option<String>,
            picture: Option<usize>,
            question: Option<String>,
        }

        if ![SEARCH, LOOK, KNOWLEDGE].contains(&call.name.as_str()) {
            let name = call.name.clone();
            let arguments = call.arguments.clone();
            return ServerToolTask::Connector { name, arguments };
        }
        let Ok(arguments) = serde_json::from_str::<Arguments>(&call.arguments) else {
            return ServerToolTask::Invalid("The arguments are not what the tool takes.");
        };

        let shorten = |text: String| text.trim().chars().take(MAX_QUERY_CHARS).collect::<String>();
        if call.name == SEARCH || call.name == KNOWLEDGE {
            let query = arguments.query.map(shorten).filter(|it| !it.is_empty());
            return match query {
                Some(query) if call.name == SEARCH => ServerToolTask::Search(query),
                Some(query) => ServerToolTask::SearchKnowledge(query),
                None => ServerToolTask::Invalid("The query is missing."),
            };
        }

        // The model counts pictures from 1.
        let number = arguments.picture.and_then(|it| it.checked_sub(1));
        let picture = self.vision.as_ref().zip(number).and_then(|(it, at)| it.pictures.get(at));
        match picture.cloned().zip(arguments.question.map(shorten)) {
            Some((picture, question)) => ServerToolTask::Look { picture, question },
            None => ServerToolTask::Invalid("There is no such picture, or no question."),
        }
    }
}

fn function(name: &str, about: &str, members: &serde_json::Value, required: &[&str]) -> String {
    let parameters = json!({
        "type": "object", "properties": members, "required": required,
        "additionalProperties": false,
    });
    declaration(name, about, &parameters)
}

fn declaration(name: &str, about: &str, parameters: &serde_json::Value) -> String {
    let function = json!({ "name": name, "description": about, "parameters": parameters });
    json!({ "type": "function", "function": function }).to_string()
}

/// Returns the names of the caller's tools.
fn caller_tool_names(prompt: &UpstreamPrompt) -> BTreeSet<String> {
    #[derive(Deserialize)]
    struct Tool {
        name: Option<String>,
        function: Option<Box<Tool>>,
        custom: Option<Box<Tool>>,
    }
    let list = prompt.tool_list.as_deref().unwrap_or(b"[]");
    let tools: Vec<Tool> = serde_json::from_slice(list).unwrap_or_default();
    let name = |tool: Tool| tool.function.or(tool.custom).and_then(|it| it.name).or(tool.name);
    tools.into_iter().filter_map(name).collect()
}

/// Returns the provider of web searches that a model may call.
fn search_provider(
    target: &Target,
    catalogue: &ModelCatalogue,
    prompt: &UpstreamPrompt,
) -> Option<Arc<SearchProvider>> {
    let id = target.web_search_tool.as_deref()?;
    if !prompt.may_call || is_taken(prompt, SEARCH) {
        return None;
    }
    catalogue.search(id).cloned()
}

/// Returns the models with vision that a model may call about the pictures of a
/// prompt. If one has an address, only those that fetch it.
fn vision_route(
    target: &Target,
    catalogue: &ModelCatalogue,
    prompt: &UpstreamPrompt,
) -> Option<Route> {
    let id = target.vision_tool.as_deref()?;
    if !prompt.may_call || is_taken(prompt, LOOK) {
        return None;
    }

    let fetches = |it: &Arc<Target>| prompt.address.is_none() || it.fetches();
    let vision_model = catalogue.entry(id).filter(|it| fetches(it))?;
    let mut route = with_fallbacks(catalogue, vision_model);
    route.retain(|it| it.vision && fetches(it));

    Some(route)
}

/// Returns whether the caller may have a tool of this name: it occurs in the caller's tools,
/// where no other text is likely to contain it.
fn is_taken(prompt: &UpstreamPrompt, name: &str) -> bool {
    let list = prompt.tool_list.as_deref().unwrap_or_default();
    memchr::memmem::find(list, name.as_bytes()).is_some()
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
