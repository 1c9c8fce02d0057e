//! Settings of groups in the form `key=value`.

use pia_kernel::BudgetPeriod;
use pia_policy::{Quota, SettingChange};

use super::error::Reason;

const PAIR: &str = "expected group settings as `key=value`; the keys are quota.NAME, \
                    credits.NAME, credits.pool, mode.NAME, persona.TYPE and models";
const QUOTAS: &str = "expected after `quota.` one of KnowledgeBases, KnowledgeDocuments, \
                      KnowledgeStorageBytes, MonthlyEmbeddingTokens, ManagedPersonas, \
                      UserStorageBytes";
const LIMITS: &str =
    "expected after `credits.` one of hourly, daily, weekly, group-daily, group-weekly, pool";

/// Parses one `key=value`. An empty value restores the default.
pub(super) fn parse(pair: &str) -> Result<SettingChange, Reason> {
    let (key, value) = pair.split_once('=').ok_or(Reason::source(PAIR))?;
    let (kind, name) = key.split_once('.').unwrap_or((key, ""));
    let value = value.trim();

    match (kind.to_ascii_lowercase().as_str(), name) {
        ("quota", name) => {
            let quota = Quota::from_name(name).ok_or(Reason::source(QUOTAS))?;
            Ok(SettingChange::Quota(quota, number(value)?))
        }
        ("credits", name) if name.eq_ignore_ascii_case("pool") => {
            Ok(SettingChange::Pool(switch(value)?))
        }
        ("credits", name) => {
            let limit = BudgetPeriod::from_name(name).ok_or(Reason::source(LIMITS))?;
            Ok(SettingChange::Credits(limit, number(value)?))
        }
        ("mode", name) => Ok(SettingChange::Mode(name.to_owned(), text(value))),
        ("persona", name) => Ok(SettingChange::PersonaType(name.to_owned(), text(value))),
        ("models", "") => {
            let models = value.split(',').map(str::trim).filter(|it| !it.is_empty());
            Ok(SettingChange::Models(models.map(str::to_owned).collect()))
        }
        _ => Err(Reason::source(PAIR)),
    }
}

fn text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

fn number(value: &str) -> Result<Option<i64>, Reason> {
    if value.is_empty() {
        return Ok(None);
    }
    let invalid = |_no_number| Reason::source("expected a whole number behind the `=`");
    value.parse().map(Some).map_err(invalid)
}

fn switch(value: &str) -> Result<bool, Reason> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" | "" => Ok(false),
        _ => Err(Reason::source("expected true or false after `credits.pool=`")),
    }
}
