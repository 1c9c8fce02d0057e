//! Operations of a `PATCH` (RFC 7644, 3.5.2).
//!
//! `operations` parses a body without knowledge of users and groups: names
//! become lower case, paths become `Target`s. `user_changes.rs` and
//! `group_changes.rs` decide what a target means.

use pia_web::ApiError;
use scim_v2::filter::{AttrExp, AttrPath, CompValue, CompareOp, PatchPath, ValFilter};
use serde_json::{Map, Value};

use crate::body::member;
use crate::refusals::invalid;

/// Maximum number of operations in a request.
const MAX_OPERATIONS: usize = 1_000;

/// Kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchOp {
    Add,
    Remove,
    Replace,
}

/// Equality in a filter of elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementCondition {
    /// Name of the part of an element, in lower case.
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Part of a resource that an operation changes. Names are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The resource itself; the value has its attributes.
    Resource,
    /// Attribute: `displayname`, `name.givenname`.
    Attribute(String),
    /// Elements of an attribute with many values.
    Element {
        attribute: String,
        /// Parts of the elements that have these values.
        conditions: Vec<ElementCondition>,
        /// Part of the elements that changes; `None` for the elements themselves.
        part: Option<String>,
    },
    /// Attribute of another schema.
    Foreign,
}

/// Operation of a `PATCH`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operation {
    pub(crate) op: PatchOp,
    pub(crate) target: Target,
    pub(crate) value: Value,
}

/// Returns the operations of a body, for resources of this schema. `op` is read
/// without regard to case: Entra ID sends `Replace`.
pub(crate) fn operations(
    body: &Map<String, Value>,
    schema: &str,
) -> Result<Vec<Operation>, ApiError> {
    let Some(Value::Array(operations)) = member(body, "Operations") else {
        return Err(invalid("invalidSyntax", "`Operations` must be an array."));
    };
    if operations.len() > MAX_OPERATIONS {
        let message = format!("A request may have at most {MAX_OPERATIONS} operations.");
        return Err(invalid("invalidValue", message));
    }
    operations.iter().map(|it| operation(it, schema)).collect()
}

fn operation(operation: &Value, schema: &str) -> Result<Operation, ApiError> {
    let members = operation
        .as_object()
        .ok_or_else(|| invalid("invalidSyntax", "An operation must be an object."))?;
    let op_name = member(members, "op").and_then(Value::as_str).map(str::to_ascii_lowercase);
    let op = match op_name.as_deref() {
        Some("add") => PatchOp::Add,
        Some("remove") => PatchOp::Remove,
        Some("replace") => PatchOp::Replace,
        _ => return Err(invalid("invalidSyntax", "`op` must be add, remove or replace.")),
    };

    let target = match member(members, "path") {
        None | Some(Value::Null) if op == PatchOp::Remove => {
            return Err(invalid("noTarget", "`remove` needs a `path`."));
        }
        None | Some(Value::Null) => Target::Resource,
        Some(Value::String(path)) => target(path, schema)?,
        Some(_) => return Err(invalid("invalidPath", "`path` must be a string.")),
    };

    let value = member(members, "value").cloned().unwrap_or(Value::Null);

    Ok(Operation { op, target, value })
}

fn target(path: &str, schema: &str) -> Result<Target, ApiError> {
    let path: PatchPath =
        path.parse().map_err(|_may_quote| invalid("invalidPath", "`path` is malformed."))?;
    let is_own =
        |path: &AttrPath| path.uri.as_ref().is_none_or(|it| it.eq_ignore_ascii_case(schema));
    Ok(match path {
        PatchPath::Attr(path) if is_own(&path) => Target::Attribute(name(&path)),
        PatchPath::Value(path) if is_own(&path.attr) => Target::Element {
            attribute: name(&path.attr),
            conditions: equalities(&path.filter)?,
            part: path.sub_attr.map(|it| it.to_ascii_lowercase()),
        },
        PatchPath::Attr(_) | PatchPath::Value(_) => Target::Foreign,
    })
}

/// Returns the comparisons of a filter that is made of equalities alone.
fn equalities(filter: &ValFilter) -> Result<Vec<ElementCondition>, ApiError> {
    match filter {
        ValFilter::Attr(AttrExp::Comparison(path, CompareOp::Eq, value)) => {
            Ok(vec![ElementCondition { name: name(path), value: comparison_text(value) }])
        }
        ValFilter::And(filters) => {
            let nested =
                filters.as_slice().iter().map(equalities).collect::<Result<Vec<_>, _>>()?;
            Ok(nested.concat())
        }
        ValFilter::Attr(_) | ValFilter::Not(_) | ValFilter::Or(_) => {
            Err(invalid("invalidFilter", "Elements are selected by `eq` and `and` alone."))
        }
    }
}

/// Returns the name of an attribute in lower case: `name.givenname`.
pub(crate) fn name(path: &AttrPath) -> String {
    let name = path.name.to_ascii_lowercase();
    match &path.sub_attr {
        Some(part) => format!("{name}.{}", part.to_ascii_lowercase()),
        None => name,
    }
}

/// Returns the name in lower case of an attribute of a resource, without the
/// resource's schema: `urn:…:User:userName` is `username`.
pub(crate) fn attribute(name: &str, schema: &str) -> String {
    let name = name.to_ascii_lowercase();
    let without_schema =
        name.strip_prefix(&schema.to_ascii_lowercase()).and_then(|it| it.strip_prefix(':'));
    without_schema.unwrap_or(&name).to_owned()
}

/// Returns a value of a filter as a text.
pub(crate) fn comparison_text(value: &CompValue) -> String {
    match value {
        CompValue::Str(text) => text.clone(),
        CompValue::True => "true".to_owned(),
        CompValue::False => "false".to_owned(),
        CompValue::Null => String::new(),
        CompValue::Number(number) => number.to_string(),
    }
}

/// Returns a value as a text, without quotes.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
