//! `UpstreamTools`: tools that upstreams may run for callers, and their prices.

use pia_assistant::UpstreamTool;

use super::price::Price;
use crate::error::Reason;
use crate::section::Section;
use crate::setting::Setting;
use crate::snapshot::Effect;

const UPSTREAM_TOOLS: &str = "UpstreamTools";
const MAX_TYPE_BYTES: usize = 64;

/// Returns the tools of a section, without duplicate types.
pub(super) fn upstream_tools(from: &mut Section<'_>, effect: Effect) -> Vec<UpstreamTool> {
    let priced_types: Vec<PricedType> = from.field(UPSTREAM_TOOLS, effect).list();
    let mut tools: Vec<UpstreamTool> = Vec::new();
    for PricedType { kind, price } in priced_types {
        if tools.iter().any(|it| it.kind == kind) {
            from.refuse(UPSTREAM_TOOLS, Reason::combination("expected no type twice"));
        }
        tools.push(UpstreamTool { kind, price: price.credits() });
    }
    tools
}

/// Type of tools with its price: `web_search=10`.
struct PricedType {
    kind: String,
    price: Price,
}

impl Setting for PricedType {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let form = || Reason::form("expected types with prices in credits, such as web_search=10");
        let (kind, price) = text.split_once('=').ok_or_else(form)?;
        let kind = kind.trim();
        let is_allowed =
            |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.' | b':');
        if kind.is_empty() || kind.len() > MAX_TYPE_BYTES || !kind.bytes().all(is_allowed) {
            return Err(form());
        }
        if matches!(kind, "function" | "custom") {
            let reason = "function and custom are run by callers, at no price";
            return Err(Reason::combination(reason));
        }

        Ok(Self { kind: kind.to_owned(), price: Price::parse(price)? })
    }

    fn format(&self) -> String {
        format!("{}={}", self.kind, self.price.format())
    }
}
