//! Names and values of limits.

use pia_kernel::{BudgetPeriod, Language};
use pia_policy::Quota;

use crate::ui::{Text, format};

/// Returns the name of a quota.
pub(in crate::admin) fn quota_label(quota: Quota) -> Text {
    match quota {
        Quota::KnowledgeBases => Text::new("Knowledge bases", "Wissensdatenbanken"),
        Quota::KnowledgeDocuments => {
            Text::new("Documents in knowledge bases", "Dokumente in Wissensdatenbanken")
        }
        Quota::KnowledgeStorageBytes => {
            Text::new("Size of all documents in bytes", "Größe aller Dokumente in Byte")
        }
        Quota::MonthlyEmbeddingTokens => {
            Text::new("Embedded tokens per month", "Eingebettete Token pro Monat")
        }
        Quota::ManagedPersonas => {
            Text::new("Personas assigned to the group", "Der Gruppe zugewiesene Personas")
        }
        Quota::UserStorageBytes => {
            Text::new("Storage of each member in bytes", "Speicher je Mitglied in Byte")
        }
    }
}

/// Returns the name of a budget.
pub(in crate::admin) fn budget_label(period: BudgetPeriod) -> Text {
    match period {
        BudgetPeriod::Hourly => {
            Text::new("Credits per member and hour", "Credits je Mitglied und Stunde")
        }
        BudgetPeriod::Daily => {
            Text::new("Credits per member and day", "Credits je Mitglied und Tag")
        }
        BudgetPeriod::Weekly => {
            Text::new("Credits per member and week", "Credits je Mitglied und Woche")
        }
        BudgetPeriod::GroupDaily => {
            Text::new("Credits of the group per day", "Credits der Gruppe pro Tag")
        }
        BudgetPeriod::GroupWeekly => {
            Text::new("Credits of the group per week", "Credits der Gruppe pro Woche")
        }
    }
}

/// Formats the value of a quota.
pub(in crate::admin) fn quota_value(language: Language, quota: Quota, value: i64) -> String {
    match quota {
        Quota::KnowledgeStorageBytes | Quota::UserStorageBytes => {
            format::bytes(language, u64::try_from(value).unwrap_or_default())
        }
        _ => format::number(language, value),
    }
}
