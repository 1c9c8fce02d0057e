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

/// Schemas of the three refusals.
const SHAPES: [&str; 3] = [OF_MEMBER, OF_GROUP, SUSPENDED];

/// Time of the examples' next week, in microseconds: Monday, 2026-08-03T00:00:00Z.
const NEXT_WEEK_MICROS: i64 = 1_785_715_200_000_000;
/// Time from an example's refusal to the next week.
const RETRY_AFTER: Duration = Duration::from_hours(31);

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

    let [of_member, of_group, suspended] = SHAPES.map(|name| (name.to_owned(), shape_schema(name)));

    [(REFUSAL.to_owned(), any), of_member, of_group, suspended]
}

/// Returns examples of such refusals, built by the real conversion.
pub(super) fn examples() -> [(&'static str, Value); 4] {
    let member_refusal = BudgetRefusal {
        gauge: Some(Gauge { limit: 100, used: 100 }),
        pool: Some(Gauge { limit: 130, used: 130 }),
        top_up: Some(Gauge { limit: 500, used: 500 }),
        ..refusal(Period::Budget(BudgetPeriod::Weekly))
    };
    let group_refusal = BudgetRefusal {
        gauge: Some(Gauge { limit: 400, used: 399 }),
        ..refusal(Period::Budget(BudgetPeriod::GroupDaily))
    };

    [
        ("CreditsOfMember", refusal_body(member_refusal)),
        ("CreditsOfGroup", refusal_body(group_refusal)),
        ("FreeTierSuspended", refusal_body(refusal(Period::FreeTierSuspended))),
        ("TooManyRequests", ApiError::over_budget(RETRY_AFTER).body().into()),
    ]
}

/// Returns a refusal without amounts.
fn refusal(period: Period) -> BudgetRefusal {
    BudgetRefusal {
        period,
        gauge: None,
        pool: None,
        top_up: None,
        resets_at: Timestamp::from_micros(NEXT_WEEK_MICROS),
        retry_after: RETRY_AFTER,
    }
}

fn refusal_body(refusal: BudgetRefusal) -> Value {
    ApiError::from(HttpError::from(AssistantError::OverBudget(refusal))).body().into()
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

/// Returns the schema of a shape.
fn shape_schema(name: &str) -> Value {
    let amount = |text: &str| json!({ "type": "integer", "format": "int64", "description": text });
    let periods: Vec<_> = periods_of(name).map(Period::name).collect();
    let resets_at = json!({
        "type": "string",
        "format": "date-time",
        "description": "Time after which to retry, like `Retry-After`.",
    });

    let mut properties = vec![
        ("error", json!({ "type": "string", "const": "Token Limit Exceeded" })),
        ("message", json!({ "type": "string", "description": "Message for people." })),
        ("period", json!({ "type": "string", "enum": periods })),
        ("resetsAt", resets_at),
    ];

    if name != SUSPENDED {
        properties.extend([
            ("unit", json!({ "type": "string", "const": "credits" })),
            ("limit", amount("Credits per period.")),
            ("used", amount("Used credits, including those reserved by open calls.")),
        ]);
    }

    // The properties so far are in every such refusal, the others in some.
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
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
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
            "Error for an exhausted budget of the caller, or of the API key with `weekly`."
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
