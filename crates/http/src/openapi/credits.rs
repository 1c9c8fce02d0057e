//! OpenAPI description of the refusal for a used-up budget: three shapes,
//! distinguished by `period`.

use std::time::Duration;

use pia_assistant::{AssistantError, BudgetRefusal, Gauge, Period};
use pia_kernel::{BudgetPeriod, Timestamp};
use serde_json::{Map, Value, json};

use pia_web::ApiError;

use crate::HttpError;

/// Schema of any of the three credit refusals.
const REFUSAL: &str = "CreditRefusal";
const OF_MEMBER: &str = "MemberCreditRefusal";
const OF_GROUP: &str = "GroupCreditRefusal";
const SUSPENDED: &str = "FreeTierRefusal";

const SHAPES: [&str; 3] = [OF_MEMBER, OF_GROUP, SUSPENDED];

/// 2026-08-03T00:00:00Z, a Monday.
const MONDAY: i64 = 1_785_715_200_000_000;

/// Returns the media type object of a 429 where calls cost credits: too many
/// calls, or a budget.
pub(super) fn media() -> Value {
    let examples: Map<String, Value> =
        examples().into_iter().map(|(name, _)| (name.to_owned(), example_ref(name))).collect();
    json!({
        "schema": { "anyOf": [schema_ref("Error"), schema_ref(REFUSAL)] },
        "examples": examples,
    })
}

/// Returns the three shapes, and their discriminator.
pub(super) fn schemas() -> [(String, Value); 4] {
    let mapping: Map<String, Value> = SHAPES
        .into_iter()
        .flat_map(|name| periods_of(name).map(move |it| (it.name(), name)))
        .map(|(period, name)| (period.to_owned(), format!("#/components/schemas/{name}").into()))
        .collect();

    let any = json!({
        "description": "Error for an exhausted budget. Its fields depend on `period`.",
        "oneOf": SHAPES.map(schema_ref),
        "discriminator": { "propertyName": "period", "mapping": mapping },
    });

    let [of_member, of_group, suspended] = SHAPES.map(|name| (name.to_owned(), shape(name)));

    [(REFUSAL.to_owned(), any), of_member, of_group, suspended]
}

/// Returns examples of such refusals, built by the real conversion.
pub(super) fn examples() -> [(&'static str, Value); 4] {
    let gauge = |limit, used| Some(Gauge { limit, used });
    let refusal = |period, gauge, retry_after| BudgetRefusal {
        period,
        gauge,
        pool: None,
        top_up: None,
        resets_at: Timestamp::from_micros(MONDAY),
        retry_after,
    };

    let wait = Duration::from_hours(31);
    let week = BudgetRefusal {
        pool: gauge(130, 130),
        top_up: gauge(500, 500),
        ..refusal(Period::Budget(BudgetPeriod::Weekly), gauge(100, 100), wait)
    };

    let group = refusal(Period::Budget(BudgetPeriod::GroupDaily), gauge(400, 399), wait);
    let suspended = refusal(Period::FreeTierSuspended, None, wait);
    let body = |it| ApiError::from(HttpError::from(AssistantError::OverBudget(it))).body().into();
    [
        ("CreditsOfMember", body(week)),
        ("CreditsOfGroup", body(group)),
        ("FreeTierSuspended", body(suspended)),
        ("TooManyRequests", ApiError::over_budget(wait).body().into()),
    ]
}

/// Returns the periods that use a shape.
fn periods_of(shape: &str) -> impl Iterator<Item = Period> {
    BudgetPeriod::ALL
        .into_iter()
        .map(Period::Budget)
        .chain([Period::FreeTierSuspended])
        .filter(move |it| shape_of(*it) == shape)
}

fn shape_of(period: Period) -> &'static str {
    match period {
        Period::Budget(it) if it.is_of_group() => OF_GROUP,
        Period::Budget(_) => OF_MEMBER,
        Period::FreeTierSuspended => SUSPENDED,
    }
}

fn shape(name: &str) -> Value {
    let amount = |text: &str| json!({ "type": "integer", "format": "int64", "description": text });
    let periods: Vec<_> = periods_of(name).map(Period::name).collect();

    let until = json!({
        "type": "string",
        "format": "date-time",
        "description": "Time after which to retry, like `Retry-After`.",
    });

    let mut properties = vec![
        ("error", json!({ "type": "string", "const": "Token Limit Exceeded" })),
        ("message", json!({ "type": "string", "description": "Message for people." })),
        ("period", json!({ "type": "string", "enum": periods })),
        ("resetsAt", until),
    ];

    if name != SUSPENDED {
        properties.extend([
            ("unit", json!({ "type": "string", "const": "credits" })),
            ("limit", amount("Credits per period.")),
            ("used", amount("Used credits, including those reserved by open calls.")),
        ]);
    }

    let required: Vec<_> = properties.iter().map(|(name, _)| *name).collect();

    if name == OF_MEMBER {
        properties.extend([
            ("poolLimit", amount("Credits in the group's pool, with `weekly` only.")),
            ("poolUsed", amount("Used credits of the pool.")),
            ("topUpGranted", amount("Credits of the group's top-ups, with `weekly` only.")),
            ("topUpUsed", amount("Used credits of the top-ups.")),
        ]);
    }

    let properties: Map<_, _> =
        properties.into_iter().map(|(name, it)| (name.to_owned(), it)).collect();
    json!({
        "type": "object",
        "description": schema_description(name),
        "required": required,
        "properties": properties,
    })
}

fn schema_description(name: &str) -> &'static str {
    match name {
        OF_MEMBER => {
            "Error for an exhausted budget of the caller, or of the API key with \
                      `weekly`."
        }
        OF_GROUP => "Error for an exhausted budget of the caller's group.",
        _ => "Error while the free tier is suspended.",
    }
}

fn schema_ref(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn example_ref(name: &str) -> Value {
    json!({ "$ref": format!("#/components/examples/{name}") })
}
