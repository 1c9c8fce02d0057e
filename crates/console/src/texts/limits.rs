//! Names and values of limits.

use pia_kernel::{BudgetPeriod, Language};
use pia_policy::Quota;

use crate::ui::{Text, format};

/// Returns the name of a quota.
pub(crate) fn quota_label(quota: Quota) -> Text {
    match quota {
        Quota::KnowledgeBases => Text::new("Knowledge bases", "Wissensdatenbanken"),
        Quota::KnowledgeDocuments => {
            Text::new("Documents in knowledge bases", "Dokumente in Wissensdatenbanken")
        }
        Quota::KnowledgeStorageBytes => {
            Text::new("Total size of documents", "Gesamtgröße der Dokumente")
        }
        Quota::MonthlyEmbeddingTokens => {
            Text::new("Embedded tokens per month", "Eingebettete Token pro Monat")
        }
        Quota::ManagedPersonas => {
            Text::new("Personas assigned to the group", "Der Gruppe zugewiesene Personas")
        }
        Quota::UserStorageBytes => Text::new("Storage per member", "Speicher je Mitglied"),
    }
}

/// Returns the name of a budget.
pub(crate) fn budget_label(period: BudgetPeriod) -> Text {
    match period {
        BudgetPeriod::Hourly => {
            Text::new("Credits per member per hour", "Credits je Mitglied und Stunde")
        }
        BudgetPeriod::Daily => {
            Text::new("Credits per member per day", "Credits je Mitglied und Tag")
        }
        BudgetPeriod::Weekly => {
            Text::new("Credits per member per week", "Credits je Mitglied und Woche")
        }
        BudgetPeriod::GroupDaily => {
            Text::new("Group credits per day", "Credits der Gruppe pro Tag")
        }
        BudgetPeriod::GroupWeekly => {
            Text::new("Group credits per week", "Credits der Gruppe pro Woche")
        }
    }
}

/// Formats the value of a quota.
pub(crate) fn quota_value(language: Language, quota: Quota, value: i64) -> String {
    match quota {
        Quota::KnowledgeStorageBytes | Quota::UserStorageBytes => {
            format::bytes(language, u64::try_from(value).unwrap_or_default())
        }
        _ => format::number(language, value),
    }
}
