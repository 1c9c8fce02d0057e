//! Filters of lists (RFC 7644, 3.4.2.2): conditions that are all met. `or`,
//! `not` and `ne` are refused, as no identity provider needs them.
//!
//! `comparisons` flattens a filter for both resources. `user_conditions`
//! converts users' comparisons to conditions of the store; `groups.rs`
//! evaluates its own.

use pia_identity::{ScimUserCondition, ScimUserText, TextMatch};
use pia_kernel::{Timestamp, UserId};
use pia_web::ApiError;
use scim_v2::filter::{AttrExp, CompValue, CompareOp, Filter, ValFilter};
use serde_json::Value;
use uuid::Uuid;

use crate::patch::{comparison_text, name};
use crate::refusals::invalid;

/// Maximum length of a filter.
const MAX_FILTER_BYTES: usize = 4_096;

/// Maximum number of comparisons in a filter.
const MAX_COMPARISONS: usize = 20;

/// Attribute by which Entra ID matches users by email address. The grammar of
/// filters does not allow it.
const ENTRA_EMAIL: &str = r#"emails[type eq "work"].value"#;

/// Comparison of an attribute. The name is in lower case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Comparison {
    Present(String),
    Compares(String, CompareOp, CompValue),
}

/// Returns the comparisons of a filter. Inside `emails[…]`, names are prefixed:
/// `emails.type`.
pub(crate) fn comparisons(filter: &str) -> Result<Vec<Comparison>, ApiError> {
    if filter.len() > MAX_FILTER_BYTES {
        return Err(unsupported());
    }

    let filter: Filter = filter
        .replace(ENTRA_EMAIL, "emails.value")
        .parse()
        .map_err(|_may_quote| invalid("invalidFilter", "The filter is malformed."))?;

    let mut comparisons = Vec::new();
    collect(&filter, &mut comparisons)?;
    if comparisons.len() > MAX_COMPARISONS {
        return Err(unsupported());
    }

    Ok(comparisons)
}

fn collect(filter: &Filter, comparisons: &mut Vec<Comparison>) -> Result<(), ApiError> {
    match filter {
        Filter::Attr(expression) => {
            comparisons.push(comparison("", expression));
            Ok(())
        }
        Filter::And(filters) => {
            filters.as_slice().iter().try_for_each(|it| collect(it, comparisons))
        }
        Filter::ValuePath(path) => collect_parts(&name(&path.attr), &path.filter, comparisons),
        Filter::Or(_) | Filter::Not(_) => Err(unsupported()),
    }
}

fn collect_parts(
    attribute: &str,
    filter: &ValFilter,
    comparisons: &mut Vec<Comparison>,
) -> Result<(), ApiError> {
    match filter {
        ValFilter::Attr(expression) => {
            comparisons.push(comparison(attribute, expression));
            Ok(())
        }
        ValFilter::And(filters) => {
            filters.as_slice().iter().try_for_each(|it| collect_parts(attribute, it, comparisons))
        }
        ValFilter::Or(_) | ValFilter::Not(_) => Err(unsupported()),
    }
}

fn comparison(attribute: &str, expression: &AttrExp) -> Comparison {
    let full_name = |path| match attribute {
        "" => name(path),
        attribute => format!("{attribute}.{}", name(path)),
    };
    match expression {
        AttrExp::Present(path) => Comparison::Present(full_name(path)),
        AttrExp::Comparison(path, op, value) => {
            Comparison::Compares(full_name(path), op.clone(), value.clone())
        }
    }
}

/// Returns the conditions of a filter of users.
pub(crate) fn user_conditions(filter: Option<&str>) -> Result<Vec<ScimUserCondition>, ApiError> {
    let Some(filter) = filter else { return Ok(Vec::new()) };
    let mut conditions = Vec::new();
    for comparison in comparisons(filter)? {
        conditions.extend(user_condition(&comparison)?);
    }
    Ok(conditions)
}

/// Converts a comparison into a condition; `None` if every user meets it.
fn user_condition(comparison: &Comparison) -> Result<Option<ScimUserCondition>, ApiError> {
    let (name, op, value) = match comparison {
        Comparison::Present(name) => return presence(name),
        Comparison::Compares(name, op, value) => (name.as_str(), op, value),
    };
    if let Some(attribute) = user_text(name) {
        return text_condition(attribute, op, value).map(Some);
    }

    match (name, op) {
        ("id", CompareOp::Eq) => {
            let id = parse_id(&comparison_text(value));
            Ok(Some(id.map_or(ScimUserCondition::Never, |id| ScimUserCondition::Id(UserId(id)))))
        }
        ("active", CompareOp::Eq) => match comparison_text(value).to_ascii_lowercase().as_str() {
            "true" => Ok(Some(ScimUserCondition::Active(true))),
            "false" => Ok(Some(ScimUserCondition::Active(false))),
            _ => Err(unsupported()),
        },
        ("meta.lastmodified", CompareOp::Gt) => {
            Ok(Some(ScimUserCondition::ChangedAfter(time(value)?)))
        }
        ("meta.lastmodified", CompareOp::Ge) => {
            let before = Timestamp::from_micros(time(value)?.micros().saturating_sub(1));
            Ok(Some(ScimUserCondition::ChangedAfter(before)))
        }
        // An account has one address, reported as the primary work address.
        ("emails.type", CompareOp::Eq) if comparison_text(value).eq_ignore_ascii_case("work") => {
            Ok(None)
        }
        ("emails.primary", CompareOp::Eq) if *value == CompValue::True => Ok(None),
        _ => Err(unsupported()),
    }
}

/// Returns the condition that an attribute is present; `None` if every user has it.
fn presence(name: &str) -> Result<Option<ScimUserCondition>, ApiError> {
    match (name, user_text(name)) {
        (_, Some(text)) => Ok(Some(ScimUserCondition::Present(text))),
        ("id" | "active" | "meta.created" | "meta.lastmodified", None) => Ok(None),
        _ => Err(unsupported()),
    }
}

fn text_condition(
    attribute: ScimUserText,
    op: &CompareOp,
    value: &CompValue,
) -> Result<ScimUserCondition, ApiError> {
    let matching = text_match(op).ok_or_else(unsupported)?;
    let CompValue::Str(text) = value else { return Err(unsupported()) };
    // PostgreSQL rejects NUL, so no stored text contains it.
    if text.contains('\0') {
        return Ok(ScimUserCondition::Never);
    }
    Ok(ScimUserCondition::Text(attribute, matching, text.clone()))
}

fn user_text(name: &str) -> Option<ScimUserText> {
    Some(match name {
        "username" => ScimUserText::UserName,
        "externalid" => ScimUserText::ExternalId,
        "emails" | "emails.value" => ScimUserText::Email,
        "displayname" | "name.formatted" => ScimUserText::DisplayName,
        "name.givenname" => ScimUserText::GivenName,
        "name.familyname" => ScimUserText::FamilyName,
        _ => return None,
    })
}

/// Returns the comparison of texts that an operator stands for; `None` if it
/// stands for none.
pub(crate) fn text_match(op: &CompareOp) -> Option<TextMatch> {
    Some(match op {
        CompareOp::Eq => TextMatch::Equals,
        CompareOp::Co => TextMatch::Contains,
        CompareOp::Sw => TextMatch::StartsWith,
        CompareOp::Ew => TextMatch::EndsWith,
        CompareOp::Ne | CompareOp::Gt | CompareOp::Lt | CompareOp::Ge | CompareOp::Le => {
            return None;
        }
    })
}

/// Parses an id; `None` if the text is not a UUID, and so matches no resource.
pub(crate) fn parse_id(text: &str) -> Option<Uuid> {
    text.parse().ok()
}

fn time(value: &CompValue) -> Result<Timestamp, ApiError> {
    let text = Value::String(comparison_text(value));
    serde_json::from_value(text)
        .map_err(|_may_quote| invalid("invalidFilter", "A time must be in RFC 3339 format."))
}

/// Returns the error for a filter that is not supported.
pub(crate) fn unsupported() -> ApiError {
    let message = "The filter is not supported: see docs/SCIM.md.";
    invalid("invalidFilter", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_identity_providers_are_understood() {
        let text = |attribute, text: &str| {
            ScimUserCondition::Text(attribute, TextMatch::Equals, text.to_owned())
        };
        for (filter, expected) in [
            (
                r#"userName eq "ada@example.org""#,
                vec![text(ScimUserText::UserName, "ada@example.org")],
            ),
            (r#"USERNAME Eq "ada""#, vec![text(ScimUserText::UserName, "ada")]),
            (r#"externalId eq "00u1""#, vec![text(ScimUserText::ExternalId, "00u1")]),
            (
                r#"emails[type eq "work"].value eq "ada@example.org""#,
                vec![text(ScimUserText::Email, "ada@example.org")],
            ),
            (
                r#"emails[type eq "work" and value eq "ada@example.org"]"#,
                vec![text(ScimUserText::Email, "ada@example.org")],
            ),
            (r#"userName eq "a\u0000""#, vec![ScimUserCondition::Never]),
            (r"active eq true", vec![ScimUserCondition::Active(true)]),
            (r"id pr", vec![]),
            (
                r#"id eq "nonsense" and active eq false"#,
                vec![ScimUserCondition::Never, ScimUserCondition::Active(false)],
            ),
            (
                r#"meta.lastModified ge "1970-01-01T00:00:00Z""#,
                vec![ScimUserCondition::ChangedAfter(Timestamp::from_micros(-1))],
            ),
        ] {
            let conditions = user_conditions(Some(filter));
            assert_eq!(conditions.map_err(|it| it.to_string()), Ok(expected), "{filter}");
        }
    }

    #[test]
    fn other_filters_are_refused() {
        let long = format!("userName eq \"{}\"", "a".repeat(5_000));
        let long_filter = ["id pr"; 21].join(" and ");
        let nested_filter = format!("{}id pr{}", "not (".repeat(5_000), ")".repeat(5_000));
        for filter in [
            "",
            "userName",
            r"userName eq ada",
            r#"password eq "x""#,
            r#"userName ne "x""#,
            r#"userName eq "a" or userName eq "b""#,
            r#"not (userName eq "a")"#,
            "userName eq 5",
            r#"meta.lastModified gt "yesterday""#,
            &nested_filter,
            &long,
            &long_filter,
        ] {
            let err = user_conditions(Some(filter)).unwrap_err();
            assert_eq!(err.code_and_message().0, "invalidFilter", "{filter}");
        }
    }
}
