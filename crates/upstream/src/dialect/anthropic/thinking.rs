//! Reasoning budget of a model, and the maximum length of its response.
//!
//! Three generations of models differ, by parts of their names: those that do not think,
//! those with a budget in tokens, and those that take an effort and adapt themselves.

use pia_assistant::ReasoningEffort;

/// Minimum thinking budget in tokens.
const MIN_THINKING_TOKENS: i64 = 1024;

/// Parts of the names of models with a thinking budget instead of an effort:
/// those up to 4.5. Unknown models are newer.
const BUDGET_MODELS: [&str; 7] = ["-3-7-", "-4-0", "-4-1", "-4-5", "-4-2", "claude-3", "claude-2"];
/// Parts of the names of models without extended thinking.
const NON_THINKING_MODELS: [&str; 5] =
    ["claude-2", "claude-3-5-", "claude-3-opus", "claude-3-sonnet", "claude-3-haiku"];

/// Returns the default maximum of output tokens, which no model of that
/// generation rejects.
pub(super) fn max_output_tokens(model: &str) -> i64 {
    if model.contains("claude-3-5-") {
        return 8192;
    }
    if NON_THINKING_MODELS.iter().any(|it| model.contains(it)) { 4096 } else { 32_000 }
}

/// Thinking to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// No request for thinking.
    Unset,
    /// Budget in tokens.
    Budget(i64),
    /// Adaptive thinking with this effort.
    Adaptive(&'static str),
}

impl Thinking {
    /// Returns the thinking to request. `in_mid_turn` is set if tool results
    /// come last: a model with a budget then requires its thoughts from before
    /// the call, which callers do not store.
    pub(super) fn for_request(
        model: &str,
        effort: Option<ReasoningEffort>,
        max_tokens: i64,
        in_mid_turn: bool,
    ) -> Self {
        let Some(effort) = effort.filter(|it| *it != ReasoningEffort::None) else {
            return Self::Unset;
        };
        if NON_THINKING_MODELS.iter().any(|it| model.contains(it)) {
            return Self::Unset;
        }
        if !BUDGET_MODELS.iter().any(|it| model.contains(it)) {
            return Self::Adaptive(effort_name(effort, model));
        }

        // Thoughts count as output, and some must remain for the response.
        let budget = thinking_budget(effort).min(max_tokens / 2);

        if budget < MIN_THINKING_TOKENS || in_mid_turn { Self::Unset } else { Self::Budget(budget) }
    }
}

fn thinking_budget(effort: ReasoningEffort) -> i64 {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal => MIN_THINKING_TOKENS,
        ReasoningEffort::Low => 2048,
        ReasoningEffort::Medium => 8192,
        ReasoningEffort::High => 16_384,
        ReasoningEffort::XHigh => 32_768,
    }
}

fn effort_name(effort: ReasoningEffort, model: &str) -> &'static str {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
        // Models of 4.6 have no step between high and their maximum.
        ReasoningEffort::XHigh if model.contains("sonnet-4-6") => "high",
        ReasoningEffort::XHigh if model.contains("-4-6") => "max",
        ReasoningEffort::XHigh => "xhigh",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinking_for(model: &str, effort: ReasoningEffort, max_tokens: i64) -> Thinking {
        Thinking::for_request(model, Some(effort), max_tokens, false)
    }

    #[test]
    fn models_up_to_4_5_have_a_budget_that_leaves_room() {
        for model in ["claude-3-7-sonnet-latest", "claude-opus-4-20250514", "claude-haiku-4-5"] {
            assert_eq!(
                thinking_for(model, ReasoningEffort::Medium, 32_000),
                Thinking::Budget(8192)
            );
            assert_eq!(
                thinking_for(model, ReasoningEffort::XHigh, 32_000),
                Thinking::Budget(16_000)
            );
            assert_eq!(thinking_for(model, ReasoningEffort::High, 2000), Thinking::Unset);
            let tools = Thinking::for_request(model, Some(ReasoningEffort::High), 32_000, true);
            assert_eq!(tools, Thinking::Unset);
        }
    }

    #[test]
    fn later_models_have_an_effort() {
        for (model, effort, name) in [
            ("claude-opus-4-6", ReasoningEffort::XHigh, "max"),
            ("claude-sonnet-4-6", ReasoningEffort::XHigh, "high"),
            ("claude-opus-4-7", ReasoningEffort::XHigh, "xhigh"),
            ("claude-sonnet-5", ReasoningEffort::Minimal, "low"),
            ("someones-model", ReasoningEffort::High, "high"),
        ] {
            assert_eq!(thinking_for(model, effort, 1000), Thinking::Adaptive(name), "{model}");
        }
    }

    #[test]
    fn no_thinking_is_requested_without_effort_or_support() {
        assert_eq!(thinking_for("claude-opus-5", ReasoningEffort::None, 32_000), Thinking::Unset);
        assert_eq!(Thinking::for_request("claude-opus-5", None, 32_000, false), Thinking::Unset);
        assert_eq!(
            thinking_for("claude-3-5-sonnet-latest", ReasoningEffort::High, 32_000),
            Thinking::Unset
        );
        assert_eq!(max_output_tokens("claude-3-haiku-20240307"), 4096);
        assert_eq!(max_output_tokens("claude-3-5-haiku-latest"), 8192);
        assert_eq!(max_output_tokens("claude-sonnet-5"), 32_000);
    }
}
